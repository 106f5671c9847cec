"""`manage.py send_replies`: send people's replies to customers."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.startup import ConsoleCommand
from conversations.receiving.rows import is_configured
from conversations.sending.worker import Sender
from conversations.work import running


class Command(ConsoleCommand):
    """Send replies until a signal. Several may run in parallel. Only this process needs the companies' secrets."""

    help = "Send people's replies from the outbox queue, and ask the providers what became of them. Runs until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare `--once`."""
        parser.add_argument("--once", action="store_true", help="stop when nothing more can be sent now")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the sender. Raises `CommandError` if replies are not configured."""
        if not is_configured():
            raise CommandError("Set OUTBOX_QUEUE_URL to the FIFO queue that brings replies to the sender.")
        with running("sender", once=options["once"]) as ended:
            sender = Sender(wait=ended.wait)
            sender.run(once=options["once"])
        done = ", ".join(f"{count:,} {what}" for what, count in sorted(sender.counts.items()) if count) or "nothing"
        self.stdout.write(f"Replies: {done}.")
