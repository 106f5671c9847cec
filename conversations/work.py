"""The work beside the web servers: each part can run alone, and all of them in one process, in a thread each."""

import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from console import clock
from console.errors import ConsoleError
from console.store.presence import table_ready
from console.telemetry import context, metrics
from conversations.attention.looking import Timers
from conversations.handoff.reconciliation import pending_trails, reconcile
from conversations.handoff.routing import has_stage
from conversations.indexer import lease
from conversations.indexer.handling import Did, WorkCounts
from conversations.indexer.leased import LeasedWorker, pause_after
from conversations.indexer.worker import Worker
from conversations.insight.announcing import InsightAnnouncer
from conversations.insight.rolling import Rolled, roll_changed
from conversations.insight.walking import WALKED, FactWalker
from conversations.notifications.notifier import Notifier
from conversations.receiving.stage import StageReceiver
from conversations.receiving.worker import Receiver, sweep
from conversations.sending.reading import is_configured as replies_are_sent
from conversations.sending.worker import Sender

logger = logging.getLogger(__name__)

# Names of leases.
MESSAGE_SWEEP, RECONCILE, INSIGHT = "sweep", "reconcile", "insight"
SWEEP_EVERY, RECONCILE_EVERY, INSIGHT_EVERY = timedelta(minutes=1), timedelta(minutes=5), timedelta(seconds=15)

Part = Receiver | Sender | LeasedWorker


class Recurring(LeasedWorker):
    """Work that is due every so often. `steps` does it bit by bit, so that the lease is kept meanwhile."""

    def __init__(
        self, name: str, title: str, every: timedelta, steps: Callable[[], Iterator[WorkCounts]], **options: Any
    ) -> None:
        """Take the options of `LeasedWorker` too."""
        self.name, self.title = name, title
        super().__init__(**options)
        self._every, self._steps = every, steps
        self._running: Iterator[WorkCounts] | None = None
        self._ran_at: datetime | None = None

    def _find_place(self) -> None:
        self._running = None
        self._ran_at = clock.parse_instant(self.lease.state.get("ran_at"))

    def _work(self) -> WorkCounts:
        if self._running is None:
            if self._ran_at is not None and self._now() - self._ran_at < self._every:
                return Counter()
            self._running = self._steps()
        try:
            done = next(self._running)
        except StopIteration:
            self._running, self._ran_at = None, self._now()
            self.lease.renew(ran_at=self._ran_at)
            return Counter()
        except ConsoleError:
            self._running = None
            raise
        self.counts += done
        return done

    def _is_busy(self, done: WorkCounts) -> bool:
        return self._running is not None


def inbound_parts(**options: Any) -> dict[str, Part]:
    """What receives messages, as configured, and finishes what was left undone; nothing without a source.

    By what it is called. Options are those of `LeasedWorker`.
    """
    found: dict[str, Part] = {}
    if settings.HANDOFF_QUEUE_URL:
        found["the receiver of the hand-off queue"] = Receiver(wait=options.get("wait"))
    if has_stage():
        found["the receiver of the stage table"] = StageReceiver(**options)
    return found | {"the message sweep": message_sweep(**options)} if found else {}


def all_parts(**options: Any) -> dict[str, Part]:
    """All that is configured, as `inbound_parts`."""
    sender = {"the sender": Sender(wait=options.get("wait"))} if replies_are_sent() else {}
    return {
        "the indexer": Worker(**options),
        "the timers": Timers(**options),
        **inbound_parts(**options),
        **sender,
        "the notifier": Notifier(**options),
        "insight": summer(**options),
        **walkers(**options),
        "reconcile": reconciler(**options),
    }


def not_configured() -> list[str]:
    """The sources of messages that are not configured, in words."""
    return [
        *([] if settings.HANDOFF_QUEUE_URL else ["the hand-off queue (HANDOFF_QUEUE_URL)"]),
        *([] if has_stage() else ["the stage table (TABLE_CONVERSATIONS_STAGE)"]),
    ]


def message_sweep(**options: Any) -> Recurring:
    """Finish what processes that died left undone with messages."""
    return Recurring(MESSAGE_SWEEP, "The message sweep", SWEEP_EVERY, _sweeping, **options)


def reconciler(**options: Any) -> Recurring:
    """Settle hand-off actions that were left pending."""
    return Recurring(RECONCILE, "Reconcile", RECONCILE_EVERY, _reconciling, **options)


def summer(**options: Any) -> Recurring:
    """Sum up the days whose facts have changed, then tell of budgets that are reached, and of the week."""
    rolled: dict[str, Rolled] = {}
    announcer = InsightAnnouncer()

    def steps() -> Iterator[WorkCounts]:
        if table_ready("INSIGHT"):
            for _ in roll_changed(rolled):
                yield Counter({"days": 1})
            for told in announcer.steps():
                yield Counter({"told": told})

    return Recurring(INSIGHT, "Insight", INSIGHT_EVERY, steps, **options)


def walkers(**options: Any) -> dict[str, LeasedWorker]:
    """What keeps the facts of the other stores, by what it is called."""
    return {f"the walk of {kind}": FactWalker(kind, **options) for kind in WALKED}


def _sweeping() -> Iterator[WorkCounts]:
    while done := sweep(clock.now()):
        yield Counter({"finished": done})


def _reconciling() -> Iterator[WorkCounts]:
    trails: set[str] = set()
    for _, found in pending_trails():
        trails |= found
        yield Counter()
    for step in reconcile(sorted(trails)):
        yield Counter({"settled": len(step.settled), Did.FAILED: int(bool(step.error))})


def note_reconciled() -> None:
    """Note that reconcile ran, where a timer runs it. That this fails is no failure of the run."""
    try:
        lease.note(RECONCILE, ran_at=clock.now())
    except ConsoleError as error:
        logger.warning("That reconcile ran could not be noted: %s", type(error).__name__)


def run_all(
    parts: Mapping[str, Callable[[], object]],
    ended: threading.Event,
    pause: Callable[[int], float] = pause_after,
) -> None:
    """Run parts beside each other until `ended` is set, then wait for each to end, in their order.

    A part that fails is begun again after `pause` seconds, for so many failures; the others never notice.
    """
    threads = [
        threading.Thread(target=_kept_running, args=(name, run, ended, pause), name=name) for name, run in parts.items()
    ]
    for thread in threads:
        thread.start()
    ended.wait()
    for thread in threads:
        thread.join()


def _kept_running(name: str, run: Callable[[], object], ended: threading.Event, pause: Callable[[int], float]) -> None:
    context.enter_part(name)
    metrics.begin(metrics.WORKER_FAILURES, [context.current_part()])
    failures = 0
    while not ended.is_set():
        try:
            run()
        except Exception as error:
            # No message: it may quote a key.
            logger.error("%s failed: %s", name.capitalize(), type(error).__name__)
            metrics.WORKER_FAILURES.labels(metrics.word(context.current_part())).inc()
        failures += 1
        ended.wait(pause(failures))


@contextmanager
def store_errors_as_command_errors() -> Iterator[None]:
    """Let what the store says end a command in one line and with exit status 1."""
    try:
        yield
    except ConsoleError as error:
        raise CommandError(f"{type(error).__name__}: {error}".rstrip(": ")) from error


@contextmanager
def until_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, where signals can be had: in the main thread."""
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    before = {each: signal.signal(each, lambda *_: ended.set()) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield ended
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
