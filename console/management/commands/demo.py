"""`manage.py demo [--port N] [--json]`: the whole console on this machine, with data, in seconds."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console import clock
from console.demo import Announcement, announce, create_tables, fill_tables, serve, start_services
from console.dynamodb.calls import budget


class Command(BaseCommand):
    """Embedded DynamoDB, all tables, realistic data, a sign-in for each role, and the console over plain http."""

    help = "Run the console with an embedded DynamoDB and realistic data, on 127.0.0.1."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Port of the console (0 picks a free one) and JSON output."""
        parser.add_argument("--port", type=int, default=8000, help="port of the console; 0 picks a free one (8000)")
        parser.add_argument("--json", action="store_true", help="print addresses and sign-ins as one line of JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Start, fill, print, serve until interrupted."""
        try:
            from console.dynamodb.embedded import EmbeddedDynamoDB
        except ImportError as error:
            raise CommandError("The demo needs the packages of requirements.txt, not only production's.") from error
        from console.staff.demo import create_demo_staff

        with EmbeddedDynamoDB() as database:
            settings.DYNAMODB_ENDPOINT = database.endpoint
            if not options["json"]:
                self.stderr.write("Creating tables and writing the demo's data …")
            with budget(None):
                create_tables()
                counts = fill_tables(clock.now())
                staff = create_demo_staff()
                stop_services = start_services()

            def ready(url: str) -> None:
                told = announce(url, staff)
                sys.stdout.write(told.as_json() + "\n" if options["json"] else _in_words(told, counts))
                sys.stdout.flush()

            try:
                serve(options["port"], ready)
            except KeyboardInterrupt:
                self.stderr.write("Stopped. Nothing of the demo is kept.")
            except OSError as error:
                raise CommandError(
                    f"Port {options['port']} cannot be used ({error.strerror}): try --port 0."
                ) from error
            finally:
                stop_services()


def _in_words(told: Announcement, counts: dict[str, int]) -> str:
    lines = [
        "",
        f"  Conversation Console  {told.url}",
        f"  DynamoDB              {told.dynamodb_endpoint} (region {told.region}, any credentials)",
        f"  {counts.get('CONVERSATIONS', 0)} conversations in {told.tables['CONVERSATIONS']}",
        "",
        *(f"  {role:<11} {each['username']:<14} {each['password']}" for role, each in told.staff.items()),
        "",
        "  Ctrl-C stops the demo; nothing is kept.",
        "",
    ]
    return "\n".join(lines) + "\n"
