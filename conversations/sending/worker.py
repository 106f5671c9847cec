"""The sender: the only process that reads companies' secrets and reaches providers.

The outbox queue delivers replies in order within a conversation. The sweep finds those that it did not deliver, settles
unfinished ones, and asks for the delivery of sent ones. Several senders may run: only one of them hands a reply over.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock, instrumentation
from console.errors import Conflict, ConsoleError, NotFound
from console.store import queues
from console.store.calls import ConditionFailed
from console.store.queues import QueueMessage
from conversations.outbox.rows import TO_ASK, TO_FETCH, TO_SEND, TO_SETTLE, TO_WITNESS, MessageRow
from conversations.providers import templates
from conversations.receiving.witnessing import is_on
from conversations.sending import receipts, witness
from conversations.sending.deliveries import ask_delivery
from conversations.sending.delivering import send, settle
from conversations.sending.rates import Rates
from conversations.workers.queued import QueueWorker

logger = logging.getLogger(__name__)

SENDER = "sender"
SENT_OR_SETTLED, PUT_OFF, FAILED = "done", "put off", "failed"
# Conversations to process in parallel: each waits for a provider.
AT_ONCE = 24
SWEPT_AT_ONCE = 50
# Lists of providers to read in parallel, while replies go on.
LISTS_AT_ONCE = 12
# SQS takes whole seconds, up to a maximum.
LONGEST_LATER_SECONDS = 900
# Delay before a row that failed is tried again, so that it never blocks the others.
AGAIN_AFTER = timedelta(minutes=1)

# What the sweep does with a due row of each kind, in addition to those to send.
DUE: dict[str, Callable[[MessageRow], None]] = {TO_SETTLE: settle, TO_ASK: ask_delivery, TO_FETCH: templates.fetch}

# A reply's key in its queue message: the conversation's partition and the reply's sort key.
Named = tuple[str, str]


class Sender(QueueWorker):
    """The sender. `counts` are the totals of its work. `pool` processes conversations in parallel during a run."""

    name, title, setting = SENDER, "The sender", "OUTBOX_QUEUE_URL"
    longest_wait_seconds = 1
    works_without_queue, longest_pause_seconds = True, 2.0
    pool: ThreadPoolExecutor

    def __init__(self, *, wait: Callable[[float], bool] | None = None) -> None:
        super().__init__(wait=wait)
        self._rates, self._list_rates = Rates(), Rates(witness.LISTS_PER_SECOND)
        self._looks = set[Future[bool]]()

    def run(self, *, once: bool = False) -> None:
        """Send as `QueueWorker.run` describes."""
        # A pool of its own, so that a slow provider does not delay reads.
        part = instrumentation.current_part()
        with ThreadPoolExecutor(AT_ONCE, "sender", instrumentation.enter_part, (part,)) as self.pool:
            super().run(once=once)

    def _work(self, brought: Sequence[QueueMessage]) -> int:
        """Send what the queue delivered, then what is due; return the number of rows done.

        A queue that does not answer is reported last: what is due is in the table.
        """
        with queues.keeping(settings.OUTBOX_QUEUE_URL, brought):
            finished, later = send_all(brought, self._rates, self.pool)
        self.counts[SENT_OR_SETTLED] += len(finished)
        self.counts[PUT_OFF] += len(later)
        bring_later(later)
        try:
            queues.delete(settings.OUTBOX_QUEUE_URL, finished)
            reported = receipts.receive(self.counts)
        finally:
            swept = self._sweep() + self._ask_providers()
        return len(finished) + reported + swept

    def _sweep(self) -> int:
        """Process the due rows; return how many are done."""
        now = clock.to_iso(clock.now())
        found: dict[str, list[tuple[str, MessageRow]]] = {}
        for kind in (TO_SEND, *DUE):
            for row in MessageRow.due_index.query(kind, MessageRow.due_at <= now, limit=SWEPT_AT_ONCE):
                found.setdefault(row.conversation, []).append((kind, row))
        return sum(self.pool.map(self._deal_with_all, found.values()))

    def _ask_providers(self) -> int:
        """Have providers asked what customers wrote, beside everything else; return how many have answered."""
        now = clock.to_iso(clock.now())
        if is_on() and (room := LISTS_AT_ONCE - len(self._looks)):
            for row in MessageRow.due_index.query(TO_WITNESS, MessageRow.due_at <= now, limit=room):
                self._looks.add(self.pool.submit(self._deal_with, TO_WITNESS, row))
        if self._is_scheduled:
            wait(self._looks)
        done = {each for each in self._looks if each.done()}
        self._looks -= done
        return sum(each.result() for each in done)

    def _deal_with_all(self, rows: Sequence[tuple[str, MessageRow]]) -> int:
        """Process the rows of one conversation, oldest first."""
        return sum(self._deal_with(kind, row) for kind, row in sorted(rows, key=lambda each: each[1].position))

    def _deal_with(self, kind: str, found: MessageRow) -> bool:
        """Process one row; postpone it if that fails."""
        try:
            if kind == TO_SEND:
                return send(found.conversation, found.position, self._rates) is None
            row = MessageRow.get(found.conversation, found.position, consistent_read=True)
            if row.gsi_due != kind:
                return False
            if kind == TO_WITNESS:
                witness.look(row, self._list_rates)
            else:
                DUE[kind](row)
        except (NotFound, Conflict):
            # It is gone, or another process has dealt with it.
            return False
        except Exception as error:
            # One bad row must not block the others. No message: it may quote a key.
            self.counts[FAILED] += 1
            logger.warning("A reply could not be dealt with: %s", type(error).__name__)
            _put_off(found, kind, clock.now())
            return False
        self.counts[SENT_OR_SETTLED] += 1
        return True


def send_all(
    brought: Sequence[QueueMessage], rates: Rates, pool: ThreadPoolExecutor
) -> tuple[list[QueueMessage], list[tuple[QueueMessage, int]]]:
    """Send replies, in order within a conversation.

    Returns the finished messages, and those to deliver again with the delay in seconds: this includes the later replies
    of such a conversation.
    """
    by_conversation: dict[str, list[tuple[QueueMessage, Named]]] = {}
    finished: list[QueueMessage] = []
    for each in brought:
        named = _named_in(each.body)
        if named is None:
            logger.warning("A message in the outbox queue names no reply.")
            finished.append(each)
        else:
            by_conversation.setdefault(named[0], []).append((each, named))
    later: list[tuple[QueueMessage, int]] = []
    for outcomes in pool.map(lambda those: _sent_in_order(those, rates), by_conversation.values()):
        for each, seconds in outcomes:
            if seconds is None:
                finished.append(each)
            else:
                later.append((each, seconds))
    return finished, later


def bring_later(later: Sequence[tuple[QueueMessage, int]]) -> None:
    """Make the queue deliver replies again after these delays in seconds. Never raises: the queue has its timeout."""
    for each, seconds in later:
        with suppress(ConsoleError):
            queues.redeliver_after(settings.OUTBOX_QUEUE_URL, each, seconds=seconds)


def _sent_in_order(those: Sequence[tuple[QueueMessage, Named]], rates: Rates) -> list[tuple[QueueMessage, int | None]]:
    outcomes: list[tuple[QueueMessage, int | None]] = []
    seconds: int | None = None
    for each, (conversation, position) in those:
        if seconds is None:
            seconds = _seconds_until(conversation, position, rates)
        outcomes.append((each, seconds))
    return outcomes


def _seconds_until(conversation: str, position: str, rates: Rates) -> int | None:
    """Send one reply; return None if it is done, else the whole seconds until it must be delivered again."""
    try:
        seconds = send(conversation, position, rates)
    except Exception as error:
        logger.warning("A reply could not be sent: %s", type(error).__name__)
        return 2
    return None if seconds is None else min(LONGEST_LATER_SECONDS, max(1, math.ceil(seconds)))


def _named_in(body: str) -> Named | None:
    try:
        content: Any = json.loads(body)
    except ValueError:
        return None
    if not isinstance(content, Mapping):
        return None
    named = content.get("conversation"), content.get("position")
    return (named[0], named[1]) if isinstance(named[0], str) and isinstance(named[1], str) else None


def _put_off(found: MessageRow, kind: str, now: datetime) -> None:
    with suppress(ConditionFailed, ConsoleError):
        MessageRow(found.conversation, found.position).update(
            actions=[MessageRow.due_at.set(clock.to_iso(now + AGAIN_AFTER))], condition=MessageRow.gsi_due == kind
        )
