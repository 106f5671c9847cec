"""The worker: under the lease it follows the stream, sweeps where that is owed, and tells how it goes.

Without a stream on the table it sweeps again and again. A second worker stands by and takes over when the lease runs
out. It ends when `wait` says so, and gives the lease back.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from console import clock
from console.errors import ConsoleError, TableMissing
from conversations.indexer.handling import Did, WorkCounts
from conversations.indexer.lease import STREAM, SWEEP, Lease
from conversations.indexer.streams.following import Following
from conversations.indexer.streams.shards import stream_of_table
from conversations.indexer.sweep import Sweep

logger = logging.getLogger(__name__)

BEAT_EVERY = timedelta(seconds=5)
# Without a stream: how long a request may go unnoticed.
SWEEP_EVERY = timedelta(minutes=1)
# A sweep that failed in part, or that records passed over ask for, is not begun again at once: it reads everything.
SWEEP_AGAIN = timedelta(minutes=10)
# Streams are switched on and off; one that is off can be read to its end, and tells nothing new.
LOOK_FOR_STREAM = timedelta(minutes=1)
STAND_BY_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 30.0
# A stream has no end that it tells: `--once` ends after so many rounds without news.
QUIET_ROUNDS = 3


class Worker:
    """`wait` pauses for so many seconds and says whether to end; `say` gets a line about what is worth telling."""

    def __init__(
        self,
        *,
        interval: float = 1.0,
        wait: Callable[[float], bool] | None = None,
        now: Callable[[], datetime] = clock.now,
        say: Callable[[str], object] = lambda _: None,
        owner: str = "",
    ) -> None:
        self.counts: WorkCounts = Counter()
        self.interval = interval
        self.lease = Lease(owner, now)
        self.mode = ""
        self._wait = wait or threading.Event().wait
        self._now, self._say = now, say
        self._following: Following | None = None
        self._sweep: Sweep | None = None
        self._sweep_owed = self._sweep_failed = False
        self._swept_at: datetime | None = None
        self._beat_at: datetime | None = None
        self._arn, self._looked_at = "", now()
        self._errors = self._quiet = 0

    @property
    def failed(self) -> bool:
        """Whether the last sweep could not do everything, or is still owed."""
        return self._sweep_failed or self._sweep_owed

    def run(self, *, once: bool = False) -> None:
        """Work until `wait` says to end; `once`: until all that is there has been handled."""
        try:
            while True:
                pause = self.cycle()
                if once and not self._errors:
                    if not self.lease.is_held:
                        self._say("Another worker is at it.")
                    if not self.lease.is_held or self._quiet >= QUIET_ROUNDS:
                        break
                    pause = 0.0
                if self._wait(pause):
                    break
        finally:
            self._give_back()

    def cycle(self) -> float:
        """One round. Returns how many seconds to wait before the next: none while there is more to do."""
        try:
            if not self.lease.is_held and not self._begin():
                return STAND_BY_SECONDS
            done = self._work()
            self._beat()
        except ConsoleError as error:
            self._errors += 1
            self.counts[Did.FAILED] += 1
            logger.warning("The indexer could not go on: %s", type(error).__name__)
            if isinstance(error, TableMissing):
                # The stream or the table is another one: look again.
                self._begin_anew()
            return self._pause()
        if self._following is not None and self._following.is_stuck:
            self._errors += 1
            return self._pause()
        self._errors = 0
        busy = bool(done) or self._sweep is not None
        self._quiet = 0 if busy else self._quiet + 1
        return 0.0 if busy else self.interval

    def _pause(self) -> float:
        return min(LONGEST_PAUSE_SECONDS, self.interval * 2.0 ** min(self._errors, 10))

    def _begin(self) -> bool:
        """Take the lease, and find out where to go on; False while another worker has it."""
        if not self.lease.take():
            return False
        try:
            self._find_place()
        except ConsoleError:
            # Half of a beginning would be gone on from for as long as the lease is held.
            self._begin_anew()
            raise
        return True

    def _find_place(self) -> None:
        self._swept_at = clock.parse_instant(self.lease.state.get("last_sweep_at"))
        self._arn = arn = stream_of_table()
        self._looked_at = self._now()
        self.mode = STREAM if arn else SWEEP
        self._following = Following(arn, self.lease, self._now) if arn else None
        self._sweep, self._beat_at = None, None
        never = self.lease.state.get("backfilled_at") is None
        missed = self._following is not None and self._following.owes_sweep
        self._sweep_owed = never or missed or self.lease.state.get("sweep_owed") is True
        if missed:
            # Pages rely on the index again when the sweep is over.
            self.lease.renew(backfilled_at=None, sweep_owed=True)
        if self._sweep_owed or self._following is None:
            self._start_sweep()
        self._say(f"Indexing by {self.mode}" + (", with a sweep of the whole table first." if self._sweep else "."))

    def _begin_anew(self) -> None:
        """The next round takes the lease again, and looks where to go on."""
        self._following, self.mode = None, ""
        self.lease.epoch = 0

    def _work(self) -> WorkCounts:
        done: WorkCounts = Counter()
        if self._now() - self._looked_at >= LOOK_FOR_STREAM:
            self._looked_at = self._now()
            if stream_of_table() != self._arn:
                self._begin_anew()
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

    def _is_sweep_due(self) -> bool:
        if self._following is not None and not self._sweep_owed:
            return False
        every = SWEEP_AGAIN if self._following is not None else SWEEP_EVERY
        return self._swept_at is None or self._now() - self._swept_at >= every

    def _start_sweep(self) -> None:
        self._sweep = Sweep()
        if self._following is not None:
            # What is missed from here on, the sweep may have read before: it asks for another one.
            self._following.owes_sweep = False

    def _end_sweep(self, sweep: Sweep) -> None:
        self._sweep, self._swept_at = None, self._now()
        self._sweep_failed = not sweep.is_complete
        self._sweep_owed = self._sweep_failed or (self._following is not None and self._following.owes_sweep)
        details = {"last_sweep_at": self._swept_at, "sweep_owed": self._sweep_owed}
        if sweep.is_complete:
            details["backfilled_at"] = self._swept_at
        self.lease.renew(**details)
        self._say(f"Swept the table: {format_counts(sweep.counts)}.")

    def _beat(self) -> None:
        now = self._now()
        if not self.lease.is_held or (self._beat_at is not None and now - self._beat_at < BEAT_EVERY):
            return
        counts = {each.value: self.counts[each] for each in Did}
        lag = self._following.lag_seconds if self._following is not None else None
        self.lease.renew(beat_at=now, lag=lag, mode=self.mode, counts=counts, sweep_owed=self._sweep_owed)
        self._beat_at = now

    def _give_back(self) -> None:
        try:
            self.lease.give_back()
        except ConsoleError as error:
            logger.warning("The lease could not be given back, it runs out by itself: %s", type(error).__name__)


def format_counts(counts: WorkCounts) -> str:
    """What was done, in a line: `412 read, 3 repaired, 2 requests recorded`."""
    words = {
        Did.READ: "read",
        Did.REPAIRED: "repaired",
        Did.REQUESTED: "requests recorded",
        Did.REASSERTED: "restored",
        Did.FAILED: "failed",
    }
    return ", ".join(f"{counts[each]:,} {word}" for each, word in words.items() if counts[each] or each is Did.READ)
