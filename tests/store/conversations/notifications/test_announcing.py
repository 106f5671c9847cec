"""What happens is told once, whoever sees it: the stream, timers, sweeps; and the whole way to a company's system."""

import json
import logging
from datetime import timedelta
from functools import partial

import pytest
from standardwebhooks.webhooks import Webhook

from console import caching, clock
from console.errors import ConsoleError
from conversations.attention import levels
from conversations.handoff import HandOffAction, perform
from conversations.indexer.handling import handle, handle_item
from conversations.notifications import destinations
from conversations.notifications.notification import NotificationType
from conversations.receiving.unplaced import note_not_placed
from conversations.timers.looking import process_conversation
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    put,
    stored,
)
from tests.support.conversations.notifications import (
    LEAD,
    add,
    add_at,
    bring,
    found,
    later,
    pointers,
    rows,
)

T = NotificationType


def types(store) -> list[str]:
    return sorted(each["type"] for each in rows(store))


FAULTS = {"before": faults.fail_before, "after": faults.fail_after}


# --- By whom it is noted ----------------------------------------------------------------------------------------------


def change(store, before=None) -> StreamChange:
    return StreamChange(to_dynamodb(before) if before else None, to_dynamodb(stored(store)), clock.now())


def ago(**span) -> str:
    return clock.to_iso(clock.now() - timedelta(**span))


def test_a_request_is_told_once_by_the_stream_a_replay_and_a_sweep(store):
    add()
    before = put(store, updated_at=ago(minutes=1))
    put(store, **WAITING, updated_at=clock.to_iso(clock.now()))
    asked = change(store, before)
    handle(asked)
    # The indexer has written since when it waits; that is the next record.
    indexed = change(store, {**before, "hand_off_to_human": True})
    for repeat in (indexed, asked, indexed):
        handle(repeat)
    handle_item(to_dynamodb(stored(store)))
    assert types(store) == [T.WAITING]
    [row] = rows(store)
    assert json.loads(row["body"])["data"]["company_id"] == COMPANY


def test_who_takes_and_releases_it_lets_it_be_told_again(store):
    add()
    put(store, **WAITING, updated_at=clock.to_iso(clock.now()))
    handle(change(store))
    handle(change(store, {}))
    for action in (HandOffAction.TAKE, HandOffAction.RELEASE):
        before = stored(store)
        perform(form(action), ANA)
        handle(change(store, before))
        handle(change(store, before))
    assert types(store) == [T.WAITING, T.WAITING]


def test_what_time_alone_changes_is_told_by_a_timer_once(store, monkeypatch):
    store.put("CONSOLE", {"pk": levels.partition_of(COMPANY), "sk": levels.COMPANY, "version": 1, "first_answer": 10})
    add(types=(T.OVERDUE, T.STUCK))
    put(store, **held_by("ana", hand_off_requested_at=ago(minutes=1)), updated_at=ago(minutes=1))
    handle(change(store))
    assert types(store) == []
    later(monkeypatch, minutes=10)
    caching.invalidate_all()
    for _ in range(2):
        process_conversation(to_dynamodb(KEY))
        handle(change(store))
        handle_item(to_dynamodb(stored(store)))
    [row] = rows(store)
    data = json.loads(row["body"])["data"]
    assert (row["type"], data["answer"], data["channel"]) == (T.OVERDUE, "first", "whatsapp")
    # What hangs is found by a timer, and told by the record of what the indexer writes.
    put(store, conversation_status="processing", updated_at=ago(minutes=16))
    before = stored(store)
    process_conversation(to_dynamodb(KEY))
    assert types(store) == [T.OVERDUE]
    later(monkeypatch, seconds=1)
    store.update(
        "CONSOLE", {"pk": destinations.partition_of(COMPANY), "sk": row["destination_id"]}, created_at=ago(hours=1)
    )
    handle(change(store, before))
    assert types(store) == [T.OVERDUE, T.STUCK]


def test_a_first_sweep_through_old_conversations_tells_nothing(store):
    add()
    put(store, **WAITING, hand_off_requested_at=ago(minutes=5), updated_at=ago(minutes=5))
    handle_item(to_dynamodb(stored(store)))
    put(store, conversation_status="failed", updated_at=ago(days=9))
    handle_item(to_dynamodb(stored(store)))
    assert rows(store) == []


def test_a_message_that_cannot_be_placed_is_told_to_those_of_all_companies(store):
    add(), add("", types=(T.NOT_PLACED,))
    at = clock.now()
    for _ in range(2):
        note_not_placed('{"body": "canary"}', "There is no such conversation.", at, "queue", "d1")
    [row] = rows(store)
    assert (row["type"], row["company_id"]) == (T.NOT_PLACED, "")
    assert json.loads(row["body"])["data"] == {}
    note_not_placed("{}", "There is no such conversation.", at, "queue", "d2")
    assert len(rows(store)) == 2


def test_who_died_before_it_was_told_is_made_good_by_the_repeat(store):
    add("", types=(T.NOT_PLACED,))
    note = partial(note_not_placed, "{}", "There is no such conversation.", clock.now(), "queue", "d1")
    with faults.fail_before("TransactWriteItems", table_key="CONSOLE"), pytest.raises(ConsoleError):
        note()
    assert rows(store) == []
    note()
    assert len(rows(store)) == 1


@pytest.mark.parametrize("when", FAULTS)
def test_a_record_whose_notification_cannot_be_noted_comes_again(store, when):
    add()
    put(store, **WAITING, updated_at=clock.to_iso(clock.now()))
    handle(change(store))
    waits = change(store, {})
    with FAULTS[when]("TransactWriteItems", table_key="CONSOLE"), pytest.raises(ConsoleError):
        handle(waits)
    handle(waits)
    assert types(store) == [T.WAITING]


# --- The whole way ----------------------------------------------------------------------------------------------------

CANARIES = {
    "recipient_name": "Canaria Birdwhistle",
    "recipient_email": "canary@example.com",
    "hand_off_to_human_reason": "canary-reason",
    "messages": [{"message_id": "m1", "role": "user", "content": "canary-words"}],
}


def test_from_the_platforms_write_to_the_companys_own_system(store, receiver, settings, caplog):
    settings.CONSOLE_URL = "https://console.example.com"
    made = add_at(receiver)
    destinations.renew_secret(made, LEAD)
    put(store, **WAITING | CANARIES, company_name="Cucumber Recruitment", updated_at=clock.to_iso(clock.now()))
    with caplog.at_level(logging.DEBUG):
        handle(change(store))
        handle(change(store, {}))
        assert bring() == {"delivered": 1}
    [got] = receiver.received
    # As any company's own system would, with the secret of before and that of now.
    for secret in found(made.id).secrets:
        assert Webhook(secret).verify(got.body, got.headers) == got.payload
    [row] = rows(store)
    assert got.headers["webhook-id"] == row["notification_id"]
    assert got.headers["content-type"] == "application/json; charset=utf-8"
    assert got.headers["user-agent"] == "Conversation-Console"
    data = got.payload["data"]
    assert set(got.payload) == {"type", "timestamp", "data"}
    assert (got.payload["type"], data["company_name"], data["channel"]) == (
        "conversation.waiting",
        "Cucumber Recruitment",
        "whatsapp",
    )
    assert data["url"] == f"https://console.example.com/conversations/{data['conversation']}/"
    kept = json.dumps([store.all("CONSOLE"), got.headers, receiver.received[0].body.decode()], default=str)
    for canary in ("canary", "Canaria", CHANNEL.lstrip("+"), CONVERSATION, "wants a person"):
        assert canary not in kept.replace(data["conversation"], "")
        assert canary not in "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("conversations"))
    assert (row["state"], row["attempts"], "due_at" in row, pointers(store)) == ("delivered", 1, False, [])
    assert bring() == {}
    assert len(receiver.received) == 1
