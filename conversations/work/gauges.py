"""Gauges of the queue and of the background work, for scrapes. Sums only: no company and no person.

The web servers read them, because a worker that has died cannot report itself.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from django.conf import settings

from console import clock, instrumentation
from console.store import queues
from console.store.calls import parallel
from console.store.presence import table_ready
from console.telemetry import state
from console.telemetry.state import Reading, StateGauge
from conversations.handoff.actions import HandOffAction
from conversations.handoff.stored import has_inbound_source, has_stage
from conversations.insight.walking import WALKED, lease_name
from conversations.notifications.deliveries import DELIVERED, oldest_due
from conversations.notifications.deliveries import FAILED as NOT_DELIVERED
from conversations.notifications.notifier import NOTIFICATIONS
from conversations.outbox.rows import TO_APPEND, TO_ASK, TO_SEND, TO_SETTLE, MessageRow
from conversations.outbox.rows import is_configured as replies_are_sent
from conversations.outbox.states import ReplyState
from conversations.queue import counting
from conversations.queue_index.readiness import is_indexed
from conversations.receiving.handling import Handled
from conversations.receiving.leaving import TO_AI
from conversations.receiving.recording import QUEUE, STAGE
from conversations.receiving.worker import FAILED
from conversations.sending.worker import SENDER
from conversations.timers.looking import TIMERS
from conversations.work.parts import (
    INSIGHT,
    INSIGHT_EVERY,
    MESSAGE_SWEEP,
    RECONCILE,
    RECONCILE_EVERY,
    SWEEP_EVERY,
    late_after,
)
from conversations.workers.beats import stale_after
from conversations.workers.lease import INDEXER, LAMBDA, read_heartbeats

_KINDS = {"append": TO_APPEND, "to_ai": TO_AI, "send": TO_SEND, "settle": TO_SETTLE, "ask": TO_ASK}

WAITING = StateGauge(
    "console_queue_conversations",
    "Conversations in the queue: waiting, held, or with the AI and in need of attention.",
    ("state",),
)
OLDEST_WAIT = StateGauge(
    "console_queue_oldest_wait_seconds", "How long the conversation with the longest wait has waited."
)
INCOMPLETE = StateGauge(
    "console_queue_incomplete", "1 if the queue is larger than what was counted; the real numbers are higher."
)
NOT_PLACED = StateGauge("console_messages_not_placed", "Customers' messages that an administrator has to look at.")
OVERDUE = StateGauge("console_work_overdue_seconds", "How long the oldest piece of work has been due.", ("work",))
LAST_SEEN = StateGauge(
    "console_worker_last_seen_timestamp_seconds", "When a part of the work last reported that it runs.", ("worker",)
)
ALLOWED_SILENCE = StateGauge(
    "console_worker_allowed_silence_seconds",
    "How long a part of the work can be silent before it counts as stopped.",
    ("worker",),
)
LAG = StateGauge("console_worker_lag_seconds", "How far a part of the work lags behind.", ("worker",))
SQS = StateGauge(
    "console_sqs_messages", "Approximate number of messages in a queue, waiting or in flight.", ("queue", "state")
)


def register_with_base() -> None:
    """Register the sources of gauges. Called once at start-up."""
    instrumentation.initialize_labels(instrumentation.LOST_RACES, HandOffAction)
    instrumentation.initialize_labels(instrumentation.MESSAGES, (*Handled, FAILED))
    instrumentation.initialize_labels(instrumentation.REPLIES, ReplyState)
    instrumentation.initialize_labels(instrumentation.NOTIFICATIONS, (DELIVERED, NOT_DELIVERED))
    state.register("queue", read_queue, (WAITING, OLDEST_WAIT, INCOMPLETE))
    state.register("work", read_work, (LAST_SEEN, ALLOWED_SILENCE, LAG))
    state.register("messages", read_messages, (NOT_PLACED, OVERDUE))
    state.register("sqs", read_sqs, (SQS,))


def read_queue() -> Iterator[Reading]:
    """Yield how many conversations wait, are held and need attention; without the index, nothing. One Query."""
    if not is_indexed():
        return
    sums, longest = counting.sum_queue()
    for name, count in sums.items():
        yield WAITING, (name,), count.number
    yield OLDEST_WAIT, (), longest.total_seconds()
    yield INCOMPLETE, (), int(any(count.more for count in sums.values()))


def read_work() -> Iterator[Reading]:
    """Yield when each worker that is configured and has run once was last seen, and how far it is behind.

    The names of the workers are those of `conversations.work.parts`, and of the log.
    """
    now = clock.now()
    beating = [
        ("indexer", INDEXER),
        ("timers", TIMERS),
        ("notifier", NOTIFICATIONS),
        *([("receiver_of_the_hand-off_queue", QUEUE)] if settings.HANDOFF_QUEUE_URL else []),
        *([("receiver_of_the_stage_table", STAGE)] if has_stage() else []),
        *([("sender", SENDER)] if replies_are_sent() else []),
        *((f"walk_of_{kind}", lease_name(kind)) for kind in WALKED),
    ]
    recurring = [
        *([("message_sweep", MESSAGE_SWEEP, SWEEP_EVERY)] if has_inbound_source() else []),
        ("reconcile", RECONCILE, RECONCILE_EVERY),
        ("insight", INSIGHT, INSIGHT_EVERY),
    ]
    notes = read_heartbeats([*(name for _, name in beating), *(name for _, name, _ in recurring)])
    for worker, name in beating:
        noted = notes[name]
        # A Lambda only runs when there is work, so its silence means nothing.
        if noted.get("mode") != LAMBDA:
            yield from _seen(worker, noted.get("beat_at"), stale_after(noted))
        lag = None if isinstance(noted.get("lag"), str) else noted.get("lag")
        if (until := clock.parse_instant(noted.get("looked_until"))) is not None:
            lag = max(0.0, (now - until).total_seconds())
        if lag is not None:
            yield LAG, (worker,), float(lag)
    for worker, name, every in recurring:
        yield from _seen(worker, notes[name].get("ran_at"), late_after(every, notes[name]))


def _seen(worker: str, at: object, allowed: timedelta) -> Iterator[Reading]:
    seen = clock.parse_instant(at)
    if seen is not None:
        yield LAST_SEEN, (worker,), seen.timestamp()
        yield ALLOWED_SILENCE, (worker,), allowed.total_seconds()


def read_messages() -> Iterator[Reading]:
    """Yield the messages not placed, and how long the oldest work on messages, replies, notifications has been due."""
    now = clock.now()
    due = dict.fromkeys((*_KINDS, "notify"), None) if table_ready("MESSAGES") else {"notify": None}
    found = parallel(*(partial(_oldest, name) for name in due))
    for name, since in zip(due, found, strict=True):
        yield OVERDUE, (name,), max(0.0, (now - since).total_seconds()) if since is not None else 0.0
    if "send" in due:
        yield NOT_PLACED, (), counting.not_placed_now().number


def _oldest(work: str) -> datetime | None:
    if work == "notify":
        return oldest_due()
    rows = MessageRow.due_index.query(_KINDS[work], limit=1)
    return next((clock.parse_instant(each.due_at) for each in rows), None)


def read_sqs() -> Iterator[Reading]:
    """Yield the number of messages in the console's SQS queues."""
    urls = {"handoff": settings.HANDOFF_QUEUE_URL, "outbox": settings.OUTBOX_QUEUE_URL}
    asked = {name: url for name, url in urls.items() if url}
    for name, found in zip(asked, parallel(*(partial(queues.depth, url) for url in asked.values())), strict=True):
        yield SQS, (name, "waiting"), found.waiting
        yield SQS, (name, "in_flight"), found.in_flight
