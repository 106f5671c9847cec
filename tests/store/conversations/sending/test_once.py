"""At most once: senders that hold the same reply at the same time, come late, or have it delivered again."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from conversations.outbox.rows import MessageRow
from conversations.outbox.states import ReplyState
from conversations.sending.delivering import send
from conversations.sending.rates import Rates
from demo.provider import DemoProvider
from tests import faults
from tests.dynamodb import Store
from tests.store.conversations.sending.conftest import OPTED_OUT
from tests.support.conversations.handoff.kit import ANA, stored
from tests.support.conversations.replies import held, replies, sent_entries, states, write

# Only a test that fails waits for as long.
PATIENCE_SECONDS = 10.0
NOT_QUEUED = [each for each in ReplyState if each is not ReplyState.QUEUED]
# The write that marks the start of sending.
START: dict[str, Any] = {"operation": "UpdateItem", "table_key": "MESSAGES"}


def deliver(row: MessageRow) -> float | None:
    """As a sender of its own that the queue delivers the reply to."""
    return send(row.conversation, row.position, Rates())


def count_calls(provider: DemoProvider) -> list[str]:
    """Note the path of each message handed to the provider from now on, accepted or not."""
    calls: list[str] = []
    provider.fault = lambda method, path, form: calls.append(path) if method == "POST" else None
    return calls


def leave_in(store: Store, row: MessageRow, state: ReplyState) -> None:
    """Bring a reply into a state, as another sender or its author would."""
    begun = {"sending_id": "another sender's"} if state is ReplyState.SENDING else {}
    store.update("MESSAGES", {"conversation": row.conversation, "position": row.position}, state=state.value, **begun)


def test_two_senders_that_both_read_it_as_queued_hand_it_over_once(store, outbox, provider):
    """The provider answers the faster one only once the slower one has stopped."""
    held(store)
    row = write(ANA)
    both_have_read, one_has_stopped = threading.Barrier(2), threading.Event()
    calls: list[str] = []
    when_stopped: list[tuple[float | None, dict[str, Any]]] = []

    def answer(method: str, path: str, form: dict[str, Any]) -> None:
        if method == "POST":
            calls.append(path)
            if len(calls) == 1:
                one_has_stopped.wait(PATIENCE_SECONDS)

    def run_sender(_: int) -> None:
        outcome = deliver(row)
        [as_left] = replies(store)
        when_stopped.append((outcome, as_left))
        one_has_stopped.set()

    provider.fault = answer
    with (
        faults.before(do=lambda: both_have_read.wait(PATIENCE_SECONDS), times=2, **START),
        ThreadPoolExecutor(2) as senders,
    ):
        list(senders.map(run_sender, range(2)))

    assert len(calls) == 1
    (slower, while_sending), (faster, _) = when_stopped
    assert slower is faster is None
    assert while_sending["state"] == "sending"
    [message], [sent] = provider.messages(), replies(store)
    assert (sent["state"], sent["provider_id"]) == ("sent", message["id"])
    started = ("sending_id", "begun_at", "sender", "recipient")
    assert [sent[name] for name in started] == [while_sending[name] for name in started]
    assert [each["result"] for each in sent_entries(store)] == ["success"]
    assert [each.get("entry_id") for each in stored(store)["messages"]].count(row.message_id) == 1


@pytest.mark.parametrize("state", NOT_QUEUED)
def test_a_late_sender_that_read_it_as_queued_neither_calls_nor_writes(store, outbox, provider, state):
    held(store)
    row, calls = write(ANA), count_calls(provider)
    left: list[dict[str, Any]] = []

    def overtake() -> None:
        leave_in(store, row, state)
        left.extend(replies(store))

    with faults.before(do=overtake, **START):
        assert deliver(row) is None
    assert calls == []
    assert len(left) == 1
    assert replies(store) == left
    assert [each["result"] for each in sent_entries(store)] == ["pending"]


def test_a_late_sender_does_not_bring_back_a_reply_that_is_gone(store, outbox, provider):
    held(store)
    row, calls = write(ANA), count_calls(provider)
    with faults.before(
        do=lambda: store.delete("MESSAGES", conversation=row.conversation, position=row.position), **START
    ):
        assert deliver(row) is None
    assert (calls, replies(store)) == ([], [])


@pytest.mark.parametrize("state", NOT_QUEUED)
def test_a_reply_that_is_delivered_again_is_not_handed_over_again(store, outbox, provider, state):
    held(store)
    row, calls = write(ANA), count_calls(provider)
    leave_in(store, row, state)
    left = replies(store)
    assert deliver(row) is None
    assert (calls, replies(store)) == ([], left)


@pytest.mark.parametrize("reached", [True, False])
def test_a_reply_is_handed_over_once_however_often_it_is_delivered(store, outbox, provider, reached):
    """Whether the provider accepts or refuses it."""
    held(store) if reached else held(store, recipient_tel=OPTED_OUT)
    row, calls = write(ANA), count_calls(provider)
    assert [deliver(row) for _ in range(3)] == [None] * 3
    assert len(calls) == 1
    assert states(store) == ["sent" if reached else "failed"]
    assert len(sent_entries(store)) == 1


def test_a_sender_recognizes_its_own_start_when_the_answer_was_lost(store, outbox, provider):
    """botocore repeats the write, which is then refused: the row is no longer queued."""
    held(store)
    row, calls = write(ANA), count_calls(provider)
    with faults.fail_after(retried=True, **START) as fault:
        assert deliver(row) is None
    assert len(fault.seen) == 2
    assert (len(calls), states(store)) == (1, ["sent"])


def test_a_sender_that_learns_of_its_own_start_too_late_hands_nothing_over(store, outbox, provider):
    """The answer was lost, and before the write was repeated, another one found out that the provider has nothing."""
    held(store)
    row, calls = write(ANA), count_calls(provider)
    with (
        faults.before(do=lambda: leave_in(store, row, ReplyState.NOT_SENT), nth=2, **START),
        faults.fail_after(retried=True, **START),
    ):
        assert deliver(row) is None
    assert (calls, states(store)) == ([], ["not sent"])
