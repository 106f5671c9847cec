"""`/audit/events/`: the look-ups, one record, the records of a conversation, and the way there from a trail."""

import html
import re
from datetime import timedelta

import pytest

from console import clock
from console.audit import queries as trails
from console.audit.events import queries
from console.clock import to_epoch, to_iso
from console.refs import seal
from tests.items import conversation
from tests.people import auditor, member, signed_in
from tests.store.console.audit.test_events_queries import CONVERSATION, KEY, NOW, OURS, entry, event

pytestmark = pytest.mark.pages

MASKED = "ci-aaa-001#pi-aaa-001#req1#***-***-0123"
EVENTS = "/audit/events/"
THEIRS = "ci-bbb-002#pi-bbb-001#req1#447700900124"


def event_url(key: str = KEY) -> str:
    return f"{EVENTS}{seal('event', key)}/"


def list_url(conversation_id: str = CONVERSATION) -> str:
    return f"{EVENTS}conversations/{seal('trail', conversation_id)}/"


def text_of(answer) -> str:
    assert answer.status_code == 200, answer
    return html.unescape(answer.content.decode())


def look(client, **typed):
    why = {"reason": "complaint 4711"}
    return client.post(EVENTS, {"look": next(iter(typed)).removesuffix("_id"), **typed, **why})


@pytest.fixture
def reviewer(store):
    store.put("IDEMPOTENCY", event())
    return signed_in(auditor())


# --- Looking up -----------------------------------------------------------------------------------------------------


def test_the_page_explains_the_keys(reviewer):
    text = text_of(reviewer.get(EVENTS))
    for pattern in ("evt:rp:{conversation}:{message or hash}", "act:shopify_lookup:{conversation}:{order}"):
        assert pattern in text


@pytest.mark.parametrize(
    ("typed", "url"),
    [({"event_id": f" {KEY} "}, event_url()), ({"conversation_id": CONVERSATION}, list_url())],
)
def test_what_was_typed_leads_to_a_sealed_address(reviewer, typed, url):
    answer = look(reviewer, **typed)
    assert (answer.status_code, answer.headers["Location"]) == (302, url)
    assert not re.search(r"\d{7}|ci-aaa|%23", url)
    assert MASKED in text_of(reviewer.get(url))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"event_id": "nobody"}, "No matches."),
        ({"event_id": "evt:rp:"}, "No matches."),
        ({"event_id": ""}, "Fill this in."),
        ({"event_id": "a\x00b"}, "characters"),
        ({"event_id": "é" * 1500}, "at most 2,048 bytes"),
        ({"event_id": "x" * 3000}, "at most 2,048 bytes"),
        ({"conversation_id": "STAFF#ada.admin"}, "No matches."),
        ({"conversation_id": ""}, "Fill this in."),
    ],
)
def test_what_leads_nowhere_is_said_beside_the_forms(reviewer, typed, said):
    assert said in text_of(look(reviewer, **typed))


def test_an_unknown_look_up_is_refused(reviewer):
    assert reviewer.post(EVENTS, {"look": "elsewhere", "event_id": KEY}).status_code == 400
    assert reviewer.post(EVENTS, {}).status_code == 400


def test_without_the_index_only_event_ids_are_looked_up(reviewer, monkeypatch):
    monkeypatch.setattr(trails, "index_ready", lambda table, name: False)
    text = text_of(reviewer.get(EVENTS))
    assert queries.NO_INDEX in text
    assert 'name="conversation_id"' not in text
    assert queries.NO_INDEX in text_of(reviewer.get(list_url()))
    assert MASKED in text_of(reviewer.get(event_url()))


# --- One record -----------------------------------------------------------------------------------------------------


def test_a_record_tells_all_and_leads_on(store, reviewer):
    sort_key = f"{to_iso(NOW - timedelta(hours=3))}#e1"
    store.put("AUDIT", entry(NOW, ts_action_id=sort_key))
    answer = reviewer.get(event_url())
    text = text_of(answer)
    for words in (
        f"Message m1 of conversation {MASKED} came in",
        "(in 12 days)",
        "1,234 bytes",
        "ab" * 32,
        "payload_sha256",
        "Safe mode",
        "Routed to Returns",
    ):
        assert words in text
    assert "447700900123" not in text
    links = re.findall(r'href="([^"]+)"', text)
    assert {f"/audit/trails/{seal('trail', CONVERSATION)}/", list_url()} <= set(links)
    for link in links:
        if link.startswith(("/audit/entries/", "/audit/?about=", "/audit/trails/", EVENTS)):
            assert reviewer.get(link).status_code == 200, link
    assert sum(link.startswith("/audit/entries/") for link in links) == 1


def test_flaws_and_unknown_attributes_are_said(store, reviewer):
    store.put("IDEMPOTENCY", event(safe_mode="no", **{"novelty": {"depth": 3}, "jo@doe.example": "x"}))
    text = text_of(reviewer.get(event_url()))
    assert "safe_mode: text instead of boolean" in text
    assert "depth" in text
    assert "jo@doe.example" not in text


def test_a_key_of_an_unknown_kind_is_said_to_be_one(store, reviewer):
    store.put("IDEMPOTENCY", event("sms:+447700900123:1"))
    text = text_of(reviewer.get(event_url("sms:+447700900123:1")))
    assert "A kind of key that the console does not know" in text
    assert "7700900123" not in text


def test_hostile_text_is_text(store, reviewer):
    hostile = "<script>alert(1)</script>{{ 7|add:7 }}\u202e"
    store.put("IDEMPOTENCY", event(status=hostile, mode=hostile, intent=hostile, **{hostile: hostile}))
    for url in (event_url(), list_url()):
        answer = reviewer.get(url)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.content.decode()


# --- The records of a conversation ----------------------------------------------------------------------------------


def test_records_of_a_conversation_page_by_page(store, reviewer):
    store.put_all(
        "IDEMPOTENCY",
        [
            event(f"evt:rp:{CONVERSATION}:x{n:02}", created_at=to_iso(NOW - timedelta(days=1, minutes=n)))
            for n in range(60)
        ],
    )
    first = text_of(reviewer.get(list_url()))
    assert "Message m1 came in" in first
    assert event_url() in first
    following = re.search(r'rel="next" href="([^"]+)"', first)[1]
    second = text_of(reviewer.get(following))
    assert "Message x59 came in" in second
    assert 'rel="next"' not in second
    assert "Message m1 came in" in text_of(reviewer.get(re.search(r'rel="prev" href="([^"]+)"', second)[1]))


def test_a_conversation_without_records_says_so(reviewer):
    assert "No records of this conversation" in text_of(reviewer.get(list_url("c9")))


# --- Who may --------------------------------------------------------------------------------------------------------


def test_a_key_whose_record_has_expired_is_told_in_words_with_its_entries(store, reviewer):
    store.put("IDEMPOTENCY", event(expires_at=to_epoch(clock.now()) - 1))
    store.put("AUDIT", entry(NOW))
    answer = look(reviewer, event_id=KEY)
    assert (answer.status_code, answer.headers["Location"]) == (302, event_url())
    text = text_of(reviewer.get(event_url()))
    for words in (
        f"Message m1 of conversation {MASKED} came in",
        "There is no idempotency record",
        "Routed to Returns",
    ):
        assert words in text
    assert "447700900123" not in text
    links = [link for link in re.findall(r'href="([^"]+)"', text) if link.startswith("/audit/") and link != EVENTS]
    assert all(reviewer.get(link).status_code == 200 for link in links)
    assert any(link.startswith("/audit/?about=") for link in links)
    assert reviewer.get(event_url("nobody")).status_code == 404


def test_out_of_scope_is_answered_as_what_is_not_there(store):
    for conversation_id, company in ((CONVERSATION, OURS), (THEIRS, "ci-bbb-002")):
        store.put("CONVERSATIONS", conversation(company_id=company) | {"conversation_id": conversation_id})
        store.put("IDEMPOTENCY", event(f"evt:rp:{conversation_id}:m1", conversation_id=conversation_id))
    client = signed_in(auditor(scope=[OURS]))
    assert client.get(event_url()).status_code == 200
    assert client.get(list_url()).status_code == 200
    for there, absent in (
        (event_url(f"evt:rp:{THEIRS}:m1"), event_url("evt:rp:c9:m1")),
        (list_url(THEIRS), list_url("c9")),
    ):
        assert client.get(there).status_code == client.get(absent).status_code == 404
    assert "No matches." in text_of(look(client, event_id=f"evt:rp:{THEIRS}:m1"))
    assert "No matches." in text_of(look(client, conversation_id=THEIRS))
    assert look(client, conversation_id=CONVERSATION).status_code == 302


def test_a_list_tells_no_switches_of_what_a_person_did(store, reviewer):
    store.put("IDEMPOTENCY", event("act:hand_off:c:1", mode="console", safe_mode=False, automation_enabled=False))
    text = text_of(reviewer.get(list_url()))
    assert text.count("no switch applies") == 1
    assert text.count("Safe mode") == 1


# --- From a trail ---------------------------------------------------------------------------------------------------


def test_a_conversation_s_trail_leads_reviewers_to_its_records(store):
    store.put("AUDIT", entry(NOW, company_id=OURS))
    trail = f"/audit/trails/{seal('trail', CONVERSATION)}/"
    of_conversation = text_of(signed_in(auditor()).get(trail))
    assert list_url() in of_conversation
    assert "Open the conversation" in of_conversation
    assert EVENTS not in text_of(signed_in(member()).get(trail))
    own = f"/audit/trails/{seal('trail', 'STAFF#aiko.mori')}/"
    of_person = text_of(signed_in(auditor()).get(own))
    assert f"{EVENTS}conversations/" not in of_person
    assert "Open the conversation" not in of_person


def test_without_its_table_the_section_says_so(bare_store):
    bare_store.create_tables("STAFF", "STAFF_SESSIONS", "AUDIT")
    client = signed_in(auditor())
    assert client.get(EVENTS).status_code == 200
    for answer in (client.get(event_url()), client.get(list_url())):
        assert "is not available in this environment" in text_of(answer)
    assert look(client, event_id=KEY).status_code == 503
