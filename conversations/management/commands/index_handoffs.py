"""`manage.py index_handoffs --sweep`: complete the queue's index, which the part indexer then keeps up to date."""

import threading
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from console.startup import ConsoleCommand
from console.store.presence import missing_tables
from conversations.indexer.sweep import Sweep
from conversations.work.running import running
from conversations.workers import lease
from conversations.workers.counts import WorkOutcome, format_counts
from conversations.workers.leased import retry_while_unavailable

# The tables that a sweep needs, because it also records what it does.
NEEDED = frozenset({"CONVERSATIONS", "AUDIT", "IDEMPOTENCY", "CONSOLE"})


class Command(ConsoleCommand):
    """Sweep the table of conversations once: see docs/operations.md."""

    help = (
        "Read the whole table of conversations once and complete the index of the hand-off queue, also while the "
        "part indexer runs. Ends on SIGTERM and SIGINT; run it again to continue."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare `--sweep`, which says what it does: without it, the command once ran the indexer."""
        parser.add_argument("--sweep", action="store_true", required=True, help="read the whole table once")

    def handle(self, *args: Any, **options: Any) -> None:
        """Sweep until the end or a signal. Raises `CommandError` if not everything could be indexed."""
        with running("indexer", once=True) as ended:
            if absent := sorted(missing_tables(NEEDED)):
                raise CommandError(f"Missing in this environment: {', '.join(absent)}. Nothing can be indexed.")
            is_complete = self._sweep(ended)
        if not is_complete:
            raise CommandError("Not everything could be indexed; run it again.")

    def _sweep(self, ended: threading.Event) -> bool:
        sweep = Sweep()
        with tqdm(unit=" conversations", desc="sweeping", disable=None, leave=False) as bar:
            while not sweep.is_over and not ended.is_set():
                bar.update(retry_while_unavailable(sweep.step, ended.wait)[WorkOutcome.READ])
        self.stdout.write(f"{'' if sweep.is_over else 'Stopped: '}{format_counts(sweep.counts)}.")
        if sweep.is_complete:
            lease.note_sweep()
        return sweep.is_complete
