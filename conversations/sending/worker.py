"""The sender: the only process that reads companies' secrets and reaches providers.

The outbox queue brings replies in the order of each conversation; the sweep finds what it did not bring, settles what
a sender left undone, and asks what became of what was sent. Several may run: a reply is handed over by one of them.
"""

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.errors import Conflict, ConsoleError, NotFound
from console.store import queues
from console.store.calls import ConditionFailed
from console.store.queues import QueueMessage
from console.telemetry import instrumentation, traces
from conversations.indexer.lease import note
from conversations.indexer.leased import BEAT_EVERY, MOST_ERRORS, pause_after
from conversations.receiving.rows import TO_ASK, TO_FETCH, TO_SEND, TO_SETTLE, MessageRow
from conversations.sending import receipts, templates
from conversations.sending.deliveries import ask_delivery
from conversations.sending.delivering import send, settle
from conversations.sending.rates import Rates

logger = logging.getLogger(__name__)

SENDER = "sender"
SENT_OR_SETTLED, PUT_OFF, FAILED = "done", "put off", "failed"
# Of ten replies each, where there are so many.
BATCHES = 5
# Conversations at once: each waits for a provider.
AT_ONCE = 24
LONGEST_WAIT_SECONDS = 1
SWEPT_AT_ONCE = 50
# SQS counts in whole seconds, and has its own longest one.
LONGEST_LATER_SECONDS = 900
# A row that could not be dealt with is tried again after so long, so that it never keeps the others waiting.
AGAIN_AFTER = timedelta(minutes=1)

# What the sweep does with a row of each kind that may be due, beside those that are to be sent.
DUE: dict[str, Callable[[MessageRow], None]] = {TO_SETTLE: settle, TO_ASK: ask_delivery, TO_FETCH: templates.fetch}

# What a reply's message in the queue names: its conversation's partition and its own sort key.
Named = tuple[str, str]


class Sender:
    """`wait` pauses for so many seconds and says whether to end. `counts` is what was done."""

    def __init__(self, *, wait: Callable[[float], bool] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._wait = wait or threading.Event().wait
        self._rates = Rates()
        self._told_at: datetime | None = None
        self._errors = 0
        self._is_scheduled = False

    @property
    def is_failing(self) -> bool:
        """Whether the last round could not do its work."""
        return self._errors > 0

    def run(self, *, once: bool = False) -> None:
        """Send until `wait` says to end; `once`, for who is run by a schedule: until nothing more may leave now.

        Raises the store's errors only if `once`, after `MOST_ERRORS` in a row.
        """
        self._is_scheduled = once
        # A pool of its own: a slow provider must hold up nobody who reads.
        part = instrumentation.current_part()
        with ThreadPoolExecutor(AT_ONCE, "sender", instrumentation.enter_part, (part,)) as pool:
            while True:
                done, pause = 0, 0.0
                try:
                    done = self.step(pool, wait=0 if once else LONGEST_WAIT_SECONDS)
                    self._errors = 0
                except ConsoleError as error:
                    self._errors += 1
                    if once and self._errors >= MOST_ERRORS:
                        raise
                    pause = pause_after(self._errors)
                    logger.warning("The sender could not go on: %s", type(error).__name__)
                    instrumentation.count_worker_failure()
                if (once and not done and not self._errors) or self._wait(pause):
                    break

    def step(self, pool: ThreadPoolExecutor, *, wait: int) -> int:
        """Send what the queue brings, then what is due; how many rows were dealt with. Raises the store's errors."""
        brought = queues.receive(settings.OUTBOX_QUEUE_URL, wait=wait, batches=BATCHES)
        with traces.span(f"work {instrumentation.current_part()}"):
            return self._deal_with_brought(brought, pool)

    def _deal_with_brought(self, brought: Sequence[QueueMessage], pool: ThreadPoolExecutor) -> int:
        finished, later = send_all(brought, self._rates, pool)
        self.counts[SENT_OR_SETTLED] += len(finished)
        self.counts[PUT_OFF] += len(later)
        queues.delete(settings.OUTBOX_QUEUE_URL, finished)
        bring_later(later)
        done = len(finished) + receipts.receive(self.counts)
        done += self._sweep(pool)
        self._tell()
        return done

    def _sweep(self, pool: ThreadPoolExecutor) -> int:
        """Deal with rows that are due; how many that were."""
        now = clock.to_iso(clock.now())
        found: dict[str, list[tuple[str, MessageRow]]] = {}
        for kind in (TO_SEND, *DUE):
            for row in MessageRow.due_index.query(kind, MessageRow.due_at <= now, limit=SWEPT_AT_ONCE):
                found.setdefault(row.conversation, []).append((kind, row))
        outcomes = pool.map(self._deal_with_all, found.values())
        return sum(outcomes)

    def _deal_with_all(self, rows: Sequence[tuple[str, MessageRow]]) -> int:
        """Those of one conversation, oldest first."""
        return sum(self._deal_with(kind, row) for kind, row in sorted(rows, key=lambda each: each[1].position))

    def _deal_with(self, kind: str, found: MessageRow) -> bool:
        """Deal with one row; one that cannot be is put off."""
        try:
            if kind == TO_SEND:
                return send(found.conversation, found.position, self._rates) is None
            row = MessageRow.get(found.conversation, found.position, consistent_read=True)
            if row.gsi_due != kind:
                return False
            DUE[kind](row)
        except (NotFound, Conflict):
            # It is gone, or somebody else has dealt with it.
            return False
        except Exception as error:
            # Whatever is wrong with one must not keep the others. No message: it may quote a key.
            self.counts[FAILED] += 1
            logger.warning("A reply could not be dealt with: %s", type(error).__name__)
            _put_off(found, kind, clock.now())
            return False
        self.counts[SENT_OR_SETTLED] += 1
        return True

    def _tell(self) -> None:
        """Tell that it runs, every few seconds at most; that this fails is no reason not to go on."""
        now = clock.now()
        if self._told_at is not None and now - self._told_at < BEAT_EVERY:
            return
        try:
            note(SENDER, beat_at=now, mode="queue", scheduled=self._is_scheduled)
        except ConsoleError as error:
            logger.warning("The heartbeat could not be written: %s", type(error).__name__)
        self._told_at = now


def send_all(
    brought: Sequence[QueueMessage], rates: Rates, pool: ThreadPoolExecutor
) -> tuple[list[QueueMessage], list[tuple[QueueMessage, int]]]:
    """Send replies, those of one conversation in their order; which of them are done, and which are to come again
    after how many seconds: also what stands behind one of these.
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
    """Let the queue bring replies again after so many seconds each. Never raises: it does so by itself, later."""
    for each, seconds in later:
        with suppress(ConsoleError):
            queues.bring_again(settings.OUTBOX_QUEUE_URL, each, seconds=seconds)


def _sent_in_order(those: Sequence[tuple[QueueMessage, Named]], rates: Rates) -> list[tuple[QueueMessage, int | None]]:
    outcomes: list[tuple[QueueMessage, int | None]] = []
    seconds: int | None = None
    for each, (conversation, position) in those:
        if seconds is None:
            seconds = _seconds_until(conversation, position, rates)
        outcomes.append((each, seconds))
    return outcomes


def _seconds_until(conversation: str, position: str, rates: Rates) -> int | None:
    """Send one; None where it is done, else after how many whole seconds it is to come again."""
    try:
        outcome = send(conversation, position, rates)
    except Exception as error:
        logger.warning("A reply could not be sent: %s", type(error).__name__)
        return 2
    if outcome is None:
        return None
    return min(LONGEST_LATER_SECONDS, max(1, -int(-outcome.seconds // 1)))


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
