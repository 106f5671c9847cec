"""`manage.py work`: all background work in one process."""

import logging
from typing import Any

from console.key_record import note_key
from console.startup import ConsoleCommand
from conversations.outbox.rows import is_configured
from conversations.work.parts import all_parts, not_configured, run_all, running

logger = logging.getLogger(__name__)


class Command(ConsoleCommand):
    """Run all background work.

    Each part also runs alone: `index_handoffs`, `ring_timers`, `receive_messages`, `send_replies`,
    `send_notifications`, `insight`, `reconcile`.
    """

    help = (
        "Run the indexer, the timers, the receivers of what is configured, the message sweep, the sender of replies, "
        "the notifier, Insight with its walks, and reconcile in one process, until SIGTERM or SIGINT. Start a second "
        "one for availability: both receive and send, and each other part runs in one of the two."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal. A part that fails is restarted, without ending the others."""
        with running("work") as ended:
            # Log lines, unlike output, have a time and the name of the part.
            parts = all_parts(wait=ended.wait, say=logger.info)
            logger.info(parts_line(list(parts)))
            note_key()
            run_all({name: part.run for name, part in parts.items()}, ended)
        logger.info("Ended.")


def parts_line(running: list[str]) -> str:
    """Return a line that says what runs and what is not configured."""
    absent = [*not_configured(), *([] if is_configured() else ["replies (OUTBOX_QUEUE_URL)"])]
    return f"Running: {', '.join(running)}." + (f" Not configured: {', '.join(absent)}." if absent else "")
