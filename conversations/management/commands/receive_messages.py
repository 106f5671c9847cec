"""`manage.py receive_messages`: bring customers' messages from the hand-off queue to the people who answer them."""

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from conversations.receiving.worker import Receiver


class Command(BaseCommand):
    """Runs until it is told to end. Several may run at once."""

    help = "Receive what customers write to people, from the platform's hand-off queue. Runs until stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        """--once: stop when the queue is empty."""
        parser.add_argument("--once", action="store_true", help="stop when the queue is empty")

    def handle(self, *_: Any, **options: Any) -> None:
        """Raises `CommandError` without a queue."""
        if not settings.HANDOFF_QUEUE_URL:
            raise CommandError("Set HANDOFF_QUEUE_URL to the queue to which the platform sends messages for people.")
        ended = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: ended.set())
        receiver = Receiver(wait=ended.wait)
        receiver.run(once=options["once"])
        done = ", ".join(f"{count:,} {what}" for what, count in sorted(receiver.counts.items())) or "nothing"
        self.stdout.write(f"Messages: {done}.")
