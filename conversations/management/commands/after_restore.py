"""`manage.py after_restore`: prepare a table that was restored to an earlier time before it is used."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from console import clock
from console.errors import ConsoleError
from console.staff.restoring import make_safe
from console.startup import ConsoleCommand
from conversations.companies import all_companies
from conversations.outbox.rows import TO_SEND, MessageRow
from conversations.receiving.approvals import mark_possibly_sent
from conversations.sending.delivering import doubt


class Command(ConsoleCommand):
    """Prepare a restored table. May be run again. Other tables do not need it: see docs/drills.md."""

    help = (
        "MESSAGES: ask the provider about each waiting reply, because it may have been sent since; none is sent "
        "automatically. Run this before you start a sender. STAFF: end every session, disable again the accounts that "
        "were disabled after --since, print a new link to set a password for each account whose sign-in changed, and "
        "list the other changes for you to repeat."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the table and the time to which it was restored."""
        parser.add_argument("table", choices=("MESSAGES", "STAFF"))
        parser.add_argument(
            "--since",
            metavar="TIME",
            default="",
            help="STAFF: such as 2026-11-24T10:00:00Z, UTC unless it has an offset",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Prepare the table. Raises `CommandError` for a missing or invalid time, and for the store's errors."""
        try:
            if options["table"] == "MESSAGES":
                self._messages()
            else:
                self._staff(_past_instant(options["since"]))
        except ConsoleError as error:
            raise CommandError(f"{error} Run it again.") from error

    def _messages(self) -> None:
        replies = sum(doubt(each.conversation, each.position) for each in list(MessageRow.due_index.query(TO_SEND)))
        held = sum(mark_possibly_sent(company.company_id) for company in all_companies())
        self.stdout.write(
            f"Replies whose provider will be asked: {replies:,}. "
            f"First messages to check before they are approved: {held:,}."
        )

    @sensitive_variables()
    def _staff(self, since: datetime) -> None:
        changed = disabled = 0
        for each in make_safe(since):
            for change in each.changes:
                at = (change.ts_action_id or "").partition("#")[0]
                self.stdout.write(f"{each.username}: {change.action_type} at {at}")
            if each.link_code:
                link = f"{settings.CONSOLE_URL.rstrip('/')}{reverse('set-password')}#{each.link_code}"
                self.stdout.write(f"{each.username}: the password no longer works. A link to set a new one: {link}")
            if each.still_enabled:
                self.stdout.write(f"{each.username}: still enabled, because no other administrator would be left.")
            changed += bool(each.changes)
            disabled += each.is_disabled_again
        self.stdout.write(
            f"Every session has ended. Accounts changed since {clock.to_iso(since)}: {changed:,}. Disabled again: "
            f"{disabled:,}. Repeat their other changes; recreate the accounts that were created since then."
        )


def _past_instant(text: str) -> datetime:
    """Parse the time of a restore, without a zone as UTC. Raises `CommandError` for any other text, or a future time.

    After a day alone or a wrong year, people who left since the restored time would stay enabled.
    """
    since = clock.parse_instant(text) if ":" in text else None
    if since is None:
        raise CommandError("Give the day and the time to which it was restored: --since 2026-11-24T10:00:00Z.")
    if since > clock.now():
        raise CommandError(f"{clock.to_iso(since)} is in the future. Give the time to which it was restored.")
    return since
