"""`manage.py send_replies`: send people's replies to customers."""

from typing import Any

from django.core.management.base import CommandError

from conversations.outbox.rows import is_configured
from conversations.sending.worker import Sender
from conversations.work.parts import PartCommand


class Command(PartCommand):
    """Send replies until a signal. Several may run in parallel. Only this process needs the companies' secrets."""

    help = "Send people's replies from the outbox queue, and ask the providers what became of them. Runs until stopped."
    part, origin, label = Sender, "sender", "Replies"
    once_help = "stop when nothing more can be sent now"

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the sender. Raises `CommandError` if replies are not configured."""
        if not is_configured():
            raise CommandError("Set OUTBOX_QUEUE_URL to the FIFO queue that brings replies to the sender.")
        super().handle(*args, **options)
