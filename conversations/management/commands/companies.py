"""`manage.py companies discover|list`: fill or print the registry of companies that people choose from."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from console import clock
from console.audit.runs import audited_run
from console.errors import ConsoleError
from console.permissions import ALL, Role, Scope, Staff
from console.startup import ConsoleCommand
from console.trail.actions import Action
from conversations.companies import companies_for, discover, register

MAX_ITEMS = 1_000_000


class Command(ConsoleCommand):
    """Discover or list companies."""

    help = "Find the companies that have conversations, or list those that are known."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the two subcommands."""
        commands = parser.add_subparsers(dest="command", required=True)
        commands.add_parser("list", help="print the known companies")
        walk = commands.add_parser(
            "discover",
            help="find the companies of the conversations and record them; reads the whole index",
        )
        walk.add_argument(
            "--max-items", type=int, default=MAX_ITEMS, help="conversations to read at most (%(default)s)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the subcommand. Raises `CommandError` with one line for the store's errors."""
        try:
            if options["command"] == "list":
                self._list()
            else:
                self._discover(options["max_items"])
        except ConsoleError as error:
            raise CommandError(str(error) or type(error).__name__) from error

    def _list(self) -> None:
        companies = companies_for(Staff("command-line", "", Role.ADMIN, Scope.of([ALL])))
        for company in companies:
            self.stdout.write(f"{company.company_id}\t{company.name}")
        if not companies:
            self.stderr.write("No companies are known: run `manage.py companies discover`.")

    def _discover(self, max_items: int) -> None:
        if max_items < 1:
            raise CommandError("--max-items must be at least 1.")
        with audited_run(Action.COMPANIES_DISCOVERED, max_items=max_items) as run:
            with tqdm(unit=" conversations", file=sys.stderr, dynamic_ncols=True) as bar:
                found = discover(max_items, bar.update)
            moment = clock.to_iso(clock.now())
            noted = [one for one, name in found.companies.items() if register(one, name, "discover", moment)]
            run.payload |= {"items": found.items, "companies": len(noted), "complete": found.complete}
        for company_id in sorted(noted):
            self.stdout.write(f"{company_id}\t{found.companies[company_id] or company_id}")
        self.stdout.write(f"{len(noted)} companies among {found.items} conversations.")
        if not found.complete:
            self.stderr.write(
                f"Stopped after {found.items} conversations: there are more. Raise --max-items to see them."
            )
