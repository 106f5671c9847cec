"""SIGKILL before and after every call of a receiver and of the sweep: each message once, and none forgotten."""

from contextlib import suppress
from datetime import timedelta

import pytest

from console import clock
from console.errors import ConsoleError
from console.store import queues
from conversations.receiving.handling import handle
from conversations.receiving.worker import Receiver, sweep
from tests import faults
from tests.store.conversations.receiving.test_handling import SENT_AT, body, rows
from tests.store.conversations.receiving.test_sizes import texts
from tests.store.conversations.receiving.test_worker import visible
from tests.support.conversations.handoff.kit import COMPANY, CONVERSATION, KEY, conversation, put, stored, trail
from tests.support.victims import victims as children

# What a process that dies leaves behind, the real store shows; its children share no memory with moto.
pytestmark = pytest.mark.dynoxide_only

MOST_CALLS = 40


@pytest.fixture
def victims(store, queue, settings):
    """Does jobs in children that get killed; see the module of that name."""
    # A message that a dead receiver had comes again at once, and not in an hour.
    queues.client().set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "0"})
    settings.QUEUE_VISIBILITY_SECONDS = 0
    where = {"SQS_ENDPOINT": settings.SQS_ENDPOINT, "HANDOFF_QUEUE_URL": queue, "QUEUE_VISIBILITY_SECONDS": "0"}
    with children("tests.support.conversations.receiving_victims", store.environment() | where) as do:
        yield do


OTHER = f"{CONVERSATION}#other"


def check_the_other_received(store) -> None:
    """The message to another conversation, which nobody asked for a human in before, was recorded with the first."""
    [row] = [row for row in store.all("MESSAGES") if row["conversation"].startswith(OTHER)]
    item = store.get("CONVERSATIONS", **KEY | {"conversation_id": OTHER})
    assert (row["content"], row["on_item"], row.get("gsi_due")) == ("other", True, None)
    assert [entry["content"] for entry in item["messages"]] == ["Hello", "other"]
    assert item["gsi_hand_off_queue"] == f"waiting#{COMPANY}"


def check_each_message_once(store, queue, count: int) -> None:
    said = [f"line {number}" for number in range(count)]
    assert sorted(texts()) == sorted(["Hello", *said])
    assert sorted(row["content"] for row in rows(store)) == said
    assert not [row for row in rows(store) if "gsi_due" in row]
    assert stored(store)["gsi_hand_off_queue"] == f"waiting#{COMPANY}"
    actions = [entry["action_type"] for entry in trail(store)]
    assert (actions.count("message.received"), actions.count("hand_off.request")) == (count, 1)
    assert visible(queue) == 0


@pytest.mark.parametrize("kill", ["before", "after"])
def test_killed_at_any_call_of_a_receiver(store, queue, victims, kill):
    for nth in range(1, MOST_CALLS):
        put(store, auto_queue_reply_message=True)
        store.put("CONVERSATIONS", conversation(**KEY | {"conversation_id": OTHER}, auto_queue_reply_message=True))
        for number in range(2):
            queues.send(queue, body(message_sid=f"SM{number}", body=f"line {number}"))
        queues.send(queue, body(message_sid="SM2", body="other", conversation_id=OTHER))
        ended = victims("receive", kill, nth)
        # It left the queue only if all of it was done: whoever comes next, and the sweep, do the rest.
        Receiver().run(once=True)
        sweep(clock.now() + timedelta(minutes=2))
        check_each_message_once(store, queue, 2)
        check_the_other_received(store)
        store.empty()
        if not ended["killed"]:
            assert ended["code"] == 0
            break
    assert 10 < nth < MOST_CALLS - 1


@pytest.mark.parametrize("kill", ["before", "after"])
def test_killed_at_any_call_of_a_sweep(store, queue, victims, kill):
    later = clock.now() + timedelta(minutes=2)
    for nth in range(1, MOST_CALLS):
        put(store, auto_queue_reply_message=True)
        with (
            faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS),
            suppress(ConsoleError),
        ):
            handle(body(message_sid="SM0", body="line 0"), SENT_AT, "queue", "d0")
        ended = victims(clock.to_iso(later), kill, nth)
        sweep(later + timedelta(minutes=10))
        check_each_message_once(store, queue, 1)
        store.empty()
        if not ended["killed"]:
            assert ended["code"] == 0
            break
    assert 5 < nth < MOST_CALLS - 1
