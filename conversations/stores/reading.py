"""What all stores need to read items that others write: one failed read costs a line, one bad attribute a flag."""

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
    """What a read gave; `error` is why it gave nothing."""

    value: T
    error: ConsoleError | None = None

    @property
    def is_denied(self) -> bool:
        """Whether DynamoDB refused the read itself, as it does where a table or index is not there."""
        return isinstance(self.error, NotAccepted | TableMissing)


def attempt(read: Callable[[], T], otherwise: T) -> Callable[[], Attempted[T]]:
    """A read that does not raise the store's errors, but gives `otherwise` and the error."""

    def tried() -> Attempted[T]:
        try:
            return Attempted(read())
        except (StoreUnavailable, Throttled) as error:
            return Attempted(otherwise, error)

    return tried


def index_absent(table_key: str, index: str) -> bool:
    """Whether a table is there, but not that index of it. Never raises: where nobody can say, it is not absent."""
    try:
        return presence.index_absent(table_key, index)
    except ConsoleError:
        return False


def is_designed(error: ConsoleError, table_key: str, index: str) -> bool:
    """Whether a list has nothing because its table or index is not there, rather than for a fault."""
    return isinstance(error, TableMissing) or (isinstance(error, NotAccepted) and index_absent(table_key, index))


class OtherKey(TableMissing):
    """A table has a key that the console does not read by, as the message says."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.args = (message,)


def notice_of(error: ConsoleError | None, what: str, table_key: str, index: str = "") -> tuple[str, ...]:
    """One line on what could not be read and why; none without an error. `what` is a sentence without its end."""
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
    """One strongly consistent GetItem, both ways in DynamoDB JSON. Raises the store's errors."""
    answer = call(
        "GetItem", TableName=table_name(table_key), Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
    )
    return answer.get("Item") or None


# --- Items ----------------------------------------------------------------------------------------------------------


def drift_in(item: ForeignModel, required: Iterable[str], times: Iterable[str]) -> dict[str, str]:
    """What of an item is not as its schema says, by attribute: wrong types, absent values and unreadable times."""
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
    """Drift in words, one for each attribute."""
    return tuple(f"{name}: {what}" for name, what in sorted(drift.items()))


def speaker_of(
    role: Any, attribute: str, known: Iterable[str] = ("user", "assistant")
) -> tuple[Speaker, str, tuple[str, ...]]:
    """Who a stored role names, what they are called, and a flaw for a role that is not among the `known`."""
    if role in (None, ""):
        return Speaker.UNKNOWN, UNKNOWN_SENDER, ()
    word = role.strip().lower() if isinstance(role, str) else ""
    flaws = () if word in known else (f"{attribute}: none that the schema knows",)
    if word in _SPEAKERS:
        return _SPEAKERS[word], _NAMES[_SPEAKERS[word]], flaws
    name = "" if isinstance(role, dict | list) else redact(text_of(role).strip())[:80]
    return Speaker.UNKNOWN, name or UNKNOWN_SENDER, flaws


def shown_tree(value: Any, *, raw: bool) -> Node | None:
    """Any value as a tree without credentials, redacted unless `raw`; None for nothing."""
    if value in (None, "", [], {}):
        return None
    masked = mask_credentials(well_formed(value))
    return tree_of(masked if raw else redact_value(masked))


def fingerprint(item: ForeignModel, *names: str) -> str:
    """These attributes exactly as they are stored; absent and NULL are the same."""
    stored = (item.raw.get(name) for name in names)
    return json.dumps([None if value is None or "NULL" in value else value for value in stored], sort_keys=True)
