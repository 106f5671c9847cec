"""SIGKILL before and after every call of a receiver and of the sweep: each message once, and none forgotten."""

import json
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from console import clock
from console.errors import ConsoleError
from console.store import queues
from conversations.receiving.handling import handle
from conversations.receiving.worker import Receiver, sweep
from tests import faults
from tests.store.conversations.receiving.test_handling import SENT_AT, body, rows
from tests.store.conversations.receiving.test_sizes import texts
from tests.store.conversations.receiving.test_worker import visible
from tests.support.conversations.handoff.kit import COMPANY, put, stored, trail

# What a process that dies leaves behind, the real store shows; its children share no memory with moto.
pytestmark = pytest.mark.local_only

ROOT = Path(__file__).resolve().parents[4]
MOST_CALLS = 40


@pytest.fixture
def victims(store, queue):
    """Does jobs in children that get killed; see the module of that name."""
    # A message that a dead receiver had comes again at once, and not in an hour.
    queues.client().set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "0"})
    where = {"SQS_ENDPOINT": settings.SQS_ENDPOINT, "HANDOFF_QUEUE_URL": queue}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.conversations.receiving_victims"],
        cwd=ROOT,
        env=store.environment() | where,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def do(job, kill="", nth=0):
        process.stdin.write(json.dumps({"job": job, "kill": kill, "nth": nth}) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    yield do
    process.stdin.close()
    process.stdout.close()
    process.wait()


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
        for number in range(2):
            queues.send(queue, body(message_sid=f"SM{number}", body=f"line {number}"))
        ended = victims("receive", kill, nth)
        # It left the queue only if all of it was done: whoever comes next, and the sweep, do the rest.
        Receiver().run(once=True)
        sweep(clock.now() + timedelta(minutes=2))
        check_each_message_once(store, queue, 2)
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
