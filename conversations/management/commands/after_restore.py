"""`manage.py after_restore`: prepare a table that was restored to an earlier time before it is used."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from console import clock
from console.errors import ConsoleError
from console.staff.restoring import disable_again
from console.startup import ConsoleCommand
from conversations.companies import all_companies
from conversations.receiving.approvals import mark_possibly_sent
from conversations.receiving.rows import TO_SEND, MessageRow
from conversations.sending.delivering import doubt


class Command(ConsoleCommand):
    """Prepare a restored table. May be run again. Other tables do not need it: see docs/drills.md."""

    help = (
        "MESSAGES: ask the provider about each waiting reply, because it may have been sent since; none is sent "
        "automatically. Run this before you start a sender. STAFF: disable again the accounts that were disabled after "
        "--since, sign out all that were changed, and list their other changes for you to repeat."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the table and the time to which it was restored."""
        parser.add_argument("table", choices=("MESSAGES", "STAFF"))
        parser.add_argument("--since", metavar="TIME", default="", help="STAFF: such as 2026-11-24T10:00:00Z")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the table. Raises `CommandError` for a missing or invalid time, and for the store's errors."""
        try:
            if options["table"] == "MESSAGES":
                self._messages()
            elif (since := clock.parse_instant(options["since"])) is not None:
                self._staff(since)
            else:
                raise CommandError("Give the time to which it was restored: --since 2026-11-24T10:00:00Z.")
        except ConsoleError as error:
            raise CommandError(f"{error} Run it again.") from error

    def _messages(self) -> None:
        replies = sum(doubt(each.conversation, each.position) for each in list(MessageRow.due_index.query(TO_SEND)))
        held = sum(mark_possibly_sent(company.company_id) for company in all_companies())
        self.stdout.write(
            f"Replies whose provider will be asked: {replies:,}. "
            f"First messages to check before they are approved: {held:,}."
        )

    def _staff(self, since: datetime) -> None:
        found = list(disable_again(since))
        for each in found:
            for change in each.changes:
                at = (change.ts_action_id or "").partition("#")[0]
                self.stdout.write(f"{each.username}: {change.action_type} at {at}")
        if not found:
            self.stdout.write("No account has changed since then. Recreate the accounts that were created since then.")
            return
        disabled = sum(each.is_disabled_again for each in found)
        self.stdout.write(
            f"Accounts changed since then: {len(found):,}, all signed out. Disabled again: {disabled:,}. Repeat their "
            "other changes; recreate the accounts that were created since then."
        )
