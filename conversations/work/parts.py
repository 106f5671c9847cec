"""The parts of the background work, by the names that commands, units, policies and pages use: what each consists of.

Each worker of a part has a thread of its own; its name is in log lines and metrics.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from console import clock
from console.errors import ConsoleError
from console.store.presence import table_ready
from conversations.handoff.reconciliation import pending_trails, reconcile
from conversations.handoff.stored import has_stage
from conversations.indexer.worker import Worker
from conversations.insight.announcing import InsightAnnouncer
from conversations.insight.rolling import Rolled, roll_changed
from conversations.insight.walking import WALKED, FactWalker
from conversations.notifications.notifier import Notifier
from conversations.outbox.rows import is_configured as replies_are_sent
from conversations.receiving.stage import StageReceiver
from conversations.receiving.worker import Receiver, sweep
from conversations.sending.worker import Sender
from conversations.timers.looking import Timers
from conversations.workers.beats import stale_after
from conversations.workers.counts import WorkCounts, WorkOutcome
from conversations.workers.leased import LeasedWorker
from conversations.workers.queued import QueueWorker

# Names of leases.
MESSAGE_SWEEP, RECONCILE, INSIGHT = "sweep", "reconcile", "insight"
SWEEP_EVERY, RECONCILE_EVERY, INSIGHT_EVERY = timedelta(minutes=1), timedelta(minutes=5), timedelta(seconds=15)
# Work that reads a whole table runs for at most 1/SHARE of the time.
SHARE = 100
# Recurring work is late after this many intervals.
LATE_AFTER = 3
# The workers to which Lambda brings what they read otherwise: each source starts a Lambda of its own.
QUEUE_RECEIVER, STAGE_RECEIVER = "receiver of the hand-off queue", "receiver of the stage table"

PartWorker = QueueWorker | LeasedWorker


def due_every(every: timedelta, noted: Mapping[str, Any]) -> timedelta:
    """Return the time between runs: `every`, or longer after a run that took long (`noted["took"]`, in seconds)."""
    return max(every, timedelta(seconds=SHARE * float(noted.get("took") or 0)))


def late_after(every: timedelta, noted: Mapping[str, Any]) -> timedelta:
    """Return the time since its last run after which recurring work counts as stopped."""
    return max(LATE_AFTER * due_every(every, noted), stale_after(noted))


class Recurring(LeasedWorker):
    """Work that recurs at an interval. `steps` does it step by step, so that the lease is renewed in between.

    `reads_whole_table`: its duration grows with a table, and a longer run makes the next one due later.
    """

    def __init__(
        self,
        name: str,
        title: str,
        every: timedelta,
        steps: Callable[[], Iterator[WorkCounts]],
        reads_whole_table: bool = False,
        **options: Any,
    ) -> None:
        """Also accept the options of `LeasedWorker`."""
        self.name, self.title = name, title
        super().__init__(**options)
        self._every, self._steps, self._reads_whole_table = every, steps, reads_whole_table
        self._running: Iterator[WorkCounts] | None = None
        self._ran_at: datetime | None = None
        self._begun_at = self._now()
        self._due_every = every
        self._has_failures = False

    @property
    def is_failing(self) -> bool:
        """Whether the last round failed, or something of the last run could not be done."""
        return super().is_failing or self._has_failures

    def _find_place(self) -> None:
        self._running = None
        self._ran_at = clock.parse_instant(self.lease.state.get("ran_at"))
        self._due_every = due_every(self._every, self.lease.state)

    def _work(self) -> WorkCounts:
        if self._running is None:
            if self._ran_at is not None and self._now() - self._ran_at < self._due_every:
                return Counter()
            self._running, self._begun_at, self._has_failures = self._steps(), self._now(), False
        try:
            done = next(self._running)
        except StopIteration:
            self._running, self._ran_at = None, self._now()
            took = (self._ran_at - self._begun_at).total_seconds() if self._reads_whole_table else None
            self._due_every = due_every(self._every, {"took": took})
            self.lease.renew(ran_at=self._ran_at, took=took)
            return Counter()
        except ConsoleError:
            self._running = None
            raise
        self.counts += done
        self._has_failures = self._has_failures or done[WorkOutcome.FAILED] > 0
        return done

    def _is_busy(self, done: WorkCounts) -> bool:
        return self._running is not None


def message_sweep(**options: Any) -> Recurring:
    """Return the worker that finishes messages left unfinished by processes that died."""
    return Recurring(MESSAGE_SWEEP, "The message sweep", SWEEP_EVERY, _sweeping, **options)


def reconciler(**options: Any) -> Recurring:
    """Return the worker that settles hand-off actions that were left pending."""
    return Recurring(RECONCILE, "Reconcile", RECONCILE_EVERY, _reconciling, reads_whole_table=True, **options)


def insight_worker(**options: Any) -> Recurring:
    """Return the worker that sums the days whose facts changed, then announces reached budgets and weekly summaries."""
    rolled: dict[str, Rolled] = {}
    announcer = InsightAnnouncer()

    def steps() -> Iterator[WorkCounts]:
        if table_ready("INSIGHT"):
            for _ in roll_changed(rolled):
                yield Counter({"days": 1})
            for announced in announcer.steps():
                yield Counter({"told": announced})

    return Recurring(INSIGHT, "Insight", INSIGHT_EVERY, steps, **options)


def walkers(**options: Any) -> dict[str, PartWorker]:
    """Return the workers that update the facts of the other stores, by name."""
    return {f"walk of {kind}": FactWalker(kind, **options) for kind in WALKED}


def _receivers(**options: Any) -> dict[str, PartWorker]:
    found: dict[str, PartWorker] = {}
    if settings.HANDOFF_QUEUE_URL:
        found[QUEUE_RECEIVER] = Receiver(wait=options.get("wait"))
    if has_stage():
        found[STAGE_RECEIVER] = StageReceiver(**options)
    return found | {"message sweep": message_sweep(**options)} if found else {}


def _senders(**options: Any) -> dict[str, PartWorker]:
    return {"sender": Sender(wait=options.get("wait"))} if replies_are_sent() else {}


# What builds the workers of each part by name, {} for a part that is not configured.
PARTS: Mapping[str, Callable[..., dict[str, PartWorker]]] = {
    "indexer": lambda **options: {"indexer": Worker(**options)},
    "timers": lambda **options: {"timers": Timers(**options)},
    "receiver": _receivers,
    "sender": _senders,
    "notifier": lambda **options: {"notifier": Notifier(**options)},
    "insight": lambda **options: {"insight": insight_worker(**options), **walkers(**options)},
    "reconcile": lambda **options: {"reconcile": reconciler(**options)},
}
_TO_CONFIGURE = {
    "receiver": "HANDOFF_QUEUE_URL or TABLE_CONVERSATIONS_STAGE to where the platform puts messages for people",
    "sender": "OUTBOX_QUEUE_URL to the FIFO queue that brings replies to the sender",
}


def build_workers(only: Iterable[str] = (), **options: Any) -> dict[str, PartWorker]:
    """Return the workers of these parts by name; without any, those of all parts that are configured.

    The options are those of `LeasedWorker`. Raises `CommandError` for a named part that does not exist or is not
    configured.
    """
    names = list(only)
    workers: dict[str, PartWorker] = {}
    for name in names or PARTS:
        if name not in PARTS:
            raise CommandError(f"There is no part {name}. The parts are {', '.join(PARTS)}.")
        made = PARTS[name](**options)
        if names and not made:
            raise CommandError(f"The {name} is not configured. Set {_TO_CONFIGURE[name]}.")
        workers |= made
    return workers


def not_configured() -> list[str]:
    """Return the sources of messages that are not configured, in words."""
    return [
        *([] if settings.HANDOFF_QUEUE_URL else ["the hand-off queue (HANDOFF_QUEUE_URL)"]),
        *([] if has_stage() else ["the stage table (TABLE_CONVERSATIONS_STAGE)"]),
    ]


def _sweeping() -> Iterator[WorkCounts]:
    while done := sweep(clock.now()):
        yield Counter({"finished": done})


def _reconciling() -> Iterator[WorkCounts]:
    trails: set[str] = set()
    for _, found in pending_trails():
        trails |= found
        yield Counter()
    for step in reconcile(sorted(trails)):
        yield Counter({"settled": len(step.settled), WorkOutcome.FAILED: int(bool(step.error))})
