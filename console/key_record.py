"""The record of the key that this installation began with: a value sealed with SECRET_KEY, in the console's own table.

A process with another key reads neither links nor sessions nor stored secrets. It notices here, on its first probe.
"""

import logging
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.core import checks
from pynamodb.attributes import UnicodeAttribute

from console.errors import BadReference, ConsoleError, NotFound, TableMissing, describe_error
from console.refs import seal_data, unseal_data
from console.store.calls import ConditionFailed
from console.store.models import ConsoleItem
from console.system_sections import SystemSection

logger = logging.getLogger(__name__)

KEY = {"pk": "SECRET_KEY", "sk": "RECORD"}
TITLE = "Key"
ANOTHER = (
    "SECRET_KEY is not the key that this installation began with, and SECRET_KEY_FALLBACKS does not have that key."
)
HINT = "Set the earlier key (docs/drills.md). If it must not be used any more: manage.py seal_again --accept-key"
_SEALED_AS, _VALUE = "key record", "console"


class KeyRecord(ConsoleItem):
    """A known value, sealed."""

    pk = UnicodeAttribute(hash_key=True, default=KEY["pk"])
    sk = UnicodeAttribute(range_key=True, default=KEY["sk"])
    sealed = UnicodeAttribute()


def opens(sealed: str) -> bool:
    """Return whether SECRET_KEY or a fallback opens the stored value."""
    try:
        return bool(unseal_data(_SEALED_AS, sealed) == _VALUE)
    except BadReference:
        return False


def record_key() -> None:
    """Record the current key, if none is recorded. Raises the store's errors."""
    with suppress(ConditionFailed):
        _current().save(KeyRecord.pk.does_not_exist())


def accept_key() -> None:
    """Record the current key in place of any other. Raises the store's errors."""
    _current().save()


def seal_again() -> bool:
    """Seal the record with the current key; return whether that was needed.

    Raises `NotFound` without a record, `BadReference` if no key opens it, and the store's errors.
    """
    stored = _read()
    if not opens(stored.sealed):
        raise BadReference
    if stored.sealed == _current().sealed:
        return False
    accept_key()
    return True


def is_another() -> bool | None:
    """Return whether another key is recorded than those that are set; None without a record.

    One GetItem. Raises the store's errors.
    """
    try:
        return not opens(_read().sealed)
    except NotFound:
        return None


def note_key() -> bool:
    """Record the key of a new installation; return whether it is the recorded one, True if that could not be read.

    Logs what is wrong. Never raises the store's errors.
    """
    try:
        record_key()
        if is_another():
            logger.error("%s %s", ANOTHER, HINT)
            return False
    except ConsoleError as error:
        logger.warning("The record of SECRET_KEY could not be read: %s", describe_error(error))
    return True


def section(now: datetime) -> SystemSection:
    """Return the key's section of the system page. One GetItem. Raises the store's errors."""
    match is_another():
        case None:
            return SystemSection(TITLE, "not recorded", "No key is recorded yet.", "human", hints=("manage.py work",))
        case True:
            return SystemSection(TITLE, "another key", ANOTHER, "bad", hints=("manage.py seal_again --accept-key",))
        case _:
            return SystemSection(TITLE, "ready", "SECRET_KEY is the one that this installation began with.", "good")


@checks.register(checks.Tags.database)
def check_key(app_configs: Any, databases: Any = None, **_: Any) -> Iterator[checks.CheckMessage]:
    """Report another key. Reads the store, so it only runs with `check --database default`, as Django's own do."""
    if databases is None:
        return
    try:
        if is_another():
            yield checks.Error(ANOTHER, hint=HINT, id="console.E019")
    except TableMissing:
        return
    except ConsoleError as error:
        yield checks.Warning(
            f"Whether SECRET_KEY is the right one could not be read: {error}",
            hint="Check the credentials and the connection to DynamoDB, then run the check again.",
            id="console.W004",
        )


def _read() -> KeyRecord:
    return KeyRecord.get(KEY["pk"], KEY["sk"], consistent_read=True)


def _current() -> KeyRecord:
    return KeyRecord(sealed=seal_data(_SEALED_AS, _VALUE))
