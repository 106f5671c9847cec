"""The kill switches as the middleware last saw them for a conversation (schema middleware, table A).

The middleware loads `safe_mode` and `automation_enabled` with each event and writes them into its record. Only its
newest record counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.audit.history import has_record_index, read_records
from console.audit.rows import records_named_by
from console.errors import ConsoleError, TableMissing
from console.facts import distance
from console.store.streams import query
from console.trail.models import AuditEntry, IdempotencyRecord

# The console's own records have the attributes only because the schema requires them.
CONSOLE_MODE = "console"
LOOKED_AT = 20
# Without the index: entries whose records are looked up.
ENTRIES_LOOKED_AT = 25
NOT_TOLD = "The idempotency table has no index by conversation here, so the kill switches are unknown."

_NAMES = {
    "safe_mode": ("Safe mode", {True: ("Safe mode on", "human"), False: ("Safe mode off", "")}),
    "automation_enabled": (
        "Automation",
        {True: ("Automation enabled", ""), False: ("Automation disabled", "human")},
    ),
}


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch in words. `tone` is "human" if it holds automation back, "bad" if it cannot be read."""

    words: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Switches:
    """Both switches as of one record, seen at `seen` (None: unreadable; `ago`: in words); or a notice why not."""

    switches: tuple[Switch, ...] = ()
    seen: datetime | None = None
    ago: str = ""
    notice: str = ""


def read_switches(conversation_id: str, now: datetime) -> Switches:
    """One Query of the index by conversation; without it, a Query of the trail and a BatchGetItem of what it names.

    Never raises the store's errors: a notice says what is unknown.
    """
    try:
        if by_index := has_record_index():
            # Those of writers that date them by epochs come only where there are no others.
            records, _ = read_records(conversation_id, limit=LOOKED_AT)
        else:
            records = _named_by_trail(conversation_id)
    except TableMissing as missing:
        if missing.table_key == "AUDIT":
            return Switches(notice=NOT_TOLD)
        return Switches(notice="There is no idempotency table, so the kill switches are unknown.")
    except ConsoleError:
        return Switches(notice="The kill switches could not be read. Try again in a moment.")
    found = switches_of(records, now)
    if found.switches:
        return found
    return Switches(notice="No recorded event names the kill switches." if by_index else NOT_TOLD)


def switches_of(records: Iterable[IdempotencyRecord], now: datetime) -> Switches:
    """The switches of the newest of these records that the middleware wrote; empty without one."""
    theirs = [
        record
        for record in records
        if record.plain("mode") != CONSOLE_MODE
        and not clock.is_expired(record.plain("expires_at"), now)
        and any(record.plain(name) is not None for name in _NAMES)
    ]
    newest = max(theirs, key=lambda record: seen_at(record) or datetime.min.replace(tzinfo=now.tzinfo), default=None)
    if newest is None:
        return Switches()
    at = seen_at(newest)
    shown = tuple(_switch(name, newest) for name in _NAMES)
    return Switches(shown, at, distance(at, "ago", now) if at else "at an unknown time")


def seen_at(record: IdempotencyRecord) -> datetime | None:
    """When an event was first processed: its record was written then."""
    return clock.parse_instant(record.plain("created_at")) or clock.parse_instant(record.plain("received_at"))


def _switch(name: str, record: IdempotencyRecord) -> Switch:
    label, words = _NAMES[name]
    value = record.plain(name)
    if isinstance(value, bool):
        return Switch(*words[value])
    found = "not in the record" if value is None else record.drift.get(name, "not readable")
    return Switch(f"{label} unknown: {found}", "bad")


def _named_by_trail(conversation_id: str) -> list[IdempotencyRecord]:
    items, _ = query(AuditEntry, conversation_id, limit=ENTRIES_LOOKED_AT, forward=False)
    records = records_named_by(map(AuditEntry.from_raw_data, items))
    return [record for record in records if record.plain("conversation_id") in (None, "", conversation_id)]
