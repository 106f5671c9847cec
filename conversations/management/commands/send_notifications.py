"""`manage.py send_notifications`: bring what companies' own systems are told to their webhooks, topics and emails."""

from typing import Any

from django.core.management.base import CommandParser

from console.startup import ConsoleCommand
from conversations.notifications.notifier import Notifier
from conversations.work import running


class Command(ConsoleCommand):
    """Runs until it is told to end; of several, one works."""

    help = "Send due notifications to their destinations, and retry those that failed. Runs until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """--once: stop when nothing is due any more, for a scheduler that runs it every minute."""
        parser.add_argument("--once", action="store_true", help="stop when nothing is due any more")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run until told to end."""
        with running("notifier", once=options["once"]) as ended:
            notifier = Notifier(wait=ended.wait)
            notifier.run(once=options["once"])
        done = ", ".join(f"{count:,} {what}" for what, count in sorted(notifier.counts.items()) if count) or "nothing"
        self.stdout.write(f"Notifications: {done}.")
