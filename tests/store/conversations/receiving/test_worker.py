"""The receiver: what stands in the queue is handled once, leaves the queue only when it is done, and nothing blocks."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from itertools import count
from threading import Event
from unittest import mock

import pytest

from console import clock
from console.errors import ConsoleError, StoreUnavailable
from console.store import queues
from conversations.outbox import appending
from conversations.outbox.rows import NOT_PLACED, MessageRow
from conversations.receiving import handling, worker
from conversations.receiving.recording import QUEUE
from conversations.receiving.worker import FAILED, Receiver, sweep
from conversations.work.lambdas import handle_handoff_queue
from conversations.workers.queued import BATCHES
from demo.server_process import free_port
from tests import faults
from tests.store.conversations.receiving.test_handling import SENT_AT, body, rows, said
from tests.support.conversations.handoff.kit import CONVERSATION, KEY, conversation, held_by, put, stored


def visible(url: str) -> int:
    """How many messages are in the queue, those in flight among them."""
    found = queues.depth(url)
    return found.waiting + found.in_flight


def received(store) -> list[str]:
    return [row["content"] for row in sorted(rows(store), key=lambda row: row["position"])]


@pytest.mark.slow
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

    def broken(message, ahead):
        if message.message_id == "bad":
            raise RuntimeError
        return place(message, ahead)

    monkeypatch.setattr(handling.placing, "place", broken)
    receiver = Receiver()
    receiver.step(wait=0)
    assert received(store) == ["Where is my parcel?"]
    assert receiver.counts == {FAILED: 1, handling.Handled.RECEIVED: 1}


def sent_to_many(store, queue, count: int) -> list[str]:
    """A message to each of so many held conversations, and one more to the first; the ids of the conversations."""
    ids = [f"{CONVERSATION}#{number}" for number in range(count)]
    store.put_all("CONVERSATIONS", [conversation(**KEY | {"conversation_id": each}, **held_by("ana")) for each in ids])
    for number, each in enumerate([*ids, ids[0]]):
        queues.send(queue, body(message_sid=f"SM{number}", body=f"line {number}", conversation_id=each))
    return ids


def said_in(store) -> dict[str, list[str]]:
    return {
        item["conversation_id"]: [entry["content"] for entry in item["messages"][1:]]
        for item in store.all("CONVERSATIONS")
    }


def check_all_received(store, queue, ids: list[str]) -> None:
    expected = {each: [f"line {number}"] for number, each in enumerate(ids)}
    expected[ids[0]].append(f"line {len(ids)}")
    assert said_in(store) == expected
    found = [row for row in store.all("MESSAGES") if row.get("direction") == "in"]
    assert sorted(row["content"] for row in found) == sorted(text for texts in expected.values() for text in texts)
    assert all(row["on_item"] and "gsi_due" not in row for row in found)
    assert visible(queue) == 0


@pytest.mark.slow
def test_messages_of_many_conversations_cost_few_calls(store, queue):
    ids = sent_to_many(store, queue, 29)
    with store.calls() as seen:
        assert Receiver().step(wait=0) == 30
    check_all_received(store, queue, ids)
    assert Counter((call.operation, call.tables) for call in seen if call.tables != ("CONSOLE",)) == {
        ("BatchGetItem", ("CONVERSATIONS",)): 1,
        # 25 conversations at once, then four, and the second message to the first one alone.
        ("TransactWriteItems", ("IDEMPOTENCY", "MESSAGES", "AUDIT")): 3,
        ("GetItem", ("CONVERSATIONS",)): 1,
        ("UpdateItem", ("CONVERSATIONS",)): 30,
        ("TransactWriteItems", ("MESSAGES",)): 1,
    }


@pytest.mark.slow
@pytest.mark.parametrize("broken", [faults.fail_before, faults.fail_after], ids=["never sent", "answer lost"])
@pytest.mark.parametrize("operation", ["BatchGetItem", "TransactWriteItems"])
def test_what_cannot_be_done_together_is_done_one_by_one(store, queue, broken, operation):
    ids = sent_to_many(store, queue, 12)
    with broken(operation, whole_calls=True) as fault:
        assert Receiver().step(wait=0) == 13
    assert fault.struck
    check_all_received(store, queue, ids)


@pytest.mark.slow
def test_a_message_that_was_there_before_keeps_no_other_from_being_received_once(store, queue):
    ids = sent_to_many(store, queue, 12)
    handling.handle(body(message_sid="SM3", body="line 3", conversation_id=ids[3]), SENT_AT, "queue", "other")
    receiver = Receiver()
    receiver.step(wait=0)
    check_all_received(store, queue, ids)
    assert receiver.counts == {handling.Handled.RECEIVED: 12, handling.Handled.AGAIN: 1}


@pytest.mark.parametrize("gone", [True, False], ids=["a row that is gone", "the database fails"])
def test_rows_that_cannot_be_finished_together_are_finished_later(store, queue, monkeypatch, gone):
    ids = sent_to_many(store, queue, 3)
    finish_all = appending.finish_all

    def broken(done):
        if not gone:
            raise StoreUnavailable
        missing = MessageRow("gone", "2026#gone")
        finish_all([*done, (missing, True)])

    monkeypatch.setattr(appending, "finish_all", broken)
    Receiver().step(wait=0)
    assert visible(queue) == 0
    assert sweep(clock.now() + timedelta(minutes=2)) == (0 if gone else 4)
    check_all_received(store, queue, ids)


@pytest.mark.slow
def test_what_came_does_not_wait_for_what_did_not(store, queue, monkeypatch):
    ids = sent_to_many(store, queue, 12)
    call, calls = queues._call, count()

    def sometimes(operation, **request):
        if operation == "receive_message" and next(calls) == 1:
            raise StoreUnavailable
        return call(operation, **request)

    monkeypatch.setattr(queues, "_call", sometimes)
    assert Receiver().step(wait=0) >= 10
    Receiver().run(once=True)
    check_all_received(store, queue, ids)


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


@pytest.mark.slow
def test_two_receivers_that_are_brought_the_same_messages_receive_each_once(store, queue):
    ids = sent_to_many(store, queue, 12)
    brought = queues.receive(queue, wait=0, batches=BATCHES)
    # Each came twice: under a name of its own, and again while it was being handled.
    twice = [*brought, *(replace(each, name=f"{each.name}-2") for each in reversed(brought)), *brought]
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor() as pool:
        finished = list(pool.map(lambda each: worker.handle_all(each, QUEUE, counts), (twice, twice)))
    assert [len(each) for each in finished] == [39, 39]
    assert queues.delete(queue, brought) == 0
    check_all_received(store, queue, ids)
    assert counts == {handling.Handled.RECEIVED: 13, handling.Handled.AGAIN: 65}


class Outage:
    """Nobody listens at the endpoint of that setting until a receiver has waited for a minute. No time passes."""

    def __init__(self, settings, name: str) -> None:
        self.waited = 0.0
        self._settings, self._name, self._real = settings, name, getattr(settings, name)
        setattr(settings, name, f"http://127.0.0.1:{free_port()}")

    def wait(self, pause: float) -> bool:
        """What the receiver waits with."""
        self.waited += pause
        if self.waited >= 60:
            setattr(self._settings, self._name, self._real)
        return False


@pytest.mark.slow
def test_a_queue_that_cannot_be_reached_for_a_minute_is_waited_for(store, queue, settings):
    ids = sent_to_many(store, queue, 12)
    outage = Outage(settings, "SQS_ENDPOINT")
    receiver = Receiver(wait=outage.wait)
    receiver.run(once=True)
    assert outage.waited >= 60
    check_all_received(store, queue, ids)
    assert receiver.counts == {handling.Handled.RECEIVED: 13}


@pytest.mark.slow
def test_a_database_that_cannot_be_reached_for_a_minute_loses_and_doubles_nothing(store, queue, settings, monkeypatch):
    monkeypatch.setattr(worker, "AGAIN_SECONDS", 0)
    ids = sent_to_many(store, queue, 12)
    outage = Outage(settings, "DYNAMODB_ENDPOINT")
    receiver = Receiver()
    while not outage.wait(15) and outage.waited < 60:
        assert receiver.step(wait=0) > 0
        assert store.all("MESSAGES") == []
    receiver.run(once=True)
    check_all_received(store, queue, ids)
    assert receiver.counts[handling.Handled.RECEIVED] == 13


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
    assert handle_handoff_queue({"Records": records}) == {"batchItemFailures": []}
    with faults.fail_before("TransactWriteItems", whole_calls=True):
        again = [{**records[0], "messageId": "three", "body": body(message_sid="SM3")}]
        assert handle_handoff_queue({"Records": again}) == {"batchItemFailures": [{"itemIdentifier": "three"}]}
    assert len(rows(store)) == 1
    assert handle_handoff_queue({}) == {"batchItemFailures": []}


def test_what_a_lambda_could_not_handle_comes_again_as_soon_as_to_a_worker(store, queue, monkeypatch):
    put(store, **held_by("ana"))
    queues.send(queue, body())
    [brought] = queues.receive(queue, wait=0)
    record = {
        "messageId": brought.name,
        "receiptHandle": brought.receipt,
        "attributes": {"SentTimestamp": "1769940000000"},
        "body": brought.body,
    }
    assert queues.receive(queue, wait=0) == []
    monkeypatch.setattr(worker, "AGAIN_SECONDS", 0)
    with faults.fail_before("TransactWriteItems", whole_calls=True):
        handle_handoff_queue({"Records": [record]})
    assert [each.name for each in queues.receive(queue, wait=0)] == [brought.name]


def test_a_message_whose_receiver_died_comes_again_long_before_the_queues_own_timeout(store, queue, settings):
    settings.QUEUE_VISIBILITY_SECONDS = 1
    queues.send(queue, body())
    [dead] = queues.receive(queue, wait=0)
    assert [each.name for each in queues.receive(queue, wait=5)] == [dead.name]


@pytest.mark.slow
def test_a_message_that_is_being_handled_comes_to_nobody_else_however_long_that_takes(store, queue, settings):
    settings.QUEUE_VISIBILITY_SECONDS = 1
    queues.send(queue, body())
    brought, prolonged = queues.receive(queue, wait=0), []
    ended = Event()
    with queues.keeping(queue, brought, then=lambda: prolonged.append(1) or (len(prolonged) > 2 and ended.set())):
        assert ended.wait(30)
        assert queues.receive(queue, wait=0) == []
    assert [each.name for each in queues.receive(queue, wait=5)] == [brought[0].name]


def test_a_lambda_that_dies_hides_no_message_for_the_queues_own_timeout(store, queue, settings, monkeypatch):
    """Its messages come with the queue's hour: it shortens that before anything else."""
    queues.send(queue, body())
    settings.QUEUE_VISIBILITY_SECONDS = 0
    [brought] = queues.receive(queue, wait=0)
    settings.QUEUE_VISIBILITY_SECONDS = 1
    monkeypatch.setattr(worker, "handle_all", mock.Mock(side_effect=SystemExit))
    with pytest.raises(SystemExit):
        handle_handoff_queue(
            {"Records": [{"messageId": brought.name, "receiptHandle": brought.receipt, "body": body()}]}
        )
    assert [each.name for each in queues.receive(queue, wait=5)] == [brought.name]


def test_room_is_half_of_what_an_item_may_hold():
    assert appending.ROOM == 40_000


@pytest.mark.slow
def test_once_gives_up_where_the_queue_does_not_answer(store, settings):
    settings.SQS_ENDPOINT = f"http://127.0.0.1:{free_port()}"
    settings.HANDOFF_QUEUE_URL = f"{settings.SQS_ENDPOINT}/123456789012/handoff"
    with pytest.raises(StoreUnavailable):
        Receiver(wait=lambda _: False).run(once=True)
