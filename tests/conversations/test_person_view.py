"""One person across the stores: for who may reveal, on record, within scope."""

import html

import pytest

from console.dynamodb import presence
from console.refs import seal
from tests import faults
from tests.items import conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

NUMBER = "+447700900123"
URL = f"/conversations/recipients/{seal('recipient', NUMBER)}/elsewhere/"


@pytest.fixture
def person(store):
    """A recipient of two companies, who is a user of the other one's tenant."""
    for company in (COMPANY, OTHER_COMPANY):
        store.put("CONVERSATIONS", conversation(company_id=company, project_id="p", request_id="r"))
        store.put("TENANTS", {"pk": f"TENANT#{company}", "sk": "META", "name": company, "status": "active"})
    user = {"display_name": "Ana Lee", "channel_identities": '{"whatsapp": "447700900123"}'}
    store.put("TENANTS", {"pk": f"TENANT#{OTHER_COMPANY}", "sk": "USER#u-1", **user})
    return store


def text_of(answer) -> str:
    return html.unescape(answer.content.decode())


def looks(store) -> list[str]:
    return [each["conversation_id"] for each in store.all("AUDIT") if each["action_type"] == "person.looked_up"]


def test_what_each_store_holds_is_shown_masked_and_on_record_once(person):
    client = signed_in(admin())
    for _ in range(2):
        page = text_of(client.get(URL))
        assert "***-***-0123" in page
        assert "Ana Lee of ci-bbb-002" in page
        assert "900123" not in page
    assert looks(person) == ["STAFF#ada.admin"]
    assert "7700900123" not in str(person.all("AUDIT"))


def test_the_recipients_page_leads_there_for_who_may(person):
    recipient = URL.removesuffix("elsewhere/")
    assert URL in text_of(signed_in(member()).get(recipient))
    assert URL not in text_of(signed_in(auditor()).get(recipient))


def test_others_have_nothing_there_and_nothing_beyond_scope_is_shown(person):
    agent = text_of(signed_in(member()).get(URL))
    assert OTHER_COMPANY not in agent
    assert "because your role does not read them: Users of tenants" in agent
    assert signed_in(auditor()).get(URL).status_code == 403
    assert signed_in(member("olga", "onboarding")).get(URL).status_code == 403
    assert signed_in(member("lea", "agent", ["ci-none"])).get(URL).status_code == 404
    assert looks(person) == ["STAFF#amira.haddad"]


def test_without_a_record_nothing_is_shown(person):
    client = signed_in(admin())
    with faults.fail_before("PutItem", table_key="AUDIT"):
        assert client.get(URL).status_code == 503
    person.drop_table("AUDIT")
    presence.forget()
    try:
        page = text_of(client.get(URL))
        assert "Personal data is shown only with an entry in the trail." in page
        assert "Ana Lee" not in page
    finally:
        person.create_tables("AUDIT")
