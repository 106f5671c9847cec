"""The receiver: passes messages from the hand-off queue to `handling`. The sweep finishes interrupted work.

Several receivers may run: a message is handled once, whichever gets it. A message is deleted from SQS only when all of
its work is done.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.errors import ConsoleError, NotFound
from console.store import queues
from console.store.calls import ConditionFailed, submit
from console.store.queues import QueueMessage
from console.telemetry import instrumentation, traces
from conversations.indexer.lease import write_heartbeat
from conversations.indexer.leased import BEAT_EVERY, MOST_ERRORS, pause_after
from conversations.models import Conversation
from conversations.receiving import appending
from conversations.receiving.bodies import Key, about
from conversations.receiving.handling import Batch, Handled, complete, handle, record_together
from conversations.receiving.leaving import TO_AI, finish_leaving
from conversations.receiving.placing import read_ahead
from conversations.receiving.rows import TO_APPEND, MessageRow

logger = logging.getLogger(__name__)

QUEUE = "queue"
# Of up to ten messages each.
BATCHES = 5
# Messages recorded with one write: DynamoDB takes a hundred items, and a message has four.
TOGETHER = 25
SWEPT_AT_ONCE = 100
# Delay before a row that could not be finished is tried again, so that it never blocks the others.
PUT_OFF = timedelta(minutes=5)
# Delay before a failed message is delivered again: the queue's own timeout is an hour.
AGAIN_SECONDS = 15
FAILED = "failed"


class Receiver:
    """The receiver. `wait` pauses for some seconds and returns whether to end. `counts` are by `Handled`, or FAILED."""

    def __init__(self, *, wait: Callable[[float], bool] | None = None, now: Callable[[], datetime] = clock.now) -> None:
        self.counts: Counter[str] = Counter()
        self._wait = wait or threading.Event().wait
        self._now = now
        self._told_at: datetime | None = None
        self._errors = 0

    @property
    def is_failing(self) -> bool:
        """Whether the last round failed."""
        return self._errors > 0

    def run(self, *, once: bool = False) -> None:
        """Receive until `wait` says to end; with `once`, until the queue is empty.

        Raises the store's errors only with `once`, after `MOST_ERRORS` in a row.
        """
        while True:
            done, pause = 0, 0.0
            try:
                done = self.step(wait=0 if once else queues.LONGEST_WAIT_SECONDS)
                self._errors = 0
            except ConsoleError as error:
                self._errors += 1
                if once and self._errors >= MOST_ERRORS:
                    raise
                pause = pause_after(self._errors)
                logger.warning("The receiver could not go on: %s", type(error).__name__)
                instrumentation.count_worker_failure()
            if (once and not done and not self._errors) or self._wait(pause):
                break

    def step(self, *, wait: int) -> int:
        """Receive and handle one batch; return the number of messages. Raises the store's errors."""
        deliveries = queues.receive(settings.HANDOFF_QUEUE_URL, wait=wait, batches=BATCHES)
        with traces.span(f"work {instrumentation.current_part()}"):
            self._handle(deliveries)
        return len(deliveries)

    def _handle(self, deliveries: Sequence[QueueMessage]) -> None:
        finished = handle_all(deliveries, QUEUE, self.counts)
        if left := queues.delete(settings.HANDOFF_QUEUE_URL, finished):
            logger.warning("%d messages could not be deleted from the queue and will come again.", left)
        bring_soon([each for each in deliveries if each not in finished])
        self._tell(deliveries)

    def _tell(self, deliveries: Sequence[QueueMessage]) -> None:
        """Write a heartbeat, at most every few seconds. A failure is only logged."""
        now = self._now()
        if self._told_at is not None and now - self._told_at < BEAT_EVERY:
            return
        details: dict[str, Any] = {"beat_at": now, "mode": QUEUE}
        if deliveries:
            oldest = min(each.sent_at for each in deliveries)
            details |= {"received_at": now, "waited": max(0.0, (now - oldest).total_seconds())}
        try:
            write_heartbeat(QUEUE, **details)
        except ConsoleError as error:
            logger.warning("The heartbeat could not be written: %s", type(error).__name__)
        self._told_at = now


def bring_soon(deliveries: Sequence[QueueMessage]) -> None:
    """Make the queue deliver messages again soon. Raises the store's errors: it then waits for its own timeout."""
    for each in deliveries:
        queues.redeliver_after(settings.HANDOFF_QUEUE_URL, each, seconds=AGAIN_SECONDS)


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
        finish(row, _conversation_of(row))
    except Exception as error:
        # No message: it may quote a key.
        logger.warning("A message could not be finished: %s", type(error).__name__)
        with suppress(ConditionFailed):
            row.update(
                actions=[MessageRow.due_at.set(clock.to_iso(now + PUT_OFF))], condition=MessageRow.gsi_due.exists()
            )
        return False
    return True


def _conversation_of(row: MessageRow) -> Conversation | None:
    conversation_id, _, primary_channel = row.conversation.partition("\n")
    try:
        return Conversation.get(primary_channel, conversation_id, consistent_read=True)
    except NotFound:
        return None


def _complete(row: MessageRow, item: Conversation | None) -> None:
    if item is None:
        appending.finish(row, False)
    else:
        complete(row, item)


# Finishes a due row of each kind, given its conversation, None if that is gone.
FINISH = {TO_APPEND: _complete, TO_AI: finish_leaving}
