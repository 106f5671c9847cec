"""`manage.py audit export | verify | backfill`: write the trail to files, check these, and prepare older entries."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import date
from typing import Any

from django.core.management.base import CommandError
from django.template.defaultfilters import pluralize
from tqdm import tqdm

from console.audit.archive.exporting import Days, export
from console.audit.archive.manifest import Manifest
from console.audit.archive.places import place_of
from console.audit.archive.verifying import ArchiveReport, verify
from console.audit.archive.walk import size_of_table
from console.audit.backfill import backfill_entries
from console.errors import ConsoleError
from console.startup import ConsoleCommand


def _day(text: str) -> date:
    """Parse a day such as `2026-01-31`. Raises `ArgumentTypeError`."""
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a day. Write it as 2026-01-31") from error


class Command(ConsoleCommand):
    """The command line of `console.audit.archive` and `console.audit.backfill`."""

    help = (
        "Archive the trail (export), check an archive against its key, its manifest and the trail (verify), or prepare "
        "entries of earlier versions for the review (backfill)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the subcommands."""
        commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
        out = commands.add_parser("export", help="write an archive; reads the whole audit table once")
        out.add_argument("--since", required=True, type=_day, metavar="DATE", help="first day, in UTC")
        out.add_argument("--until", type=_day, metavar="DATE", help="last day (default: yesterday)")
        out.add_argument("--to", required=True, metavar="TO", help="a new or empty directory, or s3://bucket/prefix")
        out.add_argument(
            "--kms-key", default="", metavar="ID", help="KMS key that S3 encrypts with (default: the account's own)"
        )
        out.add_argument("--segments", type=int, default=4, metavar="N", help="parts read at once (default: 4)")
        backfill = commands.add_parser(
            "backfill",
            help="prepare older entries for the review; reads the audit table once",
            description=(
                "Prepare entries that an earlier version wrote for review-index, which must be there. It reads the "
                "audit table once, beside all other work, and may be stopped: the next run goes on from there. Run it "
                "after an upgrade, and again whenever an earlier version has written entries, such as after a rollback "
                "or a restore."
            ),
        )
        for each in (out, backfill):
            each.add_argument(
                "--units", type=float, default=200.0, metavar="N", help="read units a second to spend (default: 200)"
            )
        backfill.add_argument(
            "--writes", type=float, default=100.0, metavar="N", help="entries to write a second, at most (default: 100)"
        )
        check = commands.add_parser("verify", help="find every changed, dropped, added or moved line and file")
        check.add_argument("archive", metavar="FROM", help="a directory, or s3://bucket/prefix")
        check.add_argument("--head", default="", help="the head that the export printed, if you noted it")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one subcommand; report an error in one line, with exit status 1."""
        try:
            {"export": self._export, "verify": self._verify, "backfill": self._backfill}[options["command"]](options)
        except ConsoleError as error:
            raise CommandError(str(error) or type(error).__name__) from error

    def _export(self, options: dict[str, Any]) -> None:
        if not 1 <= options["segments"] <= 16 or not 0 < options["units"] < float("inf"):
            raise CommandError("--segments must be 1 to 16, and --units above 0.")
        days = Days.checked(options["since"], options["until"])
        place = place_of(options["to"], options["kms_key"])
        with tqdm(total=size_of_table() or None, disable=None, unit="item", leave=False, dynamic_ncols=True) as bar:

            def progress(read: int, lines: int) -> None:
                bar.update(read)
                bar.set_postfix_str(f"{lines} entries")

            manifest = export(place, days, options["segments"], options["units"], progress)
        self.stdout.write(
            f"{_entries(manifest.lines)} from {days.first} to {days.last} (UTC) in {_files(manifest)}.\nhead "
            f"{manifest.head}\nThe head is in the system trail. Note it elsewhere too: the trail's entry expires."
        )

    def _backfill(self, options: dict[str, Any]) -> None:
        if not all(0 < options[name] < float("inf") for name in ("units", "writes")):
            raise CommandError("--units and --writes must be above 0.")
        with tqdm(total=size_of_table() or None, disable=None, unit="item", leave=False, dynamic_ncols=True) as bar:
            read = 0

            def progress(entries: int, _: int) -> None:
                nonlocal read
                read += entries
                bar.update(entries)

            try:
                written = backfill_entries(options["units"], options["writes"], progress)
            except KeyboardInterrupt:
                raise CommandError(f"Stopped after {_entries(read)}. Run it again to go on from there.") from None
        self.stdout.write(
            f"Read {_entries(read)}; {written:,} had to be prepared. The review now reads the console's own entries "
            "together."
        )

    def _verify(self, options: dict[str, Any]) -> None:
        report = verify(place_of(options["archive"]), options["head"])
        for note in report.notes:
            self.stdout.write(note)
        for finding in report.findings:
            self.stderr.write(str(finding))
        # A missing manifest is the first finding.
        if report.findings or report.manifest is None:
            raise CommandError(f"The archive was changed: {len(report.findings)} finding{pluralize(report.findings)}.")
        self.stdout.write(_words(report, report.manifest))


def _words(report: ArchiveReport, manifest: Manifest) -> str:
    header = manifest.header
    return (
        f"Unchanged: {_entries(report.lines)} of {header.environment} in {_files(manifest)}, "
        f"from {header.since} until {header.until}.\nhead {manifest.head}"
    )


def _entries(number: int) -> str:
    return f"{number} entr{pluralize(number, 'y,ies')}"


def _files(manifest: Manifest) -> str:
    return f"{len(manifest.files)} file{pluralize(manifest.files)}"
