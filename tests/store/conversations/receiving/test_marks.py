"""What an item says of who spoke last, where messages and replies come in at one moment, and of replies that failed."""

from console import clock
from conversations.attention.causes import answer_in
from conversations.attention.levels import DEFAULTS
from conversations.models import Conversation
from conversations.outbox import rows
from conversations.outbox.appending import append, finish, note_not_delivered
from conversations.outbox.rows import MessageRow
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION, WAITING, conversation, held_by, put, stored


def at(minute: int) -> str:
    return f"2026-01-31T10:{minute:02}:00.000Z"


def row(minute: int, author: str | None = None) -> MessageRow:
    name = f"m{minute}"
    found = MessageRow(f"{CONVERSATION}\n{CHANNEL}", name, message_id=name, content="x", author=author)
    found.received_at = at(minute)
    return found


def read() -> Conversation:
    return Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)


def test_the_wait_begins_with_the_first_message_after_an_answer_that_came_at_the_same_moment(store):
    put(store, **held_by("ana"))
    append(row(10), read())
    before = read()
    append(row(20, "ana"), before)
    # Who brought this one had read the item before the answer.
    append(row(30), before)
    append(row(40), read())
    found = answer_in(to_dynamodb(stored(store)), DEFAULTS)
    assert (found.since, found.is_first) == (clock.parse_instant(at(30)), False)


def test_a_reply_that_fails_is_trouble_of_people_only(store):
    put(store, **held_by("ana"))
    note_not_delivered(row(10, "ana"))
    assert stored(store)["hand_off_reply_failed_at"]
    store.put("CONVERSATIONS", conversation(gsi_hand_off_queue="attention#x", hand_off_attention="failed"))
    note_not_delivered(row(10, "ana"))
    assert "hand_off_reply_failed_at" not in stored(store)
    store.put("CONVERSATIONS", conversation(**WAITING, gsi_hand_off_queue="waiting#x"))
    note_not_delivered(row(10, "ana"))
    assert stored(store)["hand_off_reply_failed_at"]


def test_of_many_rows_apart_from_their_item_the_latest_are_joined_with_it(store, monkeypatch):
    monkeypatch.setattr(rows, "MOST", 2)
    put(store, **held_by("ana"), hand_off_messages_apart=True)
    for minute in (10, 20, 30):
        made = row(minute)
        made.position, made.on_item = at(minute), False
        made.save()
    assert [each.message_id for each in rows.rows_only_in_messages(read())] == ["m30", "m20"]
    said = [entry.get("message_id") for entry in rows.customers_of(read()).by_customer()]
    assert sorted(said) == ["m20", "m30"]


def test_a_row_that_has_expired_is_not_brought_back_by_what_finishes_it(store):
    finish(row(10), on_item=True)
    assert store.all("MESSAGES") == []
