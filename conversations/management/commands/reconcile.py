"""`manage.py reconcile`: settle pending hand-off actions of a conversation now, or show what would be settled."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from console import clock
from console.startup import ConsoleCommand
from console.telemetry.starting import working
from conversations.converting import short_id
from conversations.handoff.reconciliation import FENCE_AFTER, Settled, pending_trails, reconcile
from conversations.work.running import command_errors

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def span(value: str) -> timedelta:
    """Parse a length of time: `90s`, `10m`, `2h`, `1d`. Raises `ArgumentTypeError`."""
    match = re.fullmatch(r"(\d{1,6})([smhd])", value.strip().lower(), re.ASCII)
    if match is None:
        raise ArgumentTypeError("a number and a unit: 90s, 10m, 2h, 1d")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


class Command(ConsoleCommand):
    """Settle what the last action and the trail prove; fence, then fail, what is open after `--older-than`."""

    help = (
        "Settle hand-off actions whose outcome was left pending (a process died, an answer was lost) in the named "
        "conversations, or show with --dry-run what is pending anywhere. The part reconcile of the background work "
        "settles all: manage.py work --only reconcile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the trails, the age and whether to write."""
        parser.add_argument(
            "--conversation",
            action="append",
            default=[],
            metavar="ID",
            help="this conversation (may be repeated); without it, --dry-run walks the idempotency table",
        )
        parser.add_argument(
            "--older-than",
            type=span,
            default=FENCE_AFTER,
            metavar="10m",
            help="what is still open after this long is fenced and failed (default 10m)",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would be done, without writing")

    @working("reconcile", once=True)
    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line per action, then a summary. Raises `CommandError` if a trail could not be settled."""
        if not options["conversation"] and not options["dry_run"]:
            raise CommandError(
                "Name a conversation with --conversation, or add --dry-run. Everything that is pending is settled by "
                "manage.py work --only reconcile."
            )
        with command_errors():
            trails = set(options["conversation"]) or self._find()
        steps = reconcile(sorted(trails), older_than=options["older_than"], dry_run=options["dry_run"])
        counts: Counter[str] = Counter()
        for step in tqdm(steps, total=len(trails), unit=" trails", desc="settling", disable=None, leave=False):
            for settled in step.settled:
                counts[settled.result.split(":")[0] or "open"] += 1
                self._say(_line(settled))
            if step.error:
                counts["error"] += 1
                self._say(f"{'error':<11} {step.error}")
        words = ", ".join(f"{number} {word}" for word, number in sorted(counts.items())) or "nothing was pending"
        self.stdout.write(("would settle: " if options["dry_run"] else "settled: ") + words)
        if counts["error"]:
            raise CommandError("Some trails could not be settled; run it again.")

    def _find(self) -> set[str]:
        trails: set[str] = set()
        with tqdm(unit=" records", desc="looking for pending actions", disable=None, leave=False) as bar:
            for read, found in pending_trails():
                trails |= found
                bar.update(read - bar.n)
        return trails

    def _say(self, line: str) -> None:
        # Keeps the progress bar, if there is one, off the line.
        with tqdm.external_write_mode():
            self.stdout.write(line)


def _line(settled: Settled) -> str:
    """Return the line of an action, without the conversation's key, which contains the recipient."""
    when = "" if settled.recorded_at is None else clock.to_iso(settled.recorded_at, "seconds")
    about = f"{settled.action_type} {settled.action_id[:8]} of conversation {short_id(settled.conversation_id)} {when}"
    outcome = settled.result or "open"
    return f"{outcome.split(':')[0]:<11} {about}" + "".join(
        f"; {part}" for part in (outcome.partition(": ")[2], settled.note) if part
    )
