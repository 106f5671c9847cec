"""A customer's message, from the body in the queue to its row, the item and the queue of people: each exactly once."""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse

from console import clock
from console.errors import ConsoleError, StoreUnavailable
from conversations.handoff import HandOffAction, perform
from conversations.models import Conversation
from conversations.reading import hand_off_of, reference_of
from conversations.receiving import appending
from conversations.receiving.handling import Handled, handle
from conversations.receiving.rows import NOT_PLACED, partition_of
from conversations.records import HandOffState
from tests import faults
from tests.people import member, signed_in
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
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
    answer = browser.get(f"{url}news/", {"since": since, "shown": "1"}).content.decode()
    assert "2 new messages" in answer
    text = browser.get(url).content.decode()
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
    "no id": body(message_sid=...),
    "an id of another type": body(message_sid={"a": 1}),
    "a long id": body(message_sid="x" * 3000),
    "a long key": body(conversation_id="x" * 3000),
    "names nobody": body(conversation_id=..., **{"from": ...}),
    "unknown conversation": body(conversation_id="ci-zzz-001#pi#req#1"),
    "unknown sender": body(conversation_id=..., primary_channel=..., **{"from": "whatsapp:+447700900999"}),
    "a key of another type": body(conversation_id=["a"], primary_channel=..., **{"from": ...}),
    "another's conversation": body(**{"from": "whatsapp:+447700900999"}),
    "a huge number for an id": body(message_sid=10**60),
    "too large": json.dumps({"body": "x" * 500_000}),
    "256 KB of no message": json.dumps({"note": "x" * 262_144}),
    "a number": "17",
    "null": "null",
    "an object of nothing": "{}",
    "cut in the middle": body()[:-20],
    "two objects": body() + body(),
    "a byte order mark in between": body() + "\ufeff{",
    "an id of blanks": body(message_sid="   "),
    "an id that is true": body(message_sid=True),
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


def test_two_conversations_of_one_sender_are_not_guessed_between(store):
    numbers = {"gsi_company_whatsapp_number": OURS, "gsi_recipient_tel": CHANNEL}
    put(store, **numbers)
    store.put("CONVERSATIONS", {**stored(store), "conversation_id": "ci-aaa-001#pi-aaa-001#req9#447700900123"})
    assert bring(body(conversation_id=..., primary_channel=...)) is Handled.NOT_PLACED
    store.update("CONVERSATIONS", KEY, ttl=1)
    assert bring(body(conversation_id=..., primary_channel=...), name="d2") is Handled.RECEIVED


def test_an_expired_conversation_gets_nothing(store):
    put(store, ttl=1)
    assert bring() is Handled.NOT_PLACED
    assert "expired" in store.all("MESSAGES")[0]["not_placed_because"]


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a\0b", "\ud800", "", "é" * 30_000, "=1+1"], ids=ascii)
def test_any_text_is_stored_as_it_is(store, text):
    put(store, **held_by("ana"))
    assert bring(body(body=text)) is Handled.RECEIVED
    assert rows(store)[0]["content"] == text.encode("utf-8", "replace").decode()


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
