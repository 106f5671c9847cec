"""Base of workers on an SQS queue, of which several may run: rounds, heartbeats, and pauses after failures."""

import logging
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from console import clock, instrumentation
from console.errors import ConsoleError, describe_error
from console.store import queues
from console.store.queues import QueueMessage
from console.telemetry import traces
from conversations.workers.lease import write_heartbeat
from conversations.workers.leased import BEAT_EVERY, LONGEST_PAUSE_SECONDS, MOST_ERRORS, pause_after

# Of up to ten messages each.
BATCHES = 5


class QueueWorker(ABC):
    """A worker on a queue. `wait` pauses for some seconds and returns whether to end; `counts` are of what it did.

    Subclasses do the work of a round (`_work`), which raises the store's errors.
    """

    # Of its heartbeat, and in the log.
    name = title = ""
    # The setting with the queue's URL, and how long a round waits for the first message.
    setting = ""
    longest_wait_seconds = queues.LONGEST_WAIT_SECONDS
    # Whether there is work without the queue too, which goes on while that is away; the longest pause after failures.
    works_without_queue = False
    longest_pause_seconds = LONGEST_PAUSE_SECONDS

    def __init__(self, *, wait: Callable[[float], bool] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._wait = wait or threading.Event().wait
        self._beat_at: datetime | None = None
        self._errors = 0
        self._is_scheduled = False
        self._logger = logging.getLogger(type(self).__module__)

    @property
    def is_failing(self) -> bool:
        """Whether the last round failed."""
        return self._errors > 0

    def run(self, *, once: bool = False) -> None:
        """Work until `wait` says to end; with `once`, for scheduled runs, until there is nothing more to do now.

        Raises the store's errors only with `once`, after `MOST_ERRORS` in a row.
        """
        self._is_scheduled = once
        while True:
            done, pause = 0, 0.0
            try:
                done = self.step(wait=0 if once else self.longest_wait_seconds)
                self._errors = 0
            except ConsoleError as error:
                self._errors += 1
                if once and self._errors >= MOST_ERRORS:
                    raise
                pause = min(self.longest_pause_seconds, pause_after(self._errors))
                self._logger.warning("%s could not go on: %s", self.title, describe_error(error))
                instrumentation.count_worker_failure()
            if (once and not done and not self._errors) or self._wait(pause):
                break

    def step(self, *, wait: int) -> int:
        """Handle what the queue delivers within `wait` seconds; return how much was done. Raises the store's errors."""
        brought: Sequence[QueueMessage] = ()
        away: ConsoleError | None = None
        try:
            brought = queues.receive(getattr(settings, self.setting), wait=wait, batches=BATCHES)
        except ConsoleError as error:
            if not self.works_without_queue:
                raise
            away = error
        with traces.span(f"work {instrumentation.current_part()}"):
            done = self._work(brought)
            self._beat(brought)
        if away is not None:
            raise away
        return done

    @abstractmethod
    def _work(self, brought: Sequence[QueueMessage]) -> int:
        """Do the work of one round; return how much was done."""

    def _details(self, brought: Sequence[QueueMessage], now: datetime) -> dict[str, Any]:
        """Return what a heartbeat contains in addition to its time."""
        return {}

    def _beat(self, brought: Sequence[QueueMessage]) -> None:
        """Write a heartbeat, at most every few seconds. A failure is only logged."""
        now = clock.now()
        if self._beat_at is not None and now - self._beat_at < BEAT_EVERY:
            return
        details = self._details(brought, now)
        try:
            write_heartbeat(self.name, beat_at=now, mode="queue", scheduled=self._is_scheduled, **details)
        except ConsoleError as error:
            self._logger.warning("The heartbeat could not be written: %s", type(error).__name__)
        self._beat_at = now
