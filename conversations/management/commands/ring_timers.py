"""`manage.py ring_timers`: look at conversations again when time alone may have changed what they need."""

from typing import Any

from django.core.management.base import CommandParser

from console.startup import ConsoleCommand
from conversations.attention.looking import Timers
from conversations.work import running


class Command(ConsoleCommand):
    """Ring the timers until a signal. Of several processes, one works and the others stand by."""

    help = (
        "Find conversations that are stuck, unanswered or overdue, and put those that their holder forgot back in the "
        "queue. Runs until stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare `--once`, for a scheduler that runs the command every minute."""
        parser.add_argument("--once", action="store_true", help="stop when nothing is due any more")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run until a signal, or once, and print what was done."""
        with running("timers", once=options["once"]) as ended:
            timers = Timers(wait=ended.wait)
            timers.run(once=options["once"])
        done = ", ".join(f"{count:,} {what}" for what, count in sorted(timers.counts.items()) if count) or "nothing"
        self.stdout.write(f"Timers: {done}.")
