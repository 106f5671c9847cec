"""The background work as AWS Lambdas: a handler for each stream and queue that starts one, and one for schedules.

Each is named `conversations.work.lambdas.NAME`. The event source mappings of streams and queues need
`ReportBatchItemFailures`; the stream of the conversations has both images. A schedule also has to run the parts
receiver and sender: they finish what a Lambda that died left undone.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

from console.startup import start

# Time reserved at the end of a scheduled run to finish the current step and give back its lease.
MARGIN_SECONDS = 15.0

BatchFailures = dict[str, list[dict[str, str]]]


class WorkFailed(Exception):
    """Raised if the last try of scheduled work failed; the log says why."""


def handle_conversations_stream(event: Mapping[str, Any], context: object = None) -> BatchFailures:
    """Index an event's records, see `streams.events`; a record that can never be handled is left to the next sweep."""
    start()
    from conversations.indexer.handling import handle
    from conversations.queue_index.refreshing import TouchedPartitions
    from conversations.workers.counts import WorkCounts
    from conversations.workers.lease import INDEXER
    from conversations.workers.streams.events import handle_event
    from conversations.workers.streams.records import StreamChange

    touched = TouchedPartitions()

    def note_and_handle(change: StreamChange) -> WorkCounts:
        touched.note(change)
        return handle(change)

    return handle_event(event, INDEXER, note_and_handle, settle=touched.refresh)


def handle_stage_stream(event: Mapping[str, Any], context: object = None) -> BatchFailures:
    """Receive staged messages in order; report a failure that may pass, so that Lambda resends it and the rest."""
    start()
    from conversations.receiving.recording import STAGE
    from conversations.receiving.stage import keep, take_fragment
    from conversations.workers.streams.events import handle_event

    return handle_event(event, STAGE, take_fragment, keep)


@cache
def _holding() -> Any:
    """Return what this process notes about its messages."""
    from conversations.receiving.holding import Holding

    return Holding()


def handle_handoff_queue(event: Mapping[str, Any], context: object = None) -> BatchFailures:
    """Receive an event's messages; report the failed ones, so that SQS soon delivers them again."""
    start()
    from console.errors import ConsoleError
    from console.store.queues import delivery_of
    from conversations.receiving.recording import QUEUE
    from conversations.receiving.worker import bring_soon, handle_kept
    from conversations.workers.streams.events import note_beat

    deliveries = [delivery_of(record) for record in event.get("Records", ())]
    finished = set(handle_kept(deliveries, Counter(), _holding(), at_once=True))
    left = [each for each in deliveries if each not in finished]
    with suppress(ConsoleError):
        bring_soon(left)
    note_beat(QUEUE)
    return {"batchItemFailures": [{"itemIdentifier": each.name} for each in left]}


def handle_outbox(event: Mapping[str, Any], context: object = None) -> BatchFailures:
    """Send an event's replies; report those that may not leave yet, so that SQS delivers them again."""
    start()
    from django.conf import settings

    from console import clock
    from console.errors import ConsoleError
    from console.store import queues
    from conversations.sending.rates import Rates
    from conversations.sending.worker import SENDER, bring_later, send_all
    from conversations.workers.lease import LAMBDA, write_heartbeat

    brought = [queues.delivery_of(record) for record in event.get("Records", ())]
    kept = queues.keeping(settings.OUTBOX_QUEUE_URL, brought, at_once=True)
    with kept, ThreadPoolExecutor(max(1, len(brought))) as pool:
        _, later = send_all(brought, Rates(), pool)
    bring_later(later)
    with suppress(ConsoleError):
        write_heartbeat(SENDER, beat_at=clock.now(), mode=LAMBDA)
    return {"batchItemFailures": [{"itemIdentifier": each.name} for each, _ in later]}


def run_part(event: Mapping[str, Any], context: Any = None) -> dict[str, int]:
    """Run the part that a schedule's event names, `{"part": "timers"}`, until nothing is left or time is nearly up.

    Returns counts of what was done. Raises `CommandError` for a part that does not exist or is not configured, and
    `WorkFailed`, so that Lambda counts an error.
    """
    start()
    from conversations.work.running import counts_of, run_once

    left = context.get_remaining_time_in_millis() / 1_000 if context is not None else 2 * MARGIN_SECONDS
    ended, workers = _workers_of(str(event.get("part")))
    before = counts_of(workers)
    ended.clear()
    timer = threading.Timer(left - MARGIN_SECONDS, ended.set)
    timer.start()
    try:
        failed = run_once(workers)
    finally:
        timer.cancel()
    if failed:
        raise WorkFailed(", ".join(failed))
    return dict(counts_of(workers) - before)


@cache
def _workers_of(part: str) -> tuple[threading.Event, dict[str, Any]]:
    """Return a part's workers, and the event that ends them. They are kept, because a walk remembers what it has read.

    What streams and queues bring to Lambdas of their own is left out.
    """
    from conversations.work.parts import QUEUE_RECEIVER, STAGE_RECEIVER, build_workers

    ended = threading.Event()
    workers = build_workers([part], wait=ended.wait)
    return ended, {name: each for name, each in workers.items() if name not in (QUEUE_RECEIVER, STAGE_RECEIVER)}
