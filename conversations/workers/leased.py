"""Base of workers that run one at a time under a lease: rounds, heartbeats, and pauses after failures.

A second process stands by and takes over when the lease runs out. Each worker ends when `wait` returns true, and gives
the lease back.
"""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from console import clock, instrumentation
from console.errors import ConsoleError, TableMissing, describe_error
from console.telemetry import traces
from conversations.workers.counts import WorkCounts, WorkOutcome, is_transient
from conversations.workers.lease import Lease, clock_ahead
from conversations.workers.streams.following import StreamFollower
from conversations.workers.streams.shards import stream_of_table

logger = logging.getLogger(__name__)

BEAT_EVERY = timedelta(seconds=5)
# Streams can be switched on and off; a disabled one can still be read to its end, but gets no new records.
LOOK_FOR_STREAM = timedelta(minutes=1)
STAND_BY_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 30.0
# A stream has no visible end: `--once` ends after this many rounds without records.
QUIET_ROUNDS = 3
# Consecutive errors after which `--once` gives up, a minute and a half after the first: a timer runs it again.
MOST_ERRORS = 7
# Consecutive errors after which a walk over a whole table gives up: a new run would start from the beginning.
MOST_TRIES_AGAIN = 5

T = TypeVar("T")


def pause_after(failures: int, seconds: float = 1.0) -> float:
    """Return the seconds to wait after consecutive failures: doubled each time, up to half a minute."""
    return min(LONGEST_PAUSE_SECONDS, seconds * 2.0 ** min(failures, 10))


def retry_while_unavailable(work: Callable[[], T], wait: Callable[[float], object] | None = None) -> T:
    """Return the result of `work`, retried with pauses (half a minute in all) while the store is unavailable.

    `wait` pauses for a number of seconds and may return true to stop. Raises the store's errors: the last attempt's, or
    one that no retry can fix.
    """
    errors = 0
    while True:
        try:
            return work()
        except ConsoleError as error:
            errors += 1
            if not is_transient(error) or errors > MOST_TRIES_AGAIN or (wait or time.sleep)(pause_after(errors, 0.5)):
                raise


class LeasedWorker(ABC):
    """A worker under the lease `name`. `wait` pauses for some seconds and returns whether to end; `say` shows progress.

    Subclasses find where to continue (`_find_place`) and do the work of a round (`_work`); both raise the store's
    errors.
    """

    name = ""
    # Its name in the log.
    title = ""
    # The table whose stream it follows, "" for none.
    table_key = ""

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
        self.lease = Lease(owner, now, self.name)
        self.mode = ""
        self._wait = wait or threading.Event().wait
        self._now, self._say = now, say
        self._following: StreamFollower | None = None
        self._beat_at: datetime | None = None
        self._arn, self._looked_at = "", now()
        self._errors = self._quiet = 0
        self._error: ConsoleError | None = None
        self._is_scheduled = False

    @property
    def is_failing(self) -> bool:
        """Whether the last round failed."""
        return self._errors > 0

    def run(self, *, once: bool = False) -> None:
        """Work until `wait` says to end; with `once`, for scheduled runs, until everything available is handled.

        Raises the store's errors only with `once`, after `MOST_ERRORS` in a row.
        """
        self._is_scheduled, self._quiet = once, 0
        try:
            while True:
                pause = self.cycle()
                if once and self._error is not None and self._errors >= MOST_ERRORS:
                    raise self._error
                if once and not self._errors:
                    if self.lease.is_alive:
                        self._say("Another worker is doing it.")
                    if self.lease.is_alive or self._quiet >= QUIET_ROUNDS:
                        break
                    pause = 0.0 if self._quiet else pause
                if self._wait(pause):
                    break
        finally:
            self._give_back()

    def cycle(self) -> float:
        """Run one round. Return the seconds to wait before the next: 0 while there is more to do."""
        try:
            if not self.lease.is_held and not self._begin():
                return STAND_BY_SECONDS
            with traces.span(f"work {instrumentation.current_part()}"):
                done = self._work()
                self._beat()
        except ConsoleError as error:
            self._errors, self._error = self._errors + 1, error
            self.counts[WorkOutcome.FAILED] += 1
            logger.warning("%s could not go on: %s", self.title, describe_error(error))
            instrumentation.count_worker_failure()
            if isinstance(error, TableMissing):
                # The stream or the table was replaced: look it up again.
                self._begin_anew()
            return self._pause()
        if self._following is not None and self._following.is_stuck:
            self._errors += 1
            return self._pause()
        self._errors, self._error = 0, None
        self._quiet = self._quiet + 1 if self._is_through(done) else 0
        return 0.0 if self._is_busy(done) else self.interval

    @abstractmethod
    def _find_place(self) -> None:
        """Find where to continue, just after taking the lease."""

    @abstractmethod
    def _work(self) -> WorkCounts:
        """Do the work of one round."""

    def _is_busy(self, done: WorkCounts) -> bool:
        return bool(done)

    def _is_through(self, done: WorkCounts) -> bool:
        """Return whether there is nothing left to do for now."""
        return not self._is_busy(done)

    def _details(self) -> dict[str, Any]:
        """Return what a heartbeat contains in addition to its time."""
        return {}

    def _pause(self) -> float:
        return pause_after(self._errors, self.interval)

    def _begin(self) -> bool:
        """Take the lease and find where to continue; return False while another worker owns it."""
        if not self.lease.take():
            return False
        try:
            self._beat_at = None
            self._find_place()
        except ConsoleError:
            # Otherwise the worker would continue from a half-initialised state for as long as it owns the lease.
            self._begin_anew()
            raise
        return True

    def _find_stream(self) -> str:
        """Return the ARN of the stream to follow, "" for none."""
        self._looked_at = self._now()
        self._arn = stream_of_table(self.table_key)
        return self._arn

    def _is_another_stream(self) -> bool:
        """Return whether the stream was replaced, checked once a minute; if so, start over."""
        if self._now() - self._looked_at < LOOK_FOR_STREAM:
            return False
        before = self._arn
        if self._find_stream() == before:
            return False
        self._begin_anew()
        return True

    def _begin_anew(self) -> None:
        """Make the next round take the lease again and find where to continue."""
        self._following, self.mode = None, ""
        self.lease.epoch = 0

    def _beat(self) -> None:
        now = self._now()
        if not self.lease.is_held or (self._beat_at is not None and now - self._beat_at < BEAT_EVERY):
            return
        self.lease.renew(
            beat_at=now, scheduled=self._is_scheduled or None, clock_ahead=clock_ahead() or None, **self._details()
        )
        self._beat_at = now

    def _give_back(self) -> None:
        try:
            self.lease.give_back()
        except ConsoleError as error:
            logger.warning("The lease could not be given back, it runs out by itself: %s", type(error).__name__)
