"""`manage.py receive_messages`: receive the messages that the platform routes to people."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from console.startup import ConsoleCommand
from conversations.handoff.stored import has_inbound_source
from conversations.work.parts import counts_of, describe_counts, inbound_parts, run_all, running
from conversations.workers.counts import WorkOutcome


class Command(ConsoleCommand):
    """Receive messages until a signal. Several processes may run in parallel."""

    help = (
        "Receive what customers write to people, from the platform's hand-off queue and its stage table, whichever is "
        "configured. Runs until stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare `--once`."""
        parser.add_argument("--once", action="store_true", help="stop when there is nothing more to receive")

    def handle(self, *_: Any, **options: Any) -> None:
        """Run the configured receivers. Raises `CommandError` without a source."""
        if not has_inbound_source():
            raise CommandError(
                "Set HANDOFF_QUEUE_URL or TABLE_CONVERSATIONS_STAGE to where the platform puts messages for people."
            )
        with running("receivers", once=options["once"]) as ended:
            parts = inbound_parts(wait=ended.wait, say=self.stdout.write)
            if options["once"]:
                for part in parts.values():
                    part.run(once=True)
            else:
                run_all({name: part.run for name, part in parts.items()}, ended)
        counts = counts_of(parts)
        del counts[WorkOutcome.READ]
        self.stdout.write(f"Messages: {describe_counts(counts)}.")
