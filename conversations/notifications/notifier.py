"""The notifier brings notifications that are due to their destinations: one process at a time, again after failures.

A destination gets each notification at least once, with the same id each time. One that does not answer holds up nobody
else: destinations are reached beside each other, each for a bounded time, and after a failure the rest of its
notifications wait.
"""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from console import clock
from console.errors import Conflict
from console.telemetry import instrumentation
from conversations.indexer.handling import WorkCounts
from conversations.indexer.leased import LeasedWorker
from conversations.notifications import senders
from conversations.notifications.deliveries import (
    DELIVERED,
    FAILED,
    NotificationDelivery,
    due_deliveries,
    give_up,
    note_attempt,
    note_delivered,
    put_off,
)
from conversations.notifications.destinations import Destination, DestinationKind, find, switch_off
from conversations.notifications.notification import NotificationType
from conversations.notifications.senders import NotDelivered

logger = logging.getLogger(__name__)

NOTIFICATIONS = "notifications"
# How long after each failed attempt comes the next one; after the last there is none.
PAUSES = (
    *(timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30)),
    *(timedelta(hours=2), timedelta(hours=5), timedelta(hours=10)),
)
# Which of them is the longest for which a destination is left alone that does not answer: it may be back.
LONGEST_SILENCE = 2
# Deliveries of one round, and destinations that are reached beside each other.
AT_ONCE, DESTINATIONS_AT_ONCE = 200, 16
# A destination has so many seconds for an answer, whatever it does. After so many others, a round begins nothing more:
# both together are less than a lease.
LONGEST_ANSWER_SECONDS, ROUND_SECONDS = 15.0, 5.0
_OFF = "The destination is switched off."
_SLOW = "It took too long to answer."


class Notifier(LeasedWorker):
    """`counts` is what was done: delivered, tried and failed."""

    name, title = NOTIFICATIONS, "The notifier"

    def __init__(self, **options: Any) -> None:
        """Take the options of `LeasedWorker`."""
        super().__init__(**options)
        # Requests that were given up and still run, and failures in a row, by destination.
        self._unanswered: dict[str, threading.Thread] = {}
        self._failures: Counter[str] = Counter()

    def _find_place(self) -> None:
        self._say("Bringing notifications.")

    def _work(self) -> WorkCounts:
        end = time.monotonic() + ROUND_SECONDS
        by_destination: dict[tuple[str, str], list[NotificationDelivery]] = {}
        for each in due_deliveries(clock.now(), AT_ONCE):
            by_destination.setdefault((each.company_id, each.destination_id), []).append(each)
        done: WorkCounts = Counter()
        if by_destination:
            # A pool of its own: a slow receiver must hold up nobody who reads.
            part = (instrumentation.current_part(),)
            with ThreadPoolExecutor(DESTINATIONS_AT_ONCE, "notifier", instrumentation.enter_part, part) as pool:
                for counts in pool.map(partial(self._bring_all, end), by_destination.values()):
                    done += counts
        self.counts += done
        for outcome, count in done.items():
            instrumentation.NOTIFICATIONS.labels(outcome).inc(count)
        return done

    def _bring_all(self, end: float, deliveries: Sequence[NotificationDelivery]) -> WorkCounts:
        """Bring what is due for one destination, as far as it takes it until `end` (monotonic)."""
        first = deliveries[0]
        destination = find(first.company_id, first.destination_id)
        if destination is None:
            for each in deliveries:
                give_up(each, "The destination was deleted.", tried=False)
            return Counter({FAILED: len(deliveries)})
        done: WorkCounts = Counter()
        tests = [each for each in deliveries if each.type == NotificationType.TEST]
        if not destination.values.is_on:
            for each in deliveries:
                if each not in tests:
                    give_up(each, _OFF, tried=False)
                    done[FAILED] += 1
            deliveries = tests
        together = destination.values.kind is DestinationKind.EMAIL
        batches = [deliveries] if together and deliveries else [[each] for each in deliveries]
        return done + self._bring(destination, batches, end)

    def _bring(
        self, destination: Destination, batches: Sequence[Sequence[NotificationDelivery]], end: float
    ) -> WorkCounts:
        done: WorkCounts = Counter()
        for number, batch in enumerate(batches):
            if time.monotonic() > end:
                # Behind what else is due: one that is slow takes no turn of others.
                _put_off(batches[number:], clock.now() + PAUSES[0])
                break
            try:
                self._send(destination, batch)
            except NotDelivered as error:
                done += self._note_failure(destination, batch, error)
                # What does not take one takes no other now.
                _put_off(
                    batches[number + 1 :],
                    clock.now() + PAUSES[min(self._failures[destination.id], LONGEST_SILENCE)],
                )
                self._failures[destination.id] += 1
                break
            del self._failures[destination.id]
            for each in batch:
                note_delivered(each)
                done[DELIVERED] += 1
        return done

    def _note_failure(
        self, destination: Destination, batch: Sequence[NotificationDelivery], error: NotDelivered
    ) -> WorkCounts:
        if error.is_gone:
            # Somebody who changes it at this moment comes first.
            with suppress(Conflict):
                switch_off(destination)
        done: WorkCounts = Counter()
        for each in batch:
            if error.is_gone or each.attempts >= len(PAUSES) or each.type == NotificationType.TEST:
                # Attempts that will be repeated stand on the destination's page alone.
                logger.warning("A notification was not delivered: %s", error)
                give_up(each, str(error), tried=True)
                done[FAILED] += 1
            else:
                pause = max(PAUSES[int(each.attempts)], timedelta(seconds=error.again_after))
                note_attempt(each, str(error), clock.now() + pause)
                done["tried"] += 1
        return done

    def _send(self, destination: Destination, batch: Sequence[NotificationDelivery]) -> None:
        """Send within `LONGEST_ANSWER_SECONDS`. Raises `NotDelivered`.

        No library bounds all of a request: its name's servers, its handshake or its headers may drip for ever. Such a
        request is left alone, and its destination with it until it ends.
        """
        unanswered = self._unanswered.get(destination.id)
        if unanswered is not None and unanswered.is_alive():
            raise NotDelivered(_SLOW)
        outcome: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def attempt() -> None:
            try:
                senders.send(destination, batch)
            except BaseException as error:
                outcome.put(error)
            else:
                outcome.put(None)

        thread = threading.Thread(target=attempt, name="notification", daemon=True)
        thread.start()
        try:
            error = outcome.get(timeout=LONGEST_ANSWER_SECONDS)
        except queue.Empty:
            self._unanswered[destination.id] = thread
            raise NotDelivered(_SLOW) from None
        if isinstance(error, NotDelivered):
            raise error
        if error is not None:
            # Whatever is wrong with one must not keep the others. No message: it may quote an address.
            logger.warning("A notification could not be sent: %s", type(error).__name__)
            raise NotDelivered("It could not be sent.")


def _put_off(batches: Sequence[Sequence[NotificationDelivery]], until: datetime) -> None:
    for batch in batches:
        for each in batch:
            put_off(each, until)
