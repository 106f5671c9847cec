"""What pages show can be pasted into the search: ids of requests, revealed addresses, numbers as people write them."""

import re

import pytest

from conversations.companies import register
from tests.answers import text_of
from tests.items import conversation, url_of
from tests.people import COMPANY, OTHER_COMPANY, admin, auditor, member, signed_in

NUMBER = "+447700900123"
REQUEST = "req-68b0cbf0"


@pytest.fixture
def stored(store):
    item = conversation(request_id=REQUEST, recipient_email="jo@doe.example")
    register(COMPANY, "Cucumber Recruitment", "test", "2026-03-02T09:00:00Z")
    store.put("CONVERSATIONS", item)
    store.put("CONVERSATIONS", conversation(company_id=OTHER_COMPANY, request_id="req-0000beef"))
    return item


def searched(client, typed: str):
    return client.post("/search/", {"typed": typed, "reason": "complaint 4711"})


@pytest.mark.parametrize("who", [member, auditor, admin])
def test_the_id_of_a_request_as_pages_show_it_opens_its_conversation(stored, who):
    client = signed_in(who())
    shown = re.search(r"<code[^>]*>([^<]+)</code>", text_of(client.get(url_of(stored))))[1]
    assert shown == REQUEST
    assert searched(client, shown)["Location"] == url_of(stored)
    answer = client.post("/conversations/find/", {"look": "id", "conversation_id": shown})
    assert answer["Location"] == url_of(stored)


@pytest.mark.parametrize("who", [member, auditor])
def test_the_copied_id_is_whole_but_for_the_recipient_and_opens_it(stored, who):
    client = signed_in(who())
    copied = re.search(r'data-copy="([^"]+#[^"]+)"', text_of(client.get(url_of(stored))))[1]
    assert copied == f"{COMPANY}#{stored['project_id']}#{REQUEST}"
    assert searched(client, copied)["Location"] == url_of(stored)


def test_nothing_of_another_company_is_found_so(stored):
    client = signed_in(member())
    for typed in ("req-0000beef", f"{OTHER_COMPANY}#{stored['project_id']}#req-0000beef", "req-68b0"):
        page = client.get(searched(client, typed)["Location"])
        assert "No matches" in text_of(page), typed
    assert "conversations of 1 company" in text_of(client.get(searched(client, "req-0000beef")["Location"]))


def test_of_an_email_address_it_is_said_what_was_not_looked_at(stored):
    client = signed_in(member())
    page = text_of(client.get(searched(client, "jo@doe.example")["Location"]))
    words = "Find conversations over WhatsApp or SMS by phone number"
    assert words in page
    page = client.post("/conversations/find/", {"look": "recipient", "recipient": "jo@doe.example"})
    assert words in text_of(page)


def test_a_national_number_is_tried_with_the_codes_of_the_companies_own_numbers(stored):
    client = signed_in(member())
    assert searched(client, "07700 900123")["Location"] == url_of(stored)
    answer = client.post("/conversations/find/", {"look": "recipient", "recipient": "07700 900123"})
    assert answer["Location"] == url_of(stored)
    page = text_of(client.get(searched(client, "07700 900999")["Location"]))
    assert "The number has no country code. It was tried with +44, the code of your companies' own numbers." in page
    page = client.post("/conversations/find/", {"look": "recipient", "recipient": "07700 900999"})
    assert "It was tried with +44" in text_of(page)
    # Of another company's numbers nothing is used.
    elsewhere = signed_in(member("lea", scope=["ci-none"]))
    page = text_of(elsewhere.get(searched(elsewhere, "07700 900123")["Location"]))
    assert "search for +44 7700 900600 rather than 07700 900600" in page


def test_codes_of_several_companies_are_tried_and_bounded(store):
    codes = ("+44", "+33", "+49", "+34", "+1", "+353")
    for number, code in enumerate(codes):
        ours = f"{code}2079460018"
        store.put("CONVERSATIONS", conversation(company_id=f"ci-{number}", gsi_company_whatsapp_number=ours))
    client = signed_in(member(scope=[f"ci-{number}" for number in range(len(codes))]))
    with store.calls() as seen:
        where = searched(client, "07700 900999")["Location"]
    assert len(seen) < 60
    assert len(re.findall(r"\+\d+", re.search(r"tried with ([^.]+), the codes", text_of(client.get(where)))[1])) == 4


def test_what_was_typed_stays_in_the_field(stored):
    client = signed_in(member())
    for typed in ("jo@doe.example", "07700 900999", "no such thing at all ###"):
        answer = client.post("/search/", {"typed": typed}, follow=True)
        assert f'value="{typed}"' in text_of(answer)
        assert all("jo@" not in url and "900999" not in url for url, _ in answer.redirect_chain)
    answer = client.post("/conversations/find/", {"look": "recipient", "recipient": "jo@doe.example"})
    assert 'value="jo@doe.example"' in text_of(answer)
