"""`manage.py seal_again`: seal stored secrets with the current SECRET_KEY, so that an earlier one can be removed."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.core.management.base import CommandError

from console import key_record
from console.errors import BadReference, Conflict, ConsoleError, NotFound
from console.staff import second_factor
from console.staff.second_factor import SecretUnreadable
from console.staff.services import list_accounts
from console.startup import ConsoleCommand
from conversations.companies import all_companies
from conversations.insight import identity
from conversations.notifications import destinations

Seal = Callable[[], bool]
AGAIN, CURRENT, UNREADABLE, CHANGED = "sealed again", "current", "cannot be read", "changed in the meantime"


class Command(ConsoleCommand):
    """Seal stored secrets again. The last step but one of a change of SECRET_KEY; may be run repeatedly."""

    help = (
        "Seal second factors, webhook secrets and the key of Insight's pseudonyms with the current SECRET_KEY. When it "
        "exits with 0, nothing stored needs a key of SECRET_KEY_FALLBACKS any more."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare `--accept-key`, for a key that was replaced without a fallback."""
        parser.add_argument(
            "--accept-key",
            action="store_true",
            help="take the current SECRET_KEY for this installation's, although its earlier one is lost",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each kind. Raises `CommandError` if a secret could not be sealed again."""
        if options["accept_key"]:
            _accept_key()
        kinds = {"Second factors": _second_factors(), "Webhook secrets": _webhooks(), "Key of Insight": _insight()}
        kinds["Record of the key"] = _record()
        left = 0
        for kind, seals in kinds.items():
            try:
                counts = Counter(_outcome(seal) for seal in seals)
            except NotFound:
                # Insight has no key yet, or the installation no record of its own.
                counts = Counter()
            except ConsoleError as error:
                raise CommandError(f"{kind}: {error} Run it again.") from error
            self.stdout.write(f"{kind}: {', '.join(f'{count:,} {word}' for word, count in counts.items()) or 'none'}")
            left += counts[UNREADABLE] + counts[CHANGED]
        if left:
            raise CommandError(
                f"{left:,} could not be sealed again. If they changed in the meantime, run this again. If they "
                "cannot be read, put the key that sealed them into SECRET_KEY_FALLBACKS, or set them up again."
            )


def _outcome(seal: Seal) -> str:
    try:
        return AGAIN if seal() else CURRENT
    except (BadReference, SecretUnreadable):
        return UNREADABLE
    except Conflict:
        return CHANGED


def _accept_key() -> None:
    try:
        key_record.accept_key()
    except ConsoleError as error:
        raise CommandError(str(error)) from error


def _second_factors() -> Iterator[Seal]:
    for account in list_accounts():
        if second_factor.is_on(account):
            yield partial(second_factor.seal_again, account)


def _webhooks() -> Iterator[Seal]:
    for company_id in ("", *(company.company_id for company in all_companies())):
        for each in destinations.list_destinations(company_id):
            if each.sealed:
                yield partial(destinations.seal_again, each)


def _insight() -> Iterator[Seal]:
    yield identity.seal_again


def _record() -> Iterator[Seal]:
    yield key_record.seal_again
