"""`manage.py load_conversations FILE`: load conversation items from JSON lines, without overwriting any."""

import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError
from tqdm import tqdm

from console.audit.runs import audited_run
from console.errors import ConsoleError
from console.startup import ConsoleCommand
from console.trail.actions import Action
from conversations.lists.loading import MAX_LINE_BYTES, LineReport, LoadOutcome, load


class Command(ConsoleCommand):
    """Load conversation items."""

    help = (
        "Load conversation items from a file of JSON lines (one plain JSON object per line, numbers as numbers, "
        "or as DynamoDB exports to S3, unpacked). Absent flags (function_call, hand_off_to_human) become false. Every "
        "line is checked against the schema; refused lines are listed and the others are loaded. Items that already "
        "exist are not changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the file."""
        parser.add_argument("file", type=Path, help="JSON lines, UTF-8")

    def handle(self, *args: Any, **options: Any) -> None:
        """Load the file. Raises `CommandError` if it cannot be read or lines were refused."""
        path: Path = options["file"]
        try:
            with path.open("rb") as file, audited_run(Action.CONVERSATIONS_LOADED) as run:
                size = path.stat().st_size
                with tqdm(total=size or None, unit="B", unit_scale=True, file=sys.stderr, dynamic_ncols=True) as bar:
                    reports = list(load(_lines(file, bar)))
                counts = Counter(report.outcome for report in reports)
                run.payload |= {outcome.value.replace(" ", "_"): counts[outcome] for outcome in LoadOutcome}
        except OSError as error:
            raise CommandError(f"The file cannot be read: {error.strerror}.") from error
        except ConsoleError as error:
            raise CommandError(
                f"{str(error) or type(error).__name__} The lines before this were loaded. Load the file again to "
                "continue."
            ) from error
        self._tell(reports, counts)

    def _tell(self, reports: list[LineReport], counts: Counter[LoadOutcome]) -> None:
        refused = [report for report in reports if report.outcome is LoadOutcome.REFUSED]
        for report in refused:
            self.stderr.write(f"line {report.number}: {report.reason}")
        self.stdout.write(
            f"{counts[LoadOutcome.LOADED]} loaded, {counts[LoadOutcome.ALREADY_THERE]} already there, "
            f"{len(refused)} refused."
        )
        for name, lines in Counter(name for report in reports for name in report.filled).items():
            self.stdout.write(f"{name} was absent in {lines} of them and is now false.")
        if counts[LoadOutcome.LOADED]:
            self.stdout.write(
                "Now run `manage.py companies discover`, `index_handoffs --sweep` and `insight --rebuild`."
            )
        if refused:
            raise CommandError(f"{len(refused)} of {len(reports)} lines were refused.")


def _lines(file: BinaryIO, bar: "tqdm[Any]") -> Iterator[bytes]:
    """Yield the lines of the file, each cut to `MAX_LINE_BYTES + 1` so that it cannot fill the memory."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        bar.update(len(line))
        yield line
        while not line.endswith(b"\n") and (line := file.readline(MAX_LINE_BYTES)):
            bar.update(len(line))
