"""`manage.py send_notifications`: send notifications to companies' webhooks, topics and email addresses."""

from typing import Any

from django.core.management.base import CommandParser

from console.startup import ConsoleCommand
from conversations.notifications.notifier import Notifier
from conversations.work import running


class Command(ConsoleCommand):
    """Send notifications until a signal. Of several processes, one works and the others stand by."""

    help = "Send due notifications to their destinations, and retry those that failed. Runs until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare `--once`, for a scheduler that runs the command every minute."""
        parser.add_argument("--once", action="store_true", help="stop when nothing is due any more")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run until a signal, or once, and print what was done."""
        with running("notifier", once=options["once"]) as ended:
            notifier = Notifier(wait=ended.wait)
            notifier.run(once=options["once"])
        done = ", ".join(f"{count:,} {what}" for what, count in sorted(notifier.counts.items()) if count) or "nothing"
        self.stdout.write(f"Notifications: {done}.")
