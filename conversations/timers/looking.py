"""Processing of due timers: does what is due for each conversation, and sets its next timer."""

import logging
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.errors import ItemFull
from conversations.attention.causes import answer_in
from conversations.attention.locks import see_lock
from conversations.attention.planning import levels_in, plan_next
from conversations.attention.timers import GRACE, KEPT, Timer, due_timers
from conversations.handoff.protocol import read_raw
from conversations.handoff.stored import Raw
from conversations.indexer.handling import repair_item
from conversations.insight import writing as insight
from conversations.notifications.deliveries import announce
from conversations.notifications.notification import NotificationType, notifications_of
from conversations.queue_index.refreshing import (
    are_partitions_filled,
    fill_partitions,
    partitions_of_companies,
    refresh_due,
)
from conversations.queue_index.writing import READ
from conversations.receiving.unlocking import end_dead_lock
from conversations.timers.lateness import note_missed, release_if_silent
from conversations.workers.counts import WorkCounts, WorkOutcome, is_transient
from conversations.workers.leased import LeasedWorker

logger = logging.getLogger(__name__)

TIMERS = "timers"
INTERVAL_SECONDS = 5.0
# Where the first run starts: the indexer may have set timers before this process existed.
FIRST_LOOKS_BACK = timedelta(hours=1)
# Clocks of machines differ, and so may the one that looked before this one: once a minute, it looks so far back again.
CLOCKS_DIFFER, FAR_BACK_EVERY = timedelta(minutes=10), timedelta(minutes=1)
# Minutes to process in one round, after a longer pause.
MINUTES_AT_ONCE = 120


def process_conversation(key: Raw) -> WorkCounts:
    """Judge a conversation's current state, do what is due, and set the next timer. Safe to repeat.

    Raises the store's errors.
    """
    done: WorkCounts = Counter()
    stored = read_raw(key, READ)
    if stored is None:
        return done
    now, levels = clock.now(), levels_in(stored)
    stored = see_lock(stored, now)
    # A full item cannot be repaired.
    with suppress(ItemFull):
        stored = end_dead_lock(stored, levels, now)
        if (tended := repair_item(stored)) is not None:
            stored, done[WorkOutcome.REPAIRED] = tended[0], 1
    done[WorkOutcome.OVERDUE] += (is_news := note_missed(stored, levels, now))
    if answer_in(stored, levels).is_missed(now):
        # The item does not change here, and the process that recorded it may have died before this.
        insight.note_seen(stored, again=is_news)
    # The indexer notifies about everything else, as that changes the item.
    announce(each for each in notifications_of(stored, levels, now) if each.type is NotificationType.OVERDUE)
    done[WorkOutcome.RETURNED] += release_if_silent(stored, levels, now)
    # Also after a release: its answer is still due, and what was due before is not planned again.
    plan_next(stored, now)
    return +done


class Timers(LeasedWorker):
    """Processes due timers, one process at a time. `counts` are the totals of its work."""

    name, title = TIMERS, "The timers"

    def __init__(self, **options: Any) -> None:
        """Take the options of `LeasedWorker`."""
        super().__init__(**{"interval": INTERVAL_SECONDS} | options)
        self._until: datetime | None = None
        self._looked_far_at: datetime | None = None
        self._are_partitions_filled = False

    def _find_place(self) -> None:
        now = self._now()
        noted = clock.parse_instant(self.lease.state.get("looked_until"))
        self._until = max(noted or now - FIRST_LOOKS_BACK, now - KEPT)
        self._say("Checking conversations that are due.")

    def _work(self) -> WorkCounts:
        done: WorkCounts = Counter()
        now = self._now()
        for minute in self._minutes(now):
            for timer in due_timers(minute, now):
                done += self._ring(timer)
            self._until = min(minute + timedelta(minutes=1), now)
        self._tend_partitions(now)
        self.counts += done
        return done

    def _tend_partitions(self, now: datetime) -> None:
        """Refresh the rows of the queue's partitions that are due; once after an upgrade, those of all companies."""
        if not self._are_partitions_filled and not are_partitions_filled():
            fill_partitions(partitions_of_companies())
        self._are_partitions_filled = self._are_partitions_filled or are_partitions_filled()
        refresh_due(now)

    def _minutes(self, now: datetime) -> Iterable[datetime]:
        """Return the minutes to process: those that have passed since, and the last ones again for late writers."""
        back = GRACE
        if self._looked_far_at is None or abs(now - self._looked_far_at) >= FAR_BACK_EVERY:
            back, self._looked_far_at = CLOCKS_DIFFER, now
        begin = min(self._until or now, now).replace(second=0, microsecond=0) - back
        count = int((now - begin).total_seconds() // 60) + 1
        return [begin + timedelta(minutes=number) for number in range(min(count, MINUTES_AT_ONCE))]

    def _ring(self, timer: Timer) -> WorkCounts:
        key = {name: timer.raw[name] for name in ("primary_channel", "conversation_id")}
        try:
            done = process_conversation(key)
        except Exception as error:
            if is_transient(error):
                raise
            # One bad conversation must not block the others. No message: it may quote a key.
            logger.warning("A conversation could not be looked at again: %s", type(error).__name__)
            done = Counter({WorkOutcome.FAILED: 1})
        timer.delete()
        return done

    def _is_busy(self, done: WorkCounts) -> bool:
        return self._until is not None and self._now() - self._until > GRACE

    def _details(self) -> dict[str, Any]:
        return {"looked_until": self._until, "mode": TIMERS}
