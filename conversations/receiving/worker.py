"""The receiver: passes messages from the hand-off queue to `handling`. The sweep finishes interrupted work.

Several receivers may run: a message is handled once, whichever gets it. A message is deleted from SQS only when all of
its work is done.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock, instrumentation
from console.errors import ConsoleError, NotFound
from console.store import queues
from console.store.calls import ConditionFailed, submit
from console.store.queues import QueueMessage
from conversations.messages.bodies import Key, about
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.placing import read_ahead
from conversations.outbox.rows import TO_APPEND, TO_AWAIT, TO_CHECK, TO_FORWARD, MessageRow, conversation_of
from conversations.receiving.approvals import forward
from conversations.receiving.handling import Batch, Handled, complete, finish_awaited, handle, record_together
from conversations.receiving.holding import Holding
from conversations.receiving.leaving import TO_AI, finish_leaving
from conversations.receiving.recording import QUEUE
from conversations.receiving.stage import check_staged
from conversations.workers.queued import QueueWorker

logger = logging.getLogger(__name__)

# Messages recorded with one write: DynamoDB takes a hundred items, and a message has four.
TOGETHER = 25
SWEPT_AT_ONCE = 100
# Delay before a row that could not be finished is tried again, so that it never blocks the others.
PUT_OFF = timedelta(minutes=5)
# Delay before a failed message is delivered again.
AGAIN_SECONDS = 15
FAILED = "failed"


class Receiver(QueueWorker):
    """The receiver. `counts` are by `Handled`, or FAILED."""

    name, title, setting = QUEUE, "The receiver", "HANDOFF_QUEUE_URL"

    def __init__(self, *, wait: Callable[[float], bool] | None = None) -> None:
        super().__init__(wait=wait)
        self._holding = Holding()

    def _work(self, brought: Sequence[QueueMessage]) -> int:
        finished = handle_kept(brought, self.counts, self._holding)
        if left := queues.delete(settings.HANDOFF_QUEUE_URL, finished):
            logger.warning("%d messages could not be deleted from the queue and will come again.", left)
        bring_soon([each for each in brought if each not in finished])
        return len(brought)

    def _details(self, brought: Sequence[QueueMessage], now: datetime) -> dict[str, Any]:
        if not brought:
            return {}
        oldest = min(each.sent_at for each in brought)
        return {"received_at": now, "waited": max(0.0, (now - oldest).total_seconds())}


def bring_soon(deliveries: Sequence[QueueMessage]) -> None:
    """Make the queue deliver messages again soon. Raises the store's errors: it then waits for its own timeout."""
    for each in deliveries:
        queues.redeliver_after(settings.HANDOFF_QUEUE_URL, each, seconds=AGAIN_SECONDS)


def handle_kept(
    deliveries: Sequence[QueueMessage], counts: Counter[str], holding: Holding, *, at_once: bool = False
) -> list[QueueMessage]:
    """Handle messages as `handle_all` does, and keep them until then; `at_once`: as `queues.keeping` has it."""

    def note() -> None:
        holding.note(len(deliveries))

    with queues.keeping(settings.HANDOFF_QUEUE_URL, deliveries, at_once=at_once, then=note):
        note()
        return handle_all(deliveries, QUEUE, counts)


def handle_all(deliveries: Sequence[QueueMessage], source: str, counts: Counter[str]) -> list[QueueMessage]:
    """Handle messages, in order within a sender, senders in parallel; return those that are done.

    Failed messages, and later ones of the same sender, are counted and must be delivered again.
    """
    by_sender: dict[str, list[QueueMessage]] = {}
    keys: set[Key] = set()
    for each in sorted(deliveries, key=lambda delivery: delivery.sent_at):
        named, key = about(each.body)
        by_sender.setdefault(named or each.name, []).append(each)
        keys |= {key} if key else set()
    batch, finished = Batch(read_ahead(keys)), []
    firsts = [each[0] for each in by_sender.values()] if len(by_sender) > 1 else []
    for start in range(0, len(firsts), TOGETHER):
        record_together(firsts[start : start + TOGETHER], source, batch)
    for outcome in [submit(_handled_in_order, each, source, batch) for each in by_sender.values()]:
        for delivery, handled in outcome.result():
            counts[handled or FAILED] += 1
            instrumentation.count(instrumentation.MESSAGES, handled or FAILED)
            if handled is not None:
                finished.append(delivery)
    try:
        appending.finish_all(batch.done)
    except ConsoleError as error:
        # Everything else is done, and the sweep does this.
        logger.warning("Messages are finished later: %s", type(error).__name__)
    return finished


def _handled_in_order(
    deliveries: Sequence[QueueMessage], source: str, batch: Batch
) -> list[tuple[QueueMessage, Handled | None]]:
    outcomes: list[tuple[QueueMessage, Handled | None]] = []
    failed = False
    for each in deliveries:
        handled = None if failed else _handled(each, source, batch)
        failed = handled is None
        outcomes.append((each, handled))
    return outcomes


def _handled(delivery: QueueMessage, source: str, batch: Batch) -> Handled | None:
    try:
        return handle(delivery.body, delivery.sent_at, source, delivery.name, batch)
    except Exception as error:
        # One bad message must not keep the others from people. No message: it may quote a key.
        logger.warning("A message could not be handled: %s", type(error).__name__)
        return None


def sweep(now: datetime) -> int:
    """Finish the work of processes that died; return the number of rows finished. Raises the store's errors."""
    done = 0
    for kind, finish in FINISH.items():
        due = MessageRow.due_index.query(kind, MessageRow.due_at <= clock.to_iso(now), limit=SWEPT_AT_ONCE)
        done += sum(_finished(found, kind, finish, now) for found in list(due))
    return done


def _finished(
    found: MessageRow, kind: str, finish: Callable[[MessageRow, Conversation | None], None], now: datetime
) -> bool:
    """Finish one row if it is still due; postpone it if that fails. Raises the store's errors."""
    try:
        row = MessageRow.get(found.conversation, found.position, consistent_read=True)
    except NotFound:
        return False
    if row.gsi_due != kind:
        return False
    try:
        finish(row, conversation_of(row))
    except Exception as error:
        # No message: it may quote a key.
        logger.warning("A message could not be finished: %s", type(error).__name__)
        with suppress(ConditionFailed):
            row.update(
                actions=[MessageRow.due_at.set(clock.to_iso(now + PUT_OFF))], condition=MessageRow.gsi_due.exists()
            )
        return False
    return True


def _complete(row: MessageRow, item: Conversation | None) -> None:
    if item is None:
        appending.finish(row, False)
    else:
        complete(row, item)


# Finishes a due row of each kind, given its conversation, None if that is gone.
FINISH: dict[str, Callable[[MessageRow, Conversation | None], None]] = {
    TO_APPEND: _complete,
    TO_AWAIT: finish_awaited,
    TO_CHECK: check_staged,
    TO_AI: finish_leaving,
    TO_FORWARD: forward,
}
