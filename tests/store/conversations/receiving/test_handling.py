"""A customer's message, from the body in the queue to its row, the item and the queue of people: each exactly once."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.urls import reverse

from console import clock
from console.errors import ConsoleError, StoreUnavailable
from conversations.converting import hand_off_of, reference_of
from conversations.finding.lookups import find_recipient
from conversations.handoff import HandOffAction, perform
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.latest import last_words
from conversations.outbox.rows import NOT_PLACED, messages_of, partition_of
from conversations.receiving.handling import Handled, handle
from conversations.records import HandOffState, Speaker
from tests import faults
from tests.people import member, signed_in
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
    conversation,
    foreign,
    form,
    held_by,
    put,
    stored,
    trail,
)

OURS = "+441134960000"
SENT_AT = datetime(2026, 2, 1, 10, tzinfo=UTC)
PARTITION = partition_of(CHANNEL, CONVERSATION)


def body(**changes: Any) -> str:
    """What the platform's webhook puts into the queue: the provider's message, merged with the whole item."""
    content = {
        "channel_type": "whatsapp",
        "from": f"whatsapp:{CHANNEL}",
        "to": f"whatsapp:{OURS}",
        "message_sid": "SM1",
        "body": "Where is my parcel?",
        **KEY,
        **changes,
    }
    return json.dumps({name: value for name, value in content.items() if value is not ...})


def left_undone(store) -> None:
    """A message was recorded, and whoever brought it died before it was put onto its conversation's item."""
    put(store, auto_queue_reply_message=True)
    with (
        faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS),
        pytest.raises(StoreUnavailable),
    ):
        handle(body(), clock.now(), "queue", "d1")


def bring(text: str | None = None, name: str = "d1") -> Handled:
    return handle(body() if text is None else text, SENT_AT, "queue", name)


def rows(store, partition: str = PARTITION) -> list[dict[str, Any]]:
    return [row for row in store.all("MESSAGES") if row["conversation"] == partition]


def said(store) -> list[str]:
    return [entry["content"] for entry in stored(store)["messages"]]


def test_what_a_customer_writes_to_who_holds_the_conversation_arrives_once(store):
    before = put(store, **held_by("ana"))
    assert bring() is Handled.RECEIVED
    [row] = rows(store)
    assert row["content"] == "Where is my parcel?"
    assert row["position"] == "2026-02-01T10:00:00.000Z#SM1"
    assert row["company_id"] == COMPANY
    assert row["on_item"] is True
    assert "gsi_due" not in row
    after = stored(store)
    assert after["messages"][-1] == {
        "message_id": "SM1",
        "timestamp": "2026-02-01T10:00:00.000Z",
        "role": "user",
        "content": "Where is my parcel?",
    }
    assert after["hand_off_message_ids"] == {"SM1"}
    kept = {name: value for name, value in foreign(after).items() if name not in ("messages", "hand_off_message_ids")}
    assert kept == {name: value for name, value in foreign(before).items() if name != "messages"}
    [entry] = trail(store)
    assert entry["action_type"] == "message.received"
    assert "parcel" not in json.dumps(entry)


@pytest.mark.parametrize("name", ["d1", "d2"])
def test_the_same_message_again_changes_nothing(store, name):
    put(store, **held_by("ana"))
    bring()
    item, [row] = stored(store), rows(store)
    assert bring(name=name) is Handled.AGAIN
    assert (stored(store), rows(store)) == (item, [row])


def test_a_message_whose_row_has_expired_is_known_by_its_record(store):
    put(store, **held_by("ana"))
    bring()
    before, [row] = stored(store), rows(store)
    store.delete("MESSAGES", conversation=row["conversation"], position=row["position"])
    assert bring(name="d2") is Handled.AGAIN
    assert (stored(store), rows(store)) == (before, [])


def test_a_message_and_its_record_are_kept_for_as_long_as_the_settings_say(store, settings):
    put(store, **held_by("ana"))
    bring()
    [row], [record] = rows(store), store.all("IDEMPOTENCY")
    recorded = clock.to_epoch(clock.parse_instant(record["created_at"]))
    assert record["expires_at"] - recorded == settings.IDEMPOTENCY_RETENTION_DAYS * 86_400
    assert row["expires_at"] - recorded == settings.MESSAGE_RETENTION_DAYS * 86_400


def test_a_message_that_a_rule_routed_asks_for_a_human_who_waits_since_it_came(store):
    put(store, auto_queue_reply_message=True)
    bring()
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    hand_off = hand_off_of(item)
    assert hand_off.state is HandOffState.WAITING
    assert hand_off.requested_at == SENT_AT
    assert item.gsi_hand_off_queue == f"waiting#{COMPANY}"
    assert stored(store)["hand_off_to_human_reason"] == "Rule: all replies in this conversation go to people."
    asked = ("rule", "hand_off.request", "success")
    assert asked in [(entry["actor"], entry["action_type"], entry["result"]) for entry in trail(store)]
    bring(name="d2")
    assert len(trail(store)) == 2


def test_the_rule_of_a_sender_is_named(store):
    put(store, auto_queue_reply_message_from_number=["+44 7700 900123"])
    bring()
    assert stored(store)["hand_off_to_human_reason"] == "Rule: replies from this sender go to people."


def test_a_message_that_is_brought_again_after_it_was_handed_back_asks_for_nobody(store):
    put(store, auto_queue_reply_message=True)
    bring()
    perform(form(HandOffAction.HAND_BACK), ANA)
    bring(name="d2")
    assert hand_off_of(Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)).state is HandOffState.AI


def test_a_waiting_conversation_goes_on_waiting_since_it_was_asked_for(store):
    put(store, **WAITING, hand_off_requested_at="2026-01-30T00:00:00Z")
    bring()
    assert stored(store)["hand_off_requested_at"] == "2026-01-30T00:00:00Z"
    assert [entry["action_type"] for entry in trail(store)] == ["message.received"]


def test_what_the_platform_has_put_onto_the_item_is_not_put_there_again(store):
    put(store, messages=[{"message_id": "SM1", "role": "user", "content": "Where is my parcel?"}], **WAITING)
    bring()
    assert said(store) == ["Where is my parcel?"]
    assert rows(store)[0]["on_item"] is True


def test_what_an_item_has_no_room_for_stands_in_its_transcript_once_and_where_it_belongs(store, client):
    """Between what the platform wrote before and after it; the page, its poll and the row's last message agree."""
    first = {
        "message_id": "a",
        "role": "assistant",
        "content": "x" * appending.ROOM,
        "timestamp": "2026-02-01T09:00:00Z",
    }
    put(store, messages=[first], **held_by("amira.haddad"))
    browser = signed_in(member(scope=[COMPANY]))
    url = reverse("conversation", args=[reference_of(CHANNEL, CONVERSATION)])
    since = re.search(r'data-since="([^"]*)"', browser.get(url).content.decode())[1]
    bring()
    bring(body(message_sid="SM2", body="Hello?", received_at="2026-02-01T09:59:00Z"), name="d2")
    answer = browser.get(f"{url}updates/", {"since": since, "shown": "1"}).content.decode()
    assert "2 new messages" in answer
    text = re.search('<ol class="talk".*?</ol>', browser.get(url).content.decode(), re.DOTALL)[0]
    assert text.count("Where is my parcel?") == text.count("Hello?") == 1
    assert text.index("xxxx") < text.index("Hello?") < text.index("Where is my parcel?")
    last = browser.get(f"{url}last-message/", headers={"HX-Request": "true"}).content.decode()
    assert "Where is my parcel?" in last
    with store.calls() as calls:
        browser.get(url)
    assert len([each for each in calls if "MESSAGES" in each.tables]) == 1


@pytest.mark.parametrize("messages", ["[]", {"a": 1}, None, 7], ids=repr)
def test_messages_of_another_type_are_left_as_they_are(store, messages):
    put(store, messages=messages, **WAITING)
    bring()
    assert stored(store)["messages"] == messages
    assert rows(store)[0]["on_item"] is False
    assert "gsi_due" not in rows(store)[0]


def test_a_large_item_stays_as_it_is(store):
    put(store, messages=[{"role": "user", "content": "x" * appending.ROOM}], **WAITING)
    before = stored(store)
    bring()
    after = stored(store)
    assert after["messages"] == before["messages"]
    spoke = {"hand_off_heard_at", "hand_off_unanswered_at"}
    assert {name for name in after if after[name] != before.get(name)} == {
        "hand_off_messages_apart",
        "updated_at",
        *spoke,
    }
    [row] = rows(store)
    assert (row["on_item"], row["content"]) == (False, "Where is my parcel?")


def test_the_same_id_in_another_conversation_is_another_message(store):
    put(store, **held_by("ana"))
    other = {"primary_channel": CHANNEL, "conversation_id": "ci-aaa-001#pi-aaa-001#req9#447700900123"}
    store.put("CONVERSATIONS", {**stored(store), **other})
    bring()
    assert bring(body(**other)) is Handled.RECEIVED
    assert [len(rows(store, partition_of(CHANNEL, each))) for each in (CONVERSATION, other["conversation_id"])] == [
        1,
        1,
    ]


def test_a_record_of_the_middleware_for_the_same_message_hides_nothing(store):
    put(store, **held_by("ana"))
    event = f"evt:rp:{CONVERSATION}:SM1"
    store.put("IDEMPOTENCY", {"event_id": event, "created_at": "2026-02-01T09:59:59Z", "mode": "live"})
    assert bring() is Handled.RECEIVED
    assert bring(name="d2") is Handled.AGAIN
    assert len(rows(store)) == 1


# --- without a key ----------------------------------------------------------------------------------------------------


def test_without_its_key_a_conversation_is_found_by_our_number_and_the_senders(store):
    put(store, gsi_company_whatsapp_number=OURS, gsi_recipient_tel=CHANNEL, **held_by("ana"))
    assert bring(body(conversation_id=..., primary_channel=...)) is Handled.RECEIVED
    assert bring(body(primary_channel=..., message_sid="SM2")) is Handled.RECEIVED
    assert len(rows(store)) == 2


def test_an_email_is_found_by_its_addresses(store):
    put(
        store,
        channel_method="email",
        recipient_email="Rosa@Uni.example",
        gsi_company_email="help@shop.example",
        gsi_recipient_email="rosa@uni.example",
        **held_by("ana"),
    )
    content = {
        "channel_type": "email",
        "from_address": "Rosa Reyes <ROSA@uni.example>",
        "to_address": "Help <help@shop.example>",
        "email_id": "<m1@uni.example>",
        "body": "Hello",
    }
    assert bring(json.dumps(content)) is Handled.RECEIVED
    assert rows(store)[0]["message_id"] == "<m1@uni.example>"


# --- what cannot be placed ------------------------------------------------------------------------------------------

UNPLACED = {
    "not JSON": "{",
    "an array": "[]",
    "a text": '"hello"',
    "nothing": "",
    "NUL": "\0",
    "NaN": "NaN",
    "deep": "[" * 100_000,
    "a long key": body(conversation_id="x" * 3000),
    "a long channel of its key": body(primary_channel="x" * 3000),
    "a long sender": body(conversation_id=..., primary_channel=..., **{"from": f"{'x' * 3000}@uni.example"}),
    "a long address of ours": body(conversation_id=..., primary_channel=..., to="whatsapp:+" + "4" * 3000),
    "names nobody": body(conversation_id=..., **{"from": ...}),
    "no sender": body(**{"from": ...}),
    "a sender of another type": body(**{"from": ["+447700900123"]}),
    "another company": body(company_id="ci-bbb-002"),
    "unknown conversation": body(conversation_id="ci-zzz-001#pi#req#1"),
    "unknown sender": body(conversation_id=..., primary_channel=..., **{"from": "whatsapp:+447700900999"}),
    "a key of another type": body(conversation_id=["a"], primary_channel=..., **{"from": ...}),
    "another's conversation": body(**{"from": "whatsapp:+447700900999"}),
    "too large": json.dumps({"body": "x" * 500_000}),
    "256 KB of no message": json.dumps({"note": "x" * 262_144}),
    "a number": "17",
    "null": "null",
    "an object of nothing": "{}",
    "cut in the middle": body()[:-20],
    "two objects": body() + body(),
    "a byte order mark in between": body() + "\ufeff{",
    "a conversation that is false": body(conversation_id=False, primary_channel=..., **{"from": ...}),
    "another company's conversation": body(conversation_id="ci-bbb-002#pi#req#447700900123"),
    "another channel's key": body(primary_channel="rosa@uni.example"),
    "an unknown channel": body(conversation_id=..., channel_type="pigeon", **{"from": "a", "to": "b"}),
    "HTML for a sender": body(**{"from": "<script>alert(1)</script>"}),
    "NUL in the key": body(conversation_id="a\0b"),
    "a lone surrogate in the key": body(conversation_id="\ud800"),
}


@pytest.mark.parametrize("what", UNPLACED)
def test_what_cannot_be_placed_is_kept_with_its_reason(store, what):
    before = put(store, **held_by("ana"))
    for _ in range(2):
        assert bring(UNPLACED[what]) is Handled.NOT_PLACED
    assert stored(store) == before
    [row] = store.all("MESSAGES")
    assert row["conversation"] == NOT_PLACED
    assert row["not_placed_because"].endswith(".")
    assert row["body"] == UNPLACED[what][:100_000]
    told = {"reason": row["not_placed_because"], "characters": len(UNPLACED[what]), "from": "queue"}
    assert json.loads(store.all("AUDIT")[0]["action_payload_redacted"]) == told


def test_message_of_a_conversation_whose_key_leaves_no_room_for_its_rows_is_kept_with_the_reason(store):
    key = {"conversation_id": "x" * 1024, "primary_channel": "y" * 1024}
    store.put("CONVERSATIONS", {**conversation(recipient_tel="+447700900123"), **key})
    assert bring(body(**key)) is Handled.NOT_PLACED
    [row] = store.all("MESSAGES")
    assert row["not_placed_because"] == "The conversation's key is too long."


NUMBERS = {"gsi_company_whatsapp_number": OURS, "gsi_recipient_tel": CHANNEL}
NO_KEY = {"conversation_id": ..., "primary_channel": ...}


def add(store, name: str, **changes: Any) -> tuple[str, str]:
    """Another conversation of the same customer and number; return its partition and id."""
    conversation_id = f"ci-aaa-001#pi-aaa-001#{name}#447700900123"
    store.put("CONVERSATIONS", {**conversation(**NUMBERS), "conversation_id": conversation_id, **changes})
    return partition_of(CHANNEL, conversation_id), conversation_id


def test_of_several_conversations_the_held_one_gets_it_then_the_one_that_waits_then_the_latest(store):
    put(store, **NUMBERS, updated_at="2026-01-31T09:00:00Z")
    latest = add(store, "latest", updated_at="2026-02-01T09:00:00Z")
    assert bring(body(**NO_KEY)) is Handled.RECEIVED
    assert len(rows(store, latest[0])) == 1
    waits = add(store, "waits", updated_at="2025-01-01T09:00:00Z", **WAITING)
    add(store, "expired", ttl=1, **held_by("ana"))
    store.update("CONVERSATIONS", {**KEY, "conversation_id": latest[1]}, hand_off_to_human=False)
    assert bring(body(message_sid="SM2", **NO_KEY), name="d2") is Handled.RECEIVED
    assert len(rows(store, waits[0])) == 1
    held = add(store, "held", updated_at="2024-01-01T09:00:00Z", **held_by("ana"))
    assert bring(body(message_sid="SM3", **NO_KEY), name="d3") is Handled.RECEIVED
    assert len(rows(store, held[0])) == 1


def test_conversations_of_two_companies_are_not_chosen_between(store):
    put(store, **NUMBERS)
    other = add(store, "other", company_id="ci-bbb-002", **held_by("ana"))
    assert bring(body(**NO_KEY)) is Handled.NOT_PLACED
    # A company that the body itself names decides.
    assert bring(body(**NO_KEY, company_id="ci-bbb-002"), name="d2") is Handled.RECEIVED
    assert len(rows(store, other[0])) == 1


FORMS = [("+5511900000000", "+551100000000"), ("+525512345678", "+5215512345678"), ("+541123456789", "+5491123456789")]


@pytest.mark.parametrize(("one", "other"), [*FORMS, *(pair[::-1] for pair in FORMS)])
def test_a_number_written_differently_is_found_on_whatsapp_and_says_so(store, one, other):
    key = {"primary_channel": one, "conversation_id": "ci-aaa-001#pi-aaa-001#r#1"}
    numbers = {**key, "recipient_tel": one, "gsi_recipient_tel": one, "gsi_company_whatsapp_number": OURS}
    store.put("CONVERSATIONS", conversation(**numbers, **held_by("ana")))
    said_by = {"from": f"whatsapp:{other}"}
    assert bring(body(**NO_KEY, **said_by)) is Handled.RECEIVED
    assert bring(body(**key, **said_by, message_sid="SM2"), name="d2") is Handled.RECEIVED
    assert bring(body(**NO_KEY, **said_by, message_sid="SM3", channel_type="sms"), name="d3") is Handled.NOT_PLACED
    item = Conversation.get(*key.values(), consistent_read=True)
    messages = messages_of(item, item.raw["messages"])
    assert [messages.message(number, raw=True).notes for number in (2, 3)] == [("number written differently",)] * 2
    for form_of_number in (one, other):
        found = find_recipient(form_of_number, ANA)
        assert [row.reference for row in found.rows] == [reference_of(*key.values())]


def test_a_number_written_differently_that_two_conversations_have_is_not_guessed(store):
    for name in ("a", "b"):
        number = {"primary_channel": FORMS[0][0], "gsi_recipient_tel": FORMS[0][0]}
        store.put("CONVERSATIONS", conversation(**NUMBERS | number, conversation_id=f"ci-aaa-001#p#{name}#1"))
    assert bring(body(**NO_KEY, **{"from": f"whatsapp:{FORMS[0][1]}"})) is Handled.NOT_PLACED


def test_an_expired_conversation_gets_nothing(store):
    put(store, ttl=1)
    assert bring() is Handled.NOT_PLACED
    assert "expired" in store.all("MESSAGES")[0]["not_placed_because"]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a\0b", "\ud800", "é" * 30_000, "=1+1"], ids=ascii)
def test_any_text_is_stored_as_it_is(store, text):
    put(store, **held_by("ana"))
    assert bring(body(body=text)) is Handled.RECEIVED
    assert rows(store)[0]["content"] == text.encode("utf-8", "replace").decode()


# --- which message it is ---------------------------------------------------------------------------------------------


@pytest.fixture
def counted(settings) -> None:
    """Lists show what customers wrote last."""
    settings.HANDOFF_QUEUE_URL = "https://sqs.example/handoff"


THREAD = "<open@x.example>"


def email(text: str, **changes: Any) -> str:
    """An email's body, merged with its whole item, whose `email_id` is the thread's."""
    address = {"channel_type": "email", "from_address": CHANNEL, "to_address": "help@shop.example"}
    return body(body=text, message_sid=..., **{"email_id": THREAD, **address, **changes})


@pytest.mark.parametrize("thread", [THREAD, None], ids=["a thread", "no thread"])
def test_emails_of_a_held_conversation_are_messages_of_their_own(store, counted, thread):
    put(store, channel_method="email", email_id=thread, **held_by("ana"))
    assert bring(email("first", email_id=thread), name="d1") is Handled.RECEIVED
    assert bring(email("please cancel", email_id=thread), name="d2") is Handled.RECEIVED
    assert bring(email("please cancel", email_id=thread), name="d2") is Handled.AGAIN
    assert said(store)[1:] == ["first", "please cancel"]
    assert last_words([(CHANNEL, CONVERSATION)])[CHANNEL, CONVERSATION].unanswered == 2
    assert rows(store, NOT_PLACED) == []


IDS = [..., {"a": 1}, 10**60, "   ", True]


@pytest.mark.parametrize("message_id", [*IDS, "x" * 3000], ids=ascii)
def test_a_message_without_an_id_that_can_be_read_is_its_deliverys(store, message_id):
    put(store, **held_by("ana"))
    same = "d1" if message_id in IDS else "d2"
    assert bring(body(message_sid=message_id)) is Handled.RECEIVED
    assert bring(body(message_sid=message_id), name=same) is Handled.AGAIN
    assert len(rows(store)) == 1


def test_the_same_words_twice_without_ids_are_two_messages(store):
    put(store, **held_by("ana"))
    for name in ("d1", "d2", "d1"):
        bring(body(message_sid=..., body="ok"), name=name)
    assert said(store)[1:] == ["ok", "ok"]


def shown(store) -> list[tuple[str, tuple[str, ...]]]:
    """What the transcript has of the customer, with what it says of each message."""
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    messages = messages_of(item, item.raw["messages"])
    found = [messages.message(number, raw=True) for number in range(1, len(messages) + 1)]
    return [(each.line, each.notes) for each in found if each.speaker is Speaker.CUSTOMER]


@pytest.mark.parametrize("first_is", ["first", "second"])
def test_an_edit_is_kept_and_the_newer_says_so(store, counted, first_is):
    put(store, **held_by("ana"))
    old = body(body="we are at number 12", received_at="2026-02-01T09:00:10Z")
    new = body(body="we are at number 21", received_at="2026-02-01T09:00:20Z")
    both = [(old, "d1"), (new, "d2")]
    for text, name in both if first_is == "first" else both[::-1]:
        assert bring(text, name) is Handled.RECEIVED
    for text, name in both:
        assert bring(text, f"{name} again") is Handled.AGAIN
    assert shown(store) == [("we are at number 12", ()), ("we are at number 21", ("edited",))]
    assert last_words([(CHANNEL, CONVERSATION)])[CHANNEL, CONVERSATION].text == "we are at number 21"


def test_an_edit_that_fits_on_no_item_says_so_too(store):
    put(store, messages=[{"role": "assistant", "content": "x" * appending.ROOM}], **held_by("ana"))
    bring(body(body="number 12", received_at="2026-02-01T09:00:10Z"))
    bring(body(body="number 21", received_at="2026-02-01T09:00:20Z"), name="d2")
    assert shown(store) == [("number 12", ()), ("number 21", ("edited",))]


# --- in which order --------------------------------------------------------------------------------------------------


HELD_LATER = held_by("ana", hand_off_requested_at="2026-02-01T10:00:10.000Z")


@pytest.mark.parametrize("changes", [HELD_LATER, {}], ids=["held", "by a rule"])
def test_messages_that_come_newer_first_stand_in_order_and_the_wait_begins_with_the_older(store, counted, changes):
    put(store, auto_queue_reply_message=True, **changes)
    late = datetime(2026, 2, 1, 10, 1, tzinfo=UTC)
    newer = body(message_sid="SM2", body="cancel my order now", received_at="2026-02-01T10:00:10Z")
    older = body(message_sid="SM1", body="hello", received_at="2026-02-01T10:00:05Z")
    for number, text in enumerate((newer, older)):
        assert handle(text, late, "queue", f"d{number}") is Handled.RECEIVED
    item = stored(store)
    assert item["hand_off_requested_at"] == "2026-02-01T10:00:05.000Z"
    if changes:
        assert item["hand_off_heard_at"] == "2026-02-01T10:00:10.000Z"
    words = last_words([(CHANNEL, CONVERSATION)])[CHANNEL, CONVERSATION]
    assert (words.text, words.unanswered) == ("cancel my order now", 2)
    assert [line for line, _ in shown(store)] == ["hello", "cancel my order now"]


def test_a_wait_after_an_answer_begins_with_the_earlier_message(store):
    put(store, **held_by("ana", hand_off_answered_at="2026-02-01T10:00:00.000Z"))
    for second in (30, 20, 40):
        text = body(message_sid=f"SM{second}", received_at=f"2026-02-01T10:00:{second}Z")
        handle(text, datetime(2026, 2, 1, 10, 1, tzinfo=UTC), "queue", f"d{second}")
    item = stored(store)
    assert item["hand_off_unanswered_at"] == "2026-02-01T10:00:20.000Z"
    assert item["hand_off_heard_at"] == "2026-02-01T10:00:40.000Z"
    assert item["hand_off_requested_at"] == "2026-01-31T09:00:00.000Z"


def test_an_answer_at_the_same_moment_is_not_forgotten(store):
    put(store, **held_by("ana"))
    answer = partial(store.update, "CONVERSATIONS", KEY, hand_off_answered_at="2026-02-01T10:30:00.000Z")
    with faults.before("UpdateItem", answer, table_key="CONVERSATIONS"):
        bring()
    # The message was said before the answer: nobody waits for another.
    assert stored(store)["hand_off_unanswered_at"] == "2026-02-01T10:00:00.000Z"
    assert said(store).count("Where is my parcel?") == 1


# --- what fails in between -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mended", [faults.fail_before, faults.fail_after], ids=["never sent", "answer lost"])
@pytest.mark.parametrize("nth", range(1, 9))
def test_whatever_call_fails_the_next_delivery_does_the_rest(store, mended, nth):
    put(store, auto_queue_reply_message=True)
    with mended(nth=nth, whole_calls=True) as fault, suppress(ConsoleError):
        bring()
    bring(name="d2")
    assert len(rows(store)) == 1
    assert said(store).count("Where is my parcel?") == 1
    assert stored(store)["gsi_hand_off_queue"] == f"waiting#{COMPANY}"
    assert "gsi_due" not in rows(store)[0]
    assert fault.struck or nth > 6
    assert clock.now() - SENT_AT > timedelta(0)


def test_a_late_message_stays_behind_the_answer_that_was_written_without_it(store):
    put(store, messages=[{"message_id": "SM0", "timestamp": "2026-02-01T09:00:00Z", "role": "user", "content": "Hi"}])
    store.update("CONVERSATIONS", KEY, **held_by("ana"))
    answer = {"entry_id": "r1", "message_timestamp": "2026-02-01T09:30:00Z", "role": "assistant", "content": "Hello"}
    store.update("CONVERSATIONS", KEY, messages=[*stored(store)["messages"], answer])
    bring(body(message_sid="SM2", body="newer", received_at="2026-02-01T09:29:30Z"), name="d1")
    bring(body(message_sid="SM1", body="older", received_at="2026-02-01T09:29:00Z"), name="d2")
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    messages = messages_of(item, item.raw["messages"])
    lines = [messages.message(number, raw=True).line for number in range(1, len(messages) + 1)]
    assert lines == ["Hi", "Hello", "older", "newer"]
    assert messages.unanswered() == [3, 4]
