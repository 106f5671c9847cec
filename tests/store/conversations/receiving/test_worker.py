"""The receiver: what stands in the queue is handled once, leaves the queue only when it is done, and nothing blocks."""

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from console import clock
from console.errors import ConsoleError, StoreUnavailable
from console.store import queues
from conversations.receiving import appending, handling, lambda_handler, worker
from conversations.receiving.models import NOT_PLACED
from conversations.receiving.worker import FAILED, Receiver, sweep
from tests import faults
from tests.store.conversations.receiving.test_handling import body, rows, said
from tests.support.conversations.handoff.kit import CONVERSATION, held_by, put, stored


def visible(url: str) -> int:
    """How many messages are in the queue, those in flight among them."""
    found = queues.depth(url)
    return found.waiting + found.in_flight


def received(store) -> list[str]:
    return [row["content"] for row in sorted(rows(store), key=lambda row: row["position"])]


def test_all_that_is_there_is_received_in_order_and_leaves_the_queue(store, queue):
    put(store, **held_by("ana"))
    texts = [f"line {number:02}" for number in range(25)]
    for number, text in enumerate(texts):
        queues.send(queue, body(message_sid=f"SM{number}", body=text, received_at=f"2026-02-01T10:00:{number:02}Z"))
    receiver = Receiver()
    receiver.run(once=True)
    assert received(store) == texts
    assert said(store)[1:] == texts
    assert receiver.counts == {handling.Handled.RECEIVED: 25}
    assert visible(queue) == 0


def test_what_cannot_be_placed_leaves_the_queue_and_holds_nobody_up(store, queue):
    put(store, **held_by("ana"))
    for text in ("{", body(), "[]"):
        queues.send(queue, text)
    Receiver().run(once=True)
    assert received(store) == ["Where is my parcel?"]
    assert len(rows(store, NOT_PLACED)) == 2
    assert visible(queue) == 0


def test_what_fails_stays_in_the_queue_and_is_done_when_it_comes_again(store, queue, monkeypatch):
    put(store, **held_by("ana"))
    monkeypatch.setattr(worker, "AGAIN_SECONDS", 0)
    queues.send(queue, body())
    receiver = Receiver()
    with faults.fail_before("TransactWriteItems", whole_calls=True):
        assert receiver.step(wait=0) == 1
    assert receiver.counts == {FAILED: 1}
    assert visible(queue) == 1
    receiver.run(once=True)
    assert received(store) == ["Where is my parcel?"]
    assert visible(queue) == 0


def test_a_message_that_no_code_can_handle_keeps_no_other_from_people(store, queue, monkeypatch):
    put(store, **held_by("ana"))
    queues.send(queue, body(message_sid="bad", conversation_id=..., primary_channel=..., **{"from": "+447700900999"}))
    queues.send(queue, body())
    place = handling.placing.place

    def broken(message):
        if message.message_id == "bad":
            raise RuntimeError
        return place(message)

    monkeypatch.setattr(handling.placing, "place", broken)
    receiver = Receiver()
    receiver.step(wait=0)
    assert received(store) == ["Where is my parcel?"]
    assert receiver.counts == {FAILED: 1, handling.Handled.RECEIVED: 1}


def test_a_queue_that_does_not_answer_is_tried_again(store, queue, monkeypatch):
    put(store, **held_by("ana"))
    queues.send(queue, body())
    receive, failures = queues.receive, iter([True, True, False])

    def sometimes(url, **options):
        if next(failures, False):
            raise StoreUnavailable
        return receive(url, **options)

    monkeypatch.setattr(queues, "receive", sometimes)
    pauses: list[float] = []
    receiver = Receiver(wait=lambda pause: bool(pauses.append(pause)))
    receiver.run(once=True)
    assert received(store) == ["Where is my parcel?"]
    assert pauses[:2] == [2.0, 4.0]


def test_a_sweep_finishes_what_a_receiver_that_died_left(store, queue):
    put(store, auto_queue_reply_message=True)
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS), pytest.raises(ConsoleError):
        handling.handle(body(), clock.now(), "queue", "d1")
    assert sweep(clock.now()) == 0
    assert sweep(clock.now() + timedelta(minutes=2)) == 1
    assert said(store)[-1] == "Where is my parcel?"
    assert stored(store)["gsi_hand_off_queue"].startswith("waiting#")
    assert sweep(clock.now() + timedelta(minutes=2)) == 0


def test_a_sweep_leaves_a_conversation_that_is_gone(store, queue):
    put(store, **held_by("ana"))
    with faults.fail_before("UpdateItem", times=faults.ALWAYS), pytest.raises(ConsoleError):
        handling.handle(body(), clock.now(), "queue", "d1")
    store.delete("CONVERSATIONS", primary_channel=stored(store)["primary_channel"], conversation_id=CONVERSATION)
    assert sweep(clock.now() + timedelta(minutes=2)) == 1
    assert sweep(clock.now() + timedelta(minutes=2)) == 0


def test_a_lambda_reports_what_failed_and_no_more(store, queue):
    put(store, **held_by("ana"))
    sent = {"SentTimestamp": "1769940000000"}
    records = [
        {"messageId": "one", "receiptHandle": "r1", "attributes": sent, "body": body()},
        {"messageId": "two", "receiptHandle": "r2", "attributes": sent, "body": "{"},
    ]
    assert lambda_handler({"Records": records}) == {"batchItemFailures": []}
    with faults.fail_before("TransactWriteItems", whole_calls=True):
        again = [{**records[0], "messageId": "three", "body": body(message_sid="SM3")}]
        assert lambda_handler({"Records": again}) == {"batchItemFailures": [{"itemIdentifier": "three"}]}
    assert len(rows(store)) == 1
    assert lambda_handler({}) == {"batchItemFailures": []}


def test_the_command_receives_and_says_how_many(store, queue):
    put(store, **held_by("ana"))
    queues.send(queue, body())
    out = io.StringIO()
    call_command("receive_messages", "--once", stdout=out)
    assert out.getvalue() == "Messages: 1 received.\n"
    assert said(store)[-1] == "Where is my parcel?"


def test_the_command_needs_a_queue(settings):
    settings.HANDOFF_QUEUE_URL = ""
    with pytest.raises(CommandError, match="HANDOFF_QUEUE_URL"):
        call_command("receive_messages", "--once")


def test_room_is_half_of_what_an_item_may_hold():
    assert appending.ROOM == 40_000
