"""The notifier: delivers due notifications to their destinations, one process at a time, and retries failures.

A destination gets each notification at least once, with the same id each time. A slow destination does not delay
others: destinations are reached in parallel, each for a limited time, and after a failure the rest of its notifications
wait.
"""

import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from console import clock, instrumentation
from console.errors import Conflict
from conversations.notifications import amazon, webhooks
from conversations.notifications.addresses import DestinationKind, address_problem
from conversations.notifications.deliveries import (
    DELIVERED,
    FAILED,
    NotDelivered,
    NotificationDelivery,
    due_deliveries,
    give_up,
    note_attempt,
    note_delivered,
    put_off,
)
from conversations.notifications.destinations import Destination, find, switch_off
from conversations.notifications.notification import NotificationType
from conversations.workers.counts import WorkCounts
from conversations.workers.leased import LeasedWorker

logger = logging.getLogger(__name__)

NOTIFICATIONS = "notifications"
# Pause after each failed attempt; after the last one, the delivery is given up.
PAUSES = (
    *(timedelta(seconds=5), timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30)),
    *(timedelta(hours=2), timedelta(hours=5), timedelta(hours=10)),
)
# Index of the longest pause for the other notifications of a failing destination: it may be back soon.
LONGEST_SILENCE = 2
# Deliveries per round, and destinations that are reached in parallel.
AT_ONCE, DESTINATIONS_AT_ONCE = 200, 16
# Limits of one attempt, and of the time after which a round begins no further attempt: their sum is less than a lease.
LONGEST_ANSWER_SECONDS, ROUND_SECONDS = 15.0, 5.0
_OFF = "The destination is switched off."
_SLOW = "It took too long to answer."
# Each takes a destination and its deliveries, and returns once they are accepted. Every failure is raised as
# `NotDelivered`, in words for the people who manage the destination: never with a body, nor more of an address than its
# host.
_SENDERS: dict[DestinationKind, Callable[[Destination, Sequence[NotificationDelivery]], None]] = {
    DestinationKind.WEBHOOK: webhooks.send_webhook,
    DestinationKind.SNS: amazon.send_to_topic,
    DestinationKind.EMAIL: amazon.send_email,
}


class Notifier(LeasedWorker):
    """The notifier. `counts` are the numbers of delivered, tried and failed notifications."""

    name, title = NOTIFICATIONS, "The notifier"

    def __init__(self, **options: Any) -> None:
        """Take the options of `LeasedWorker`."""
        super().__init__(**options)
        # By destination: threads of timed-out requests that still run, and the number of consecutive failures.
        self._unanswered: dict[str, threading.Thread] = {}
        self._failures: Counter[str] = Counter()

    def _find_place(self) -> None:
        self._say("Delivering notifications.")

    def _work(self) -> WorkCounts:
        end = time.monotonic() + ROUND_SECONDS
        by_destination: dict[tuple[str, str], list[NotificationDelivery]] = {}
        for each in due_deliveries(clock.now(), AT_ONCE):
            by_destination.setdefault((each.company_id, each.destination_id), []).append(each)
        done: WorkCounts = Counter()
        if by_destination:
            # A pool of its own, so that a slow receiver does not delay reads.
            part = (instrumentation.current_part(),)
            with ThreadPoolExecutor(DESTINATIONS_AT_ONCE, "notifier", instrumentation.enter_part, part) as pool:
                for counts in pool.map(partial(self._bring_all, end), by_destination.values()):
                    done += counts
        self.counts += done
        for outcome, count in done.items():
            instrumentation.NOTIFICATIONS.labels(outcome).inc(count)
        return done

    def _bring_all(self, end: float, deliveries: Sequence[NotificationDelivery]) -> WorkCounts:
        """Deliver what is due for one destination, with no new attempt after `end` (monotonic)."""
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
                # Behind the other due deliveries: a slow destination must not take their turn.
                _put_off(batches[number:], clock.now() + PAUSES[0])
                break
            try:
                self._send(destination, batch)
            except NotDelivered as error:
                done += self._note_failure(destination, batch, error)
                # The destination failed: do not try its other notifications now.
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
            # A concurrent change of the destination takes precedence.
            with suppress(Conflict):
                switch_off(destination)
        done: WorkCounts = Counter()
        for each in batch:
            if error.is_gone or each.attempts >= len(PAUSES) or each.type == NotificationType.TEST:
                # Attempts that will be repeated are shown on the destination's page only.
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

        No library limits the total time of a request: name resolution, handshake or headers may take forever. A request
        that times out is abandoned, and its destination is skipped until the request ends.
        """
        unanswered = self._unanswered.get(destination.id)
        if unanswered is not None and unanswered.is_alive():
            raise NotDelivered(_SLOW)
        outcome: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def attempt() -> None:
            try:
                send(destination, batch)
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
            # One bad notification must not block the others. No message: it may quote an address.
            logger.warning("A notification could not be sent: %s", type(error).__name__)
            raise NotDelivered("It could not be sent.")


def send(destination: Destination, deliveries: Sequence[NotificationDelivery]) -> None:
    """Send deliveries to a destination; only an email takes several. Raises `NotDelivered`."""
    kind = destination.values.kind
    # The allowed addresses may have changed since this one was entered.
    if address_problem(kind, destination.values.address):
        raise NotDelivered("Its address is not allowed here any more.")
    _SENDERS[kind](destination, deliveries)


def _put_off(batches: Sequence[Sequence[NotificationDelivery]], until: datetime) -> None:
    for batch in batches:
        for each in batch:
            put_off(each, until)
