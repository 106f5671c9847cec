"""Shared reading of items by other writers: a failed read costs a notice, a bad attribute a flag, never the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from console import clock
from console.errors import ConsoleError, NotAccepted, StoreUnavailable, TableMissing, Throttled
from console.redaction import redact, redact_value
from console.redaction.credentials import mask_credentials
from console.schema.tables import TABLES
from console.store import presence
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import ForeignModel
from console.trees import Node, text_of, tree_of, well_formed
from conversations.records import Speaker

T = TypeVar("T")

_SPEAKERS = {"user": Speaker.CUSTOMER, "assistant": Speaker.AI, "system": Speaker.SYSTEM}
_NAMES = {Speaker.CUSTOMER: "User", Speaker.AI: "Assistant", Speaker.SYSTEM: "System"}
UNKNOWN_SENDER = "Unknown sender"


# --- Reads ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attempted(Generic[T]):
    """The result of a read; `error` is why there is none."""

    value: T
    error: ConsoleError | None = None

    @property
    def is_denied(self) -> bool:
        """Whether DynamoDB refused the read itself, as it does if a table or index is missing."""
        return isinstance(self.error, NotAccepted | TableMissing)


def capture_errors(read: Callable[[], T], otherwise: T) -> Callable[[], Attempted[T]]:
    """Wrap a read so that it returns `otherwise` and the error instead of raising the store's errors."""

    def tried() -> Attempted[T]:
        try:
            return Attempted(read())
        except (StoreUnavailable, Throttled) as error:
            return Attempted(otherwise, error)

    return tried


def index_absent(table_key: str, index: str) -> bool:
    """Return whether a table exists without that index. Never raises: if this cannot be determined, return False."""
    try:
        return presence.index_absent(table_key, index)
    except ConsoleError:
        return False


def is_missing_by_design(error: ConsoleError, table_key: str, index: str) -> bool:
    """Return whether a read failed because its table or index is missing, and not because of a fault."""
    return isinstance(error, TableMissing) or (isinstance(error, NotAccepted) and index_absent(table_key, index))


class OtherKey(TableMissing):
    """Raised when a table has a key that the console does not support, as the message says."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.args = (message,)


def notice_of(error: ConsoleError | None, what: str, table_key: str, index: str = "") -> tuple[str, ...]:
    """Return one line on what could not be read, and why; none without an error. `what` is the start of it."""
    if error is None:
        return ()
    if isinstance(error, OtherKey):
        return (f"{what}: {error}",)
    if index and isinstance(error, NotAccepted | TableMissing) and index_absent(table_key, index):
        return (f"{what}: the index {index} is missing in this environment.",)
    if isinstance(error, TableMissing):
        return (f"{what}: the table {TABLES[table_key].base} is missing in this environment.",)
    why = "is busy" if isinstance(error, Throttled) else "did not answer"
    return (f"{what}: the database {why}. Reload the page to try again.",)


def get_item(table_key: str, key: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an item with one strongly consistent GetItem, in DynamoDB JSON like its key. Raises the store's errors."""
    answer = call(
        "GetItem", TableName=table_name(table_key), Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
    )
    return answer.get("Item") or None


# --- Items ----------------------------------------------------------------------------------------------------------


def drift_in(item: ForeignModel, required: Iterable[str], times: Iterable[str]) -> dict[str, str]:
    """Return how an item deviates from its schema, by attribute: wrong types, absent values and unreadable times."""
    found = dict(item.drift)
    for name in required:
        stored = item.raw.get(name)
        if stored is None or "NULL" in stored:
            found[name] = "missing" if stored is None else "NULL"
        elif stored == {"S": ""}:
            found[name] = "empty text"
    for name in times:
        if item.plain(name) is not None and clock.parse_instant(item.plain(name)) is None:
            found.setdefault(name, "no time that can be read")
    return found


def described(drift: Mapping[str, str]) -> tuple[str, ...]:
    """Return drift in words, one text for each attribute."""
    return tuple(f"{name}: {what}" for name, what in sorted(drift.items()))


def speaker_of(
    role: Any, attribute: str, known: Iterable[str] = ("user", "assistant")
) -> tuple[Speaker, str, tuple[str, ...]]:
    """Return the speaker of a stored role, their name, and a flaw if the role is not among the `known`."""
    if role in (None, ""):
        return Speaker.UNKNOWN, UNKNOWN_SENDER, ()
    word = role.strip().lower() if isinstance(role, str) else ""
    flaws = () if word in known else (f"{attribute}: not a value that the schema knows",)
    if word in _SPEAKERS:
        return _SPEAKERS[word], _NAMES[_SPEAKERS[word]], flaws
    name = "" if isinstance(role, dict | list) else redact(text_of(role).strip())[:80]
    return Speaker.UNKNOWN, name or UNKNOWN_SENDER, flaws


def shown_tree(value: Any, *, raw: bool) -> Node | None:
    """Return any value as a tree without credentials, redacted unless `raw`; None if it is empty."""
    if value in (None, "", [], {}):
        return None
    masked = mask_credentials(well_formed(value))
    return tree_of(masked if raw else redact_value(masked))


def fingerprint(item: ForeignModel, *names: str) -> str:
    """Return these attributes exactly as they are stored; absent and NULL are the same."""
    stored = (item.raw.get(name) for name in names)
    return json.dumps([None if value is None or "NULL" in value else value for value in stored], sort_keys=True)
