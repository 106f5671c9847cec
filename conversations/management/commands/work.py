"""`manage.py work`: the background work, all of it or some parts, until a signal or once."""

import logging
from argparse import ArgumentParser
from collections.abc import Collection
from typing import Any

from django.core.management.base import CommandError

from console.key_record import note_key
from console.startup import ConsoleCommand
from conversations.outbox.rows import is_configured
from conversations.work.parts import PARTS, build_workers, not_configured
from conversations.work.running import describe_counts, run_all, run_once, running

logger = logging.getLogger(__name__)


class Command(ConsoleCommand):
    """Run the background work: docs/operations.md describes its parts."""

    help = (
        f"Run the background work in one process: {', '.join(PARTS)}. It runs until SIGTERM or SIGINT. Start a second "
        "process for availability: in both, the receiver and the sender work, and each other part works in one of them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which parts run, and whether until a signal or once."""
        parser.add_argument(
            "--only",
            nargs="+",
            action="extend",
            default=[],
            metavar="PART",
            help="run only these parts; without it, all that are configured",
        )
        parser.add_argument(
            "--once",
            action="store_true",
            help="do what is due now, then stop, for a scheduler; exit status 1 if a part failed",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal, or once. A worker that fails is restarted, without ending the others.

        Raises `CommandError` for a part that does not exist or is not configured, if SECRET_KEY is not this
        installation's, and with `--once` if a part failed.
        """
        only = [part for each in options["only"] for part in each.split(",") if part]
        once = options["once"]
        with running("work", once=once) as ended:
            # Log lines, unlike output, have a time and the name of the worker.
            workers = build_workers(only, wait=ended.wait, say=logger.info)
            if not only and not note_key():
                raise CommandError("Nothing was started: with another key, nobody could open what it would seal.")
            logger.info(parts_line(workers, is_all=not only))
            if not once:
                run_all({name: worker.run for name, worker in workers.items()}, ended)
                logger.info("Ended.")
                return
            failed = run_once(workers)
        for name, worker in workers.items():
            self.stdout.write(f"{name.capitalize()}: {describe_counts(worker.counts)}.")
        if failed:
            raise CommandError(f"Failed: {', '.join(failed)}. The log says why.")


def parts_line(workers: Collection[str], *, is_all: bool) -> str:
    """Return a line that says what runs and, if that `is_all`, what is not configured."""
    absent = [*not_configured(), *([] if is_configured() else ["replies (OUTBOX_QUEUE_URL)"])] if is_all else []
    return f"Running: {', '.join(workers)}." + (f" Not configured: {', '.join(absent)}." if absent else "")
