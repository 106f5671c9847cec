"""The indexer's worker: follows the stream under the lease, sweeps when a sweep is owed, and writes heartbeats.

Without a stream on the table it sweeps repeatedly. A second worker stands by and takes over when the lease runs out. A
worker ends when `wait` returns true, and gives the lease back.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.store.presence import table_ready
from conversations.indexer.handling import handle
from conversations.indexer.sweep import Sweep
from conversations.queue_index.refreshing import TouchedPartitions
from conversations.workers.counts import WorkCounts, WorkOutcome, format_counts
from conversations.workers.lease import INDEXER, STREAM, SWEEP
from conversations.workers.leased import LeasedWorker
from conversations.workers.streams.following import StreamFollower
from conversations.workers.streams.records import StreamChange

# Without a stream: how long a request may go unnoticed.
SWEEP_EVERY = timedelta(minutes=1)
# Pause before repeating a sweep that failed in part, or that skipped records require: a sweep reads everything.
SWEEP_AGAIN = timedelta(minutes=10)


class Worker(LeasedWorker):
    """The indexer. `counts` are the totals of its work."""

    name, title, table_key = INDEXER, "The indexer", "CONVERSATIONS"

    def __init__(self, **options: Any) -> None:
        """Take the options of `LeasedWorker`."""
        super().__init__(**options)
        self._sweep: Sweep | None = None
        self._sweep_owed = self._facts_owed = self._sweep_failed = self._is_indexed = False
        self._swept_at: datetime | None = None
        self._touched = TouchedPartitions()

    @property
    def is_failing(self) -> bool:
        """Whether the last round failed, the last sweep was incomplete, or another one is owed."""
        return super().is_failing or self._sweep_failed or self._sweep_owed

    @property
    def _owes_any(self) -> bool:
        return self._sweep_owed or self._facts_owed

    def _find_place(self) -> None:
        self._swept_at = clock.parse_instant(self.lease.state.get("last_sweep_at"))
        arn = self._find_stream()
        self.mode = STREAM if arn else SWEEP
        self._following = (
            StreamFollower(arn, self.lease, self._now, self._handle, settle=self._touched.refresh) if arn else None
        )
        self._sweep = None
        missed = self._following is not None and self._following.owes_sweep
        self._is_indexed = self.lease.state.get("backfilled_at") is not None and not missed
        self._sweep_owed = not self._is_indexed or self.lease.state.get("sweep_owed") is True
        if missed:
            # Pages rely on the index again once the sweep is complete.
            self.lease.renew(backfilled_at=None, sweep_owed=True)
        if self._sweep_owed or self._following is None:
            self._start_sweep()
        self._say(f"Indexing by {self.mode}" + (", with a sweep of the whole table first." if self._sweep else "."))

    def _work(self) -> WorkCounts:
        done: WorkCounts = Counter()
        if self._is_another_stream():
            return done
        if self._sweep is None and self._is_sweep_due():
            self._start_sweep()
        if self._sweep is not None:
            done += self._sweep.step()
            if self._sweep.is_over:
                self._end_sweep(self._sweep)
        if self._following is not None and self.lease.is_held:
            done += self._following.step()
            self._sweep_owed = self._sweep_owed or self._following.owes_sweep
        self.counts += done
        return done

    def _handle(self, change: StreamChange) -> WorkCounts:
        self._touched.note(change)
        return handle(change)

    def _is_sweep_due(self) -> bool:
        if self._facts_owed:
            return True
        if self._following is not None and not self._sweep_owed:
            return False
        every = SWEEP_AGAIN if self._following is not None else SWEEP_EVERY
        return self._swept_at is None or self._now() - self._swept_at >= every

    def _start_sweep(self) -> None:
        # The queue comes first: pages rely on the index once a sweep is complete; the next sweep updates the facts.
        self._sweep = Sweep(keeps_facts=self._is_indexed or not table_ready("INSIGHT"))
        if self._following is not None:
            # The sweep may already have read an item whose record is missed from here on: that requires another sweep.
            self._following.owes_sweep = False

    def _end_sweep(self, sweep: Sweep) -> None:
        now = self._now()
        self._sweep_failed = not sweep.is_complete
        self._facts_owed = sweep.is_complete and not sweep.keeps_facts
        self._sweep_owed = self._sweep_failed or (self._following is not None and self._following.owes_sweep)
        self._sweep, self._swept_at = None, now
        details = {"last_sweep_at": now, "sweep_owed": self._owes_any}
        if sweep.is_complete:
            details["backfilled_at"], self._is_indexed = now, True
        self.lease.renew(**details)
        self._say(f"Swept the table: {format_counts(sweep.counts)}.")

    def _is_busy(self, done: WorkCounts) -> bool:
        return bool(done) or self._sweep is not None

    def _details(self) -> dict[str, Any]:
        counts = {each.value: self.counts[each] for each in WorkOutcome}
        lag = self._following.lag_seconds if self._following is not None else None
        return {"lag": lag, "mode": self.mode, "counts": counts, "sweep_owed": self._owes_any}
