"""The work beside the web servers: each part can run alone, and all of them in one process, in a thread each."""

import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from console import clock
from console.errors import ConsoleError
from console.store.presence import table_ready
from console.telemetry import instrumentation
from console.telemetry.starting import working
from conversations.attention.looking import Timers
from conversations.handoff.reconciliation import pending_trails, reconcile
from conversations.handoff.stored import has_stage
from conversations.indexer import lease
from conversations.indexer.handling import Did, WorkCounts
from conversations.indexer.leased import LeasedWorker, pause_after
from conversations.indexer.worker import Worker
from conversations.insight.announcing import InsightAnnouncer
from conversations.insight.rolling import Rolled, roll_changed
from conversations.insight.walking import WALKED, FactWalker
from conversations.notifications.notifier import Notifier
from conversations.receiving.rows import is_configured as replies_are_sent
from conversations.receiving.stage import StageReceiver
from conversations.receiving.worker import Receiver, sweep
from conversations.sending.worker import Sender

logger = logging.getLogger(__name__)

# Names of leases.
MESSAGE_SWEEP, RECONCILE, INSIGHT = "sweep", "reconcile", "insight"
SWEEP_EVERY, RECONCILE_EVERY, INSIGHT_EVERY = timedelta(minutes=1), timedelta(minutes=5), timedelta(seconds=15)
# What reads a whole table takes no more of the time than one in so many parts.
SHARE = 100
# What is due every so often is late after so many times that.
LATE_AFTER = 3
ENDING = (signal.SIGTERM, signal.SIGINT)

Part = Receiver | Sender | LeasedWorker


def due_every(every: timedelta, noted: Mapping[str, Any]) -> timedelta:
    """How long after a run the next one is due, which notes how long it took: rarer where it reads much."""
    return max(every, timedelta(seconds=SHARE * float(noted.get("took") or 0)))


def late_after(every: timedelta, noted: Mapping[str, Any]) -> timedelta:
    """After how long since its last run work that is due every so often counts as stopped."""
    return LATE_AFTER * due_every(every, noted)


class Recurring(LeasedWorker):
    """Work that is due every so often. `steps` does it bit by bit, so that the lease is kept meanwhile.

    `reads_whole_table`: it takes as long as a table is large, and is due the more rarely for it.
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
        """Take the options of `LeasedWorker` too."""
        self.name, self.title = name, title
        super().__init__(**options)
        self._every, self._steps, self._reads_whole_table = every, steps, reads_whole_table
        self._running: Iterator[WorkCounts] | None = None
        self._ran_at: datetime | None = None
        self._begun_at = self._now()
        self._due_every = every

    def _find_place(self) -> None:
        self._running = None
        self._ran_at = clock.parse_instant(self.lease.state.get("ran_at"))
        self._due_every = due_every(self._every, self.lease.state)

    def _work(self) -> WorkCounts:
        if self._running is None:
            if self._ran_at is not None and self._now() - self._ran_at < self._due_every:
                return Counter()
            self._running, self._begun_at = self._steps(), self._now()
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
    return Recurring(RECONCILE, "Reconcile", RECONCILE_EVERY, _reconciling, reads_whole_table=True, **options)


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


class WorkFailed(Exception):
    """Work could not be done until its time was up; the log says why."""


# What a schedule runs where streams and queues are followed by Lambdas, by the word that the schedule uses.
SCHEDULED: Mapping[str, Callable[..., Mapping[str, Part]]] = {
    "timers": lambda **options: {"the timers": Timers(**options)},
    "messages": lambda **options: {"the message sweep": message_sweep(**options)},
    "replies": lambda **options: {"the sender": Sender(wait=options["wait"])},
    "notifications": lambda **options: {"the notifier": Notifier(**options)},
    "reconcile": lambda **options: {"reconcile": reconciler(**options)},
    "insight": lambda **options: {"insight": summer(**options)},
    "walks": walkers,
}
# Kept from one run to the next: what a walk remembers of what it came by saves reading it again.
_scheduled: dict[str, tuple[threading.Event, Mapping[str, Part]]] = {}


def run_scheduled(work: str, seconds: float) -> dict[str, int]:
    """Do what a schedule asks for until nothing is left for now, for so many seconds at most; what was done.

    Raises `KeyError` for work that there is not, and `WorkFailed`.
    """
    if work not in _scheduled:
        ended = threading.Event()
        _scheduled[work] = ended, SCHEDULED[work](wait=ended.wait)
    ended, parts = _scheduled[work]
    before = _counted(parts)
    ended.clear()
    timer = threading.Timer(seconds, ended.set)
    timer.start()
    try:
        with ThreadPoolExecutor(len(parts)) as pool:
            for running in [pool.submit(part.run, once=True) for part in parts.values()]:
                running.result()
    finally:
        timer.cancel()
    if failing := [name for name, part in parts.items() if part.is_failing]:
        raise WorkFailed(", ".join(failing))
    return dict(_counted(parts) - before)


def _counted(parts: Mapping[str, Part]) -> Counter[str]:
    return sum((part.counts for part in parts.values()), Counter())


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
    instrumentation.enter_part(name)
    instrumentation.begin(instrumentation.WORKER_FAILURES, [instrumentation.current_part()])
    failures = 0
    while not ended.is_set():
        try:
            run()
        except Exception as error:
            # No message: it may quote a key.
            logger.error("%s failed: %s", name.capitalize(), type(error).__name__)
            instrumentation.count_worker_failure()
        failures += 1
        ended.wait(pause(failures))


@contextmanager
def until_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, where signals can be had: in the main thread.

    A thread sets it, told through a pipe. A handler would run in the main thread, which nothing wakes from its wait
    where the system gave the signal to another one, and which may just then hold the lock of the event.
    """
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    listener = threading.Thread(target=_listen, args=(reader, ended), name="signals", daemon=True)
    # Signals that Python handles are written to the pipe, whichever thread gets them.
    before = {each: signal.signal(each, lambda *_: None) for each in ENDING}
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    listener.start()
    try:
        yield ended
    finally:
        signal.set_wakeup_fd(woken)
        for each, handler in before.items():
            signal.signal(each, handler)
        os.close(writer)
        listener.join()
        os.close(reader)


def _listen(reader: int, ended: threading.Event) -> None:
    """Set `ended` with the first of the signals that end work; without one, until the pipe is closed."""
    while number := os.read(reader, 1):
        if number[0] in ENDING:
            ended.set()


@contextmanager
def running(name: str, *, once: bool = False) -> Iterator[threading.Event]:
    """What a command does that works until it is stopped, or `once`: an event that signals set.

    Its lines and metrics are of `name`. What the store says ends it in one line, with exit status 1.
    """
    try:
        with working(name, once=once), until_signal() as ended:
            yield ended
    except ConsoleError as error:
        raise CommandError(f"{type(error).__name__}: {error}".rstrip(": ")) from error
