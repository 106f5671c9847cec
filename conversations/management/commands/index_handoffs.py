"""`manage.py index_handoffs`: keep the queue's index up to date, from the table's stream or by sweeps."""

import threading
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from console.errors import ConsoleError
from console.startup import ConsoleCommand
from console.store.presence import missing_tables
from conversations.indexer.sweep import Sweep
from conversations.indexer.worker import Worker
from conversations.work.parts import running
from conversations.workers import lease
from conversations.workers.counts import WorkOutcome, format_counts
from conversations.workers.leased import pause_after, retry_while_unavailable

# The tables that the indexer needs, because it also records what it does.
NEEDED = frozenset({"CONVERSATIONS", "AUDIT", "IDEMPOTENCY", "CONSOLE"})


def seconds(value: str) -> float:
    """Parse the seconds between reads of the stream. Raises `ArgumentTypeError`."""
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0.2 <= number <= 60:
        raise ArgumentTypeError("seconds, from 0.2 to 60")
    return number


class Command(ConsoleCommand):
    """Keep the queue's index up to date: see docs/operations.md."""

    help = (
        "Keep the index of the hand-off queue: follow the stream of the conversations table under a lease (others "
        "stand by), or sweep it every minute where it has none. Ends on SIGTERM and SIGINT."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command line."""
        parser.add_argument("--once", action="store_true", help="handle what is there now, then stop")
        parser.add_argument("--sweep", action="store_true", help="look through the whole table once, without a lease")
        parser.add_argument(
            "--interval", type=seconds, default=1.0, metavar="SECONDS", help="between reads without updates (1)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal. Raises `CommandError` if not everything could be indexed."""
        is_job = options["once"] or options["sweep"]
        with running("indexer", once=is_job) as ended:
            if absent := sorted(self._missing(ended, is_patient=not is_job)):
                raise CommandError(f"Missing in this environment: {', '.join(absent)}. Nothing can be indexed.")
            failed = self._sweep(ended) if options["sweep"] else self._work(ended, options)
        if failed:
            raise CommandError("Not everything could be indexed; run it with --sweep again.")

    def _missing(self, ended: threading.Event, *, is_patient: bool) -> frozenset[str]:
        """Return the missing tables. If `is_patient`, wait for a database that does not answer until `ended` is set."""
        errors = 0
        while not ended.is_set():
            try:
                return missing_tables(NEEDED)
            except ConsoleError as error:
                if not is_patient:
                    raise
                self._say(f"Waiting for the database: {error}")
                errors += 1
                ended.wait(pause_after(errors, 0.5))
        return frozenset()

    def _sweep(self, ended: threading.Event) -> bool:
        sweep = Sweep()
        with tqdm(unit=" conversations", desc="sweeping", disable=None, leave=False) as bar:
            while not sweep.is_over and not ended.is_set():
                bar.update(retry_while_unavailable(sweep.step, ended.wait)[WorkOutcome.READ])
        self.stdout.write(f"{'' if sweep.is_over else 'Stopped: '}{format_counts(sweep.counts)}.")
        if sweep.is_complete:
            lease.note_sweep()
        return not sweep.is_complete

    def _work(self, ended: threading.Event, options: dict[str, Any]) -> bool:
        worker = Worker(interval=options["interval"], wait=ended.wait, say=self._say)
        worker.run(once=options["once"])
        self.stdout.write(f"Total: {format_counts(worker.counts)}.")
        return worker.failed

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
