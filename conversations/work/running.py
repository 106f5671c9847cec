"""How workers run: each in a thread of its own, until a signal, or once until nothing is left to do."""

import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.core.management.base import CommandError

from console import instrumentation
from console.errors import ConsoleError, describe_error
from console.telemetry.starting import working
from conversations.work.parts import PartWorker
from conversations.workers.leased import pause_after

logger = logging.getLogger(__name__)

ENDING = (signal.SIGTERM, signal.SIGINT)


def run_all(
    runs: Mapping[str, Callable[[], object]],
    ended: threading.Event,
    pause: Callable[[int], float] = pause_after,
) -> None:
    """Run each worker in its own thread until `ended` is set, then wait for all of them to end.

    One that ends or fails is restarted after `pause(failures)` seconds; the others are not affected.
    """
    threads = [
        threading.Thread(target=_run_until_ended, args=(name, run, ended, pause), name=name)
        for name, run in runs.items()
    ]
    for thread in threads:
        thread.start()
    ended.wait()
    for thread in threads:
        thread.join()


def _run_until_ended(
    name: str, run: Callable[[], object], ended: threading.Event, pause: Callable[[int], float]
) -> None:
    failures = 0
    while not ended.is_set():
        _has_ended_well(name, run)
        failures += 1
        ended.wait(pause(failures))


def run_once(workers: Mapping[str, PartWorker]) -> list[str]:
    """Run workers until nothing is left to do now, each in its own thread; return the names of those that failed."""
    with ThreadPoolExecutor(len(workers)) as pool:
        ran = [pool.submit(_has_done_all, *each) for each in workers.items()]
    return [name for name, done in zip(workers, ran, strict=True) if not done.result()]


def _has_done_all(name: str, worker: PartWorker) -> bool:
    return _has_ended_well(name, lambda: worker.run(once=True)) and not worker.is_failing


def _has_ended_well(name: str, run: Callable[[], object]) -> bool:
    """Run a worker in this thread, which carries its name from then on. Log and count what it raises."""
    instrumentation.enter_part(name)
    instrumentation.initialize_labels(instrumentation.WORKER_FAILURES, [name])
    try:
        run()
    except Exception as error:
        logger.error("%s failed: %s", name.capitalize(), describe_error(error))
        instrumentation.count_worker_failure()
        return False
    return True


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


def counts_of(workers: Mapping[str, PartWorker]) -> Counter[str]:
    """Return the sum of what workers have done."""
    return sum((worker.counts for worker in workers.values()), Counter())


def describe_counts(counts: Mapping[str, int]) -> str:
    """Describe what was done, by kind: `1 failed, 412 repaired`; "nothing" if all counts are 0."""
    return ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()) if count) or "nothing"
