"""Work that one process at a time does, under a lease: round after round, heartbeats, and pauses after failures.

A second process stands by and takes over when the lease runs out. Each ends when `wait` says so, and gives the lease
back.
"""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from console import clock
from console.errors import ConsoleError, TableMissing
from console.telemetry import instrumentation, traces
from conversations.indexer.handling import Did, WorkCounts, is_passing
from conversations.indexer.lease import Lease
from conversations.indexer.streams.following import Following
from conversations.indexer.streams.shards import stream_of_table

logger = logging.getLogger(__name__)

BEAT_EVERY = timedelta(seconds=5)
# Streams are switched on and off; one that is off can be read to its end, and tells nothing new.
LOOK_FOR_STREAM = timedelta(minutes=1)
STAND_BY_SECONDS = 5.0
LONGEST_PAUSE_SECONDS = 30.0
# A stream has no end that it tells: `--once` ends after so many rounds without news.
QUIET_ROUNDS = 3
# Errors in a row after which `--once` gives up, a minute and a half after the first: a timer runs it again.
MOST_ERRORS = 7
# Errors in a row after which what walks over a whole table once gives up: it would begin anew.
MOST_TRIES_AGAIN = 5

T = TypeVar("T")


def pause_after(failures: int, seconds: float = 1.0) -> float:
    """How many seconds to wait after so many failures in a row: twice as long each time, up to half a minute."""
    return min(LONGEST_PAUSE_SECONDS, seconds * 2.0 ** min(failures, 10))


def tried_again(work: Callable[[], T], wait: Callable[[float], object] | None = None) -> T:
    """What `work` returns, tried again after pauses, half a minute in all, while the store gives no answer.

    `wait` pauses for so many seconds and may say that it is to end. Raises the store's errors: of the last try, or what
    no further one can mend.
    """
    errors = 0
    while True:
        try:
            return work()
        except ConsoleError as error:
            errors += 1
            if not is_passing(error) or errors > MOST_TRIES_AGAIN or (wait or time.sleep)(pause_after(errors, 0.5)):
                raise


class LeasedWorker(ABC):
    """`name` is the lease's; `wait` pauses for so many seconds and says whether to end; `say` gets a line to tell.

    Subclasses say where to go on (`_find_place`) and what a round does (`_work`); both raise the store's errors.
    """

    name = ""
    # What the log calls it.
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
        self._following: Following | None = None
        self._beat_at: datetime | None = None
        self._arn, self._looked_at = "", now()
        self._errors = self._quiet = 0
        self._error: ConsoleError | None = None
        self._is_scheduled = False

    @property
    def is_failing(self) -> bool:
        """Whether the last round could not do its work."""
        return self._errors > 0

    def run(self, *, once: bool = False) -> None:
        """Work until `wait` says to end; `once`, for who is run by a schedule: until all that is there was handled.

        Raises the store's errors only if `once`, after `MOST_ERRORS` in a row.
        """
        self._is_scheduled, self._quiet = once, 0
        try:
            while True:
                pause = self.cycle()
                if once and self._error is not None and self._errors >= MOST_ERRORS:
                    raise self._error
                if once and not self._errors:
                    if not self.lease.is_held:
                        self._say("Another worker is at it.")
                    if not self.lease.is_held or self._quiet >= QUIET_ROUNDS:
                        break
                    pause = 0.0 if self._quiet else pause
                if self._wait(pause):
                    break
        finally:
            self._give_back()

    def cycle(self) -> float:
        """One round. Returns how many seconds to wait before the next: none while there is more to do."""
        try:
            if not self.lease.is_held and not self._begin():
                return STAND_BY_SECONDS
            with traces.span(f"work {instrumentation.current_part()}"):
                done = self._work()
                self._beat()
        except ConsoleError as error:
            self._errors, self._error = self._errors + 1, error
            self.counts[Did.FAILED] += 1
            logger.warning("%s could not go on: %s", self.title, type(error).__name__)
            instrumentation.count_worker_failure()
            if isinstance(error, TableMissing):
                # The stream or the table is another one: look again.
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
        """Find out where to go on, with the lease just taken."""

    @abstractmethod
    def _work(self) -> WorkCounts:
        """One round's work."""

    def _is_busy(self, done: WorkCounts) -> bool:
        return bool(done)

    def _is_through(self, done: WorkCounts) -> bool:
        """Whether nothing is left to do for now."""
        return not self._is_busy(done)

    def _details(self) -> dict[str, Any]:
        """What a heartbeat tells beside its time."""
        return {}

    def _pause(self) -> float:
        return pause_after(self._errors, self.interval)

    def _begin(self) -> bool:
        """Take the lease, and find out where to go on; False while another worker has it."""
        if not self.lease.take():
            return False
        try:
            self._beat_at = None
            self._find_place()
        except ConsoleError:
            # Half of a beginning would be gone on from for as long as the lease is held.
            self._begin_anew()
            raise
        return True

    def _find_stream(self) -> str:
        """ARN of the stream to be followed, "" for none."""
        self._looked_at = self._now()
        self._arn = stream_of_table(self.table_key)
        return self._arn

    def _is_another_stream(self) -> bool:
        """Whether the stream is another one by now, looked at once a minute: then the worker begins anew."""
        if self._now() - self._looked_at < LOOK_FOR_STREAM:
            return False
        before = self._arn
        if self._find_stream() == before:
            return False
        self._begin_anew()
        return True

    def _begin_anew(self) -> None:
        """The next round takes the lease again, and looks where to go on."""
        self._following, self.mode = None, ""
        self.lease.epoch = 0

    def _beat(self) -> None:
        now = self._now()
        if not self.lease.is_held or (self._beat_at is not None and now - self._beat_at < BEAT_EVERY):
            return
        self.lease.renew(beat_at=now, scheduled=self._is_scheduled or None, **self._details())
        self._beat_at = now

    def _give_back(self) -> None:
        try:
            self.lease.give_back()
        except ConsoleError as error:
            logger.warning("The lease could not be given back, it runs out by itself: %s", type(error).__name__)
