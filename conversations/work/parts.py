"""The background work. Each part can run alone, or all in one process with a thread each."""

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
from django.core.management.base import CommandError, CommandParser

from console import clock, instrumentation
from console.errors import ConsoleError
from console.startup import ConsoleCommand
from console.store.presence import table_ready
from console.telemetry.starting import working
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
from conversations.workers import lease
from conversations.workers.counts import WorkCounts, WorkOutcome
from conversations.workers.leased import LeasedWorker, pause_after
from conversations.workers.queued import QueueWorker

logger = logging.getLogger(__name__)

# Names of leases.
MESSAGE_SWEEP, RECONCILE, INSIGHT = "sweep", "reconcile", "insight"
SWEEP_EVERY, RECONCILE_EVERY, INSIGHT_EVERY = timedelta(minutes=1), timedelta(minutes=5), timedelta(seconds=15)
# Work that reads a whole table runs for at most 1/SHARE of the time.
SHARE = 100
# Recurring work is late after this many intervals.
LATE_AFTER = 3
ENDING = (signal.SIGTERM, signal.SIGINT)

Part = QueueWorker | LeasedWorker


def due_every(every: timedelta, noted: Mapping[str, Any]) -> timedelta:
    """Return the time between runs: `every`, or longer after a run that took long (`noted["took"]`, in seconds)."""
    return max(every, timedelta(seconds=SHARE * float(noted.get("took") or 0)))


def late_after(every: timedelta, noted: Mapping[str, Any]) -> timedelta:
    """Return the time since its last run after which recurring work counts as stopped."""
    return LATE_AFTER * due_every(every, noted)


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
    """Return the configured receivers of messages and the message sweep, by name; {} without a source.

    The options are those of `LeasedWorker`.
    """
    found: dict[str, Part] = {}
    if settings.HANDOFF_QUEUE_URL:
        found["the receiver of the hand-off queue"] = Receiver(wait=options.get("wait"))
    if has_stage():
        found["the receiver of the stage table"] = StageReceiver(**options)
    return found | {"the message sweep": message_sweep(**options)} if found else {}


def all_parts(**options: Any) -> dict[str, Part]:
    """Return all configured parts by name. The options are those of `LeasedWorker`."""
    sender = {"the sender": Sender(wait=options.get("wait"))} if replies_are_sent() else {}
    return {
        "the indexer": Worker(**options),
        "the timers": Timers(**options),
        **inbound_parts(**options),
        **sender,
        "the notifier": Notifier(**options),
        "insight": insight_worker(**options),
        **walkers(**options),
        "reconcile": reconciler(**options),
    }


def not_configured() -> list[str]:
    """Return the sources of messages that are not configured, in words."""
    return [
        *([] if settings.HANDOFF_QUEUE_URL else ["the hand-off queue (HANDOFF_QUEUE_URL)"]),
        *([] if has_stage() else ["the stage table (TABLE_CONVERSATIONS_STAGE)"]),
    ]


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


def walkers(**options: Any) -> dict[str, LeasedWorker]:
    """Return the workers that update the facts of the other stores, by name."""
    return {f"the walk of {kind}": FactWalker(kind, **options) for kind in WALKED}


class WorkFailed(Exception):
    """Raised if the last try of scheduled work failed; the log says why."""


# The work that a schedule runs if Lambdas handle the streams and queues, by its name in the event.
SCHEDULED: Mapping[str, Callable[..., Mapping[str, Part]]] = {
    "timers": lambda **options: {"the timers": Timers(**options)},
    "messages": lambda **options: {"the message sweep": message_sweep(**options)},
    "replies": lambda **options: {"the sender": Sender(wait=options["wait"])},
    "notifications": lambda **options: {"the notifier": Notifier(**options)},
    "reconcile": lambda **options: {"reconcile": reconciler(**options)},
    "insight": lambda **options: {"insight": insight_worker(**options)},
    "walks": walkers,
}
# Reused by later runs, because a walk remembers what it has read and need not read it again.
_scheduled: dict[str, tuple[threading.Event, Mapping[str, Part]]] = {}


def run_scheduled(work: str, seconds: float) -> dict[str, int]:
    """Do scheduled work until nothing is left, for at most this many seconds, and return counts of what was done.

    Raises `KeyError` for unknown work, and `WorkFailed`.
    """
    if work not in _scheduled:
        ended = threading.Event()
        _scheduled[work] = ended, SCHEDULED[work](wait=ended.wait)
    ended, parts = _scheduled[work]
    before = counts_of(parts)
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
    return dict(counts_of(parts) - before)


def counts_of(parts: Mapping[str, Part]) -> Counter[str]:
    """Return the sum of what the parts have done."""
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
        yield Counter({"settled": len(step.settled), WorkOutcome.FAILED: int(bool(step.error))})


def note_reconciled() -> None:
    """Note that reconcile ran as a command. Logs the store's errors, because the run itself did not fail."""
    try:
        lease.write_heartbeat(RECONCILE, ran_at=clock.now())
    except ConsoleError as error:
        logger.warning("That reconcile ran could not be noted: %s", type(error).__name__)


def run_all(
    parts: Mapping[str, Callable[[], object]],
    ended: threading.Event,
    pause: Callable[[int], float] = pause_after,
) -> None:
    """Run each part in its own thread until `ended` is set, then wait for all of them to end.

    A part that ends or fails is restarted after `pause(failures)` seconds; the others are not affected.
    """
    threads = [
        threading.Thread(target=_run_until_ended, args=(name, run, ended, pause), name=name)
        for name, run in parts.items()
    ]
    for thread in threads:
        thread.start()
    ended.wait()
    for thread in threads:
        thread.join()


def _run_until_ended(
    name: str, run: Callable[[], object], ended: threading.Event, pause: Callable[[int], float]
) -> None:
    instrumentation.enter_part(name)
    instrumentation.initialize_labels(instrumentation.WORKER_FAILURES, [instrumentation.current_part()])
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
    """Yield an event that SIGTERM and SIGINT set; in any thread but the main one, signals are not handled.

    A listener thread reads the signals from a pipe and sets the event. A signal handler would run in the main thread,
    which does not wake if the system delivered the signal to another thread, and which may hold the event's lock.
    """
    ended = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield ended
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    listener = threading.Thread(target=_listen, args=(reader, ended), name="signals", daemon=True)
    # Python writes the signals that it handles to the pipe, whichever thread receives them.
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
    """Set `ended` when a signal arrives that ends the work; return when the pipe is closed."""
    while number := os.read(reader, 1):
        if number[0] in ENDING:
            ended.set()


@contextmanager
def command_errors() -> Iterator[None]:
    """Translate a `ConsoleError` into a `CommandError`: one line, exit status 1."""
    try:
        yield
    except ConsoleError as error:
        raise CommandError(f"{type(error).__name__}: {error}".rstrip(": ")) from error


@contextmanager
def running(name: str, *, once: bool = False) -> Iterator[threading.Event]:
    """Yield an event that signals set, for a command that works until it is stopped, or `once`.

    Its log lines and metrics carry `name`. Raises as `command_errors` does.
    """
    with command_errors(), working(name, once=once), until_signal() as ended:
        yield ended


class PartCommand(ConsoleCommand):
    """A command that runs one part of the work until a signal, or with `--once`, and prints what was done.

    `origin` names the part in log lines and metrics, `label` in the output. `once_help` says when `--once` ends.
    """

    part: type[Timers | Notifier | Sender]
    origin: str
    label: str
    once_help = "stop when nothing is due any more"

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare `--once`, for a scheduler that runs the command every minute."""
        parser.add_argument("--once", action="store_true", help=self.once_help)

    def handle(self, *_: Any, **options: Any) -> None:
        """Run until a signal, or once, and print what was done."""
        with running(self.origin, once=options["once"]) as ended:
            part = self.part(wait=ended.wait)
            part.run(once=options["once"])
        self.stdout.write(f"{self.label}: {describe_counts(part.counts)}.")


def describe_counts(counts: Mapping[str, int]) -> str:
    """Describe what was done, by kind: `1 failed, 412 repaired`; "nothing" if all counts are 0."""
    return ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()) if count) or "nothing"
