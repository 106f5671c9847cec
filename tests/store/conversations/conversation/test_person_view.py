"""One person across the stores: for who may reveal, on record, within scope."""

import pytest

from console.refs import seal
from console.store import presence
from conversations.converting import reference_of
from tests import faults
from tests.answers import text_of
from tests.items import conversation, put_conversation
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

pytestmark = pytest.mark.pages

NUMBER = "+447700900123"
URL = f"/conversations/recipients/{seal('recipient', NUMBER)}/elsewhere/"


@pytest.fixture
def person(store):
    """A recipient of two companies, who is a user of the other one's tenant."""
    for company in (COMPANY, OTHER_COMPANY):
        put_conversation(store, company_id=company, project_id="p", request_id="r")
        store.put("TENANTS", {"pk": f"TENANT#{company}", "sk": "META", "name": company, "status": "active"})
    user = {"display_name": "Ana Lee", "channel_identities": '{"whatsapp": "447700900123"}'}
    store.put("TENANTS", {"pk": f"TENANT#{OTHER_COMPANY}", "sk": "USER#u-1", **user})
    return store


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
    assert "because your role cannot read them: Users of tenants" in agent
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
        assert "Personal data can be shown only if the trail can record it." in page
        assert "Ana Lee" not in page
    finally:
        person.create_tables("AUDIT")


@pytest.mark.slow
def test_from_a_conversation_to_the_others_of_the_same_recipient_on_record(person):
    item = conversation(company_id=COMPANY, project_id="p", request_id="r")
    page = f"/conversations/{reference_of(NUMBER, item['conversation_id'])}/"
    recipient = URL.removesuffix("elsewhere/")
    for who in (member(), admin(), auditor()):
        client = signed_in(who)
        assert f'href="{recipient}"' in text_of(client.get(page))
        assert not [trail for trail in looks(person) if trail == f"STAFF#{who.username}"]
        for _ in range(2):
            assert client.get(recipient).status_code == 200
        assert client.get(recipient, {"channel": "sms"}).status_code == 200
        assert looks(person).count(f"STAFF#{who.username}") == 1, "once an hour"
    looked_up = [each for each in person.all("AUDIT") if each["action_type"] == "person.looked_up"]
    assert "7700900123" not in str(looked_up)
    assert "looked up one person in conversations" in text_of(
        signed_in(admin("eve")).get("/audit/?action=person.looked_up")
    )
    assert f'href="{recipient}"' in text_of(signed_in(member()).post(f"{page}reveal/"))


def test_a_list_of_a_recipient_and_a_search_everywhere_are_two_looks(person):
    client = signed_in(member())
    assert client.get(URL.removesuffix("elsewhere/")).status_code == 200
    assert client.get(URL).status_code == 200
    assert len(looks(person)) == 2


def test_the_recipients_list_is_not_shown_where_the_record_failed_nor_recorded_where_nothing_is_shown(person):
    recipient = URL.removesuffix("elsewhere/")
    client = signed_in(member())
    with faults.fail_before("PutItem", table_key="AUDIT"):
        assert client.get(recipient).status_code == 503
    assert client.get(recipient, HTTP_SEC_PURPOSE="prefetch").status_code == 503
    assert signed_in(member("lea", "agent", ["ci-none"])).get(recipient).status_code == 404
    assert not looks(person)
