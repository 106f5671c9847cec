"""`manage.py insight --rebuild`: write all facts again and sum them up. The part insight keeps them up to date."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from console.startup import ConsoleCommand
from console.store.presence import missing_tables
from console.telemetry.starting import working
from conversations.insight.facts import FactKind
from conversations.insight.rolling import roll_all
from conversations.insight.walking import WALKED, absent_tables, walk_all
from conversations.work.running import command_errors
from conversations.workers.counts import WorkCounts, WorkOutcome
from conversations.workers.leased import retry_while_unavailable

_NAMES = {
    FactKind.THREADS: "Threads",
    FactKind.CHATS: "Chats",
    FactKind.MIDDLEWARE: "The middleware's records",
    FactKind.TENANTS: "Tenants' conversations",
}
NEEDED = frozenset({"CONVERSATIONS", "AUDIT", "INSIGHT", "CONSOLE"})


class Command(ConsoleCommand):
    """Rebuild Insight: see docs/insight.md."""

    help = (
        "Write all facts of conversations, threads, chats, the middleware and tenants again, including those from "
        "before Insight was set up, and sum them up. You can run it beside the background work, stop it and run it "
        "again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare `--rebuild`, which says what it does: without it, the command once ran the part insight."""
        parser.add_argument("--rebuild", action="store_true", required=True, help="write all facts again")

    def handle(self, *args: Any, **options: Any) -> None:
        """Rebuild everything. Raises `CommandError` if something could not be counted."""
        with command_errors(), working("insight", once=True):
            if absent := sorted(missing_tables(NEEDED)):
                raise CommandError(f"Missing in this environment: {', '.join(absent)}. Nothing can be counted.")
            failed = self._rebuild()
            days = sum(1 for _ in tqdm(roll_all(), unit=" days", desc="summing up", disable=None, leave=False))
            self.stdout.write(f"Summed up {days:,} {'day' if days == 1 else 'days'}.")
        if failed:
            raise CommandError(f"{failed:,} could not be counted; the log says why. Run it again.")

    def _rebuild(self) -> int:
        failed = self._counted("Conversations", walk_all(FactKind.CONVERSATIONS, retry_while_unavailable))
        for kind in WALKED:
            for table in absent_tables(kind):
                self.stdout.write(f"Table {table} does not exist, so Insight does not count it.")
            failed += self._counted(_NAMES[kind], walk_all(kind, retry_while_unavailable))
        return failed

    def _counted(self, name: str, steps: Iterable[WorkCounts]) -> int:
        counts: WorkCounts = Counter()
        with tqdm(unit=" items", desc="counting", disable=None, leave=False) as bar:
            for done in steps:
                counts += done
                bar.update(done[WorkOutcome.READ])
        self.stdout.write(f"{name}: {counts[WorkOutcome.READ]:,} read, {counts[WorkOutcome.COUNTED]:,} changed.")
        return counts[WorkOutcome.FAILED]
