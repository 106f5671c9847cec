"""The middleware's state of a conversation (schema middleware, table B), as a panel in words.

Includes the kill switches as it last saw them (table A): it loads `safe_mode` and `automation_enabled` with each event
and writes them into the event's record. Only its newest record counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.utils.text import capfirst

from console import clock
from console.audit import scoping
from console.audit.queries import has_record_index, read_records
from console.audit.rows import records_named_by
from console.errors import ConsoleError, NotFound, TableMissing
from console.redaction import redact, redact_value, without_names
from console.store.calls import parallel
from console.store.models import query
from console.trail.models import AuditEntry, ConversationState, IdempotencyRecord
from console.trees import (
    Fact,
    distance,
    flatten_to_line,
    format_code_name,
    format_message_id,
    instant_fact,
    is_code_name,
    isolated,
    per_cent,
    share_of,
    text_of,
    well_formed,
)

# The console's own records have the switches only because the schema requires them.
CONSOLE_MODE = "console"
LOOKED_AT = 20
# Without the index: the number of trail entries whose records are read.
ENTRIES_LOOKED_AT = 25
SWITCHES_UNKNOWN = "The idempotency table has no index by conversation here, so the kill switches are unknown."

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
    """Both switches as of one record, written at `seen` (None if unreadable; `ago`: in words); or a notice why not."""

    switches: tuple[Switch, ...] = ()
    seen: datetime | None = None
    ago: str = ""
    notice: str = ""


def read_switches(conversation_id: str, now: datetime) -> Switches:
    """Read the switches: one Query of the index by conversation; without it, one of the trail and a BatchGetItem.

    Never raises the store's errors: a notice says what is unknown.
    """
    try:
        if by_index := has_record_index():
            # In text order, records dated by epochs come last: they count only if there are no others.
            records, _ = read_records(conversation_id, limit=LOOKED_AT)
        else:
            records = _named_by_trail(conversation_id)
    except TableMissing as missing:
        if missing.table_key == "AUDIT":
            return Switches(notice=SWITCHES_UNKNOWN)
        return Switches(notice="There is no idempotency table, so the kill switches are unknown.")
    except ConsoleError:
        return Switches(notice="The kill switches could not be read. Try again in a moment.")
    found = switches_of(records, now)
    if found.switches:
        return found
    return Switches(notice="No recorded event names the kill switches." if by_index else SWITCHES_UNKNOWN)


def switches_of(records: Iterable[IdempotencyRecord], now: datetime) -> Switches:
    """Return the switches of the newest record that the middleware wrote; empty without one."""
    theirs = [
        record
        for record in records
        if record.plain("mode") != CONSOLE_MODE
        and not clock.is_expired(record.plain("expires_at"), now)
        and any(record.plain(name) is not None for name in _NAMES)
    ]
    newest = max(
        theirs, key=lambda record: first_processed_at(record) or datetime.min.replace(tzinfo=now.tzinfo), default=None
    )
    if newest is None:
        return Switches()
    at = first_processed_at(newest)
    shown = tuple(_switch(name, newest) for name in _NAMES)
    return Switches(shown, at, distance(at, "ago", now) if at else "at an unknown time")


def first_processed_at(record: IdempotencyRecord) -> datetime | None:
    """Return when an event was first processed, which is when its record was written."""
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


NOTHING = "The middleware has no state for this conversation."
MAX_FLAGS = 50
# Required by the schema.
_REQUIRED = ("updated_at", "expires_at")


@dataclass(frozen=True, slots=True)
class StatePanel:
    """The panel; `notice` is one line if there is nothing to show. `flags` are risks, `drift` breaches of the schema.

    `facts` say what the customer wants and who handles it, `technical` how that was decided.
    """

    facts: tuple[Fact, ...] = ()
    technical: tuple[Fact, ...] = ()
    flags: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    notice: str = ""
    switches: Switches = field(default_factory=Switches)
    moments: tuple["StateMoment", ...] = ()


@dataclass(frozen=True, slots=True)
class StateMoment:
    """A dated event in the state. `at` is None if its time cannot be read."""

    name: str
    at: datetime | None
    words: str
    note: str = ""


def read_panel(trail: str, now: datetime, recipient: tuple[str, ...]) -> StatePanel | None:
    """Return the panel with the kill switches for a conversation's trail, `recipient` names masked; else None.

    The caller has checked role and scope. A GetItem and a Query in parallel; never raises the store's errors.
    """
    if not scoping.is_conversation_trail(trail):
        return None
    found: list[Any] = parallel(partial(read_state, trail, now), partial(read_switches, trail, now))
    panel: StatePanel = replace(found[0], switches=found[1])
    return without_names(panel, recipient)


def read_state(conversation_id: str, now: datetime) -> StatePanel:
    """Read the panel: one GetItem. Never raises the store's errors: a panel that cannot be read says so."""
    try:
        item = ConversationState.get(conversation_id)
    except NotFound:
        return StatePanel(notice=NOTHING)
    except TableMissing:
        return StatePanel(notice="This environment has no middleware state table.")
    except ConsoleError:
        return StatePanel(notice="The middleware's state could not be read. Try again in a moment.")
    if clock.is_expired(item.plain("expires_at"), now):
        return StatePanel(notice=NOTHING)
    return panel_of(item, now)


def panel_of(item: ConversationState, now: datetime) -> StatePanel:
    """Build the panel of a state item; drifted attributes are shown as stored and flagged."""
    flags = _flags(item.plain("risk_flags"))
    facts = (
        Fact("Intent", words_of(item.plain("last_intent"))),
        *(() if flags else (Fact("Risk flags"),)),
        Fact("Routed to", _line(item.plain("last_routed_team"))),
        *_pending(item.plain("pending_flow"), now),
        *_auto_reply(item.plain("last_auto_reply"), now),
    )
    technical = (
        *_confidence(item.plain("last_routing_confidence")),
        instant_fact("Last processed", item.plain("last_processed_at"), "ago", now),
        *_if_set(Fact("Last processed message", _message(item.plain("last_processed_message_id")), mono=True)),
        instant_fact("Updated", item.plain("updated_at"), "ago", now),
        instant_fact("Expires", item.plain("expires_at"), "in", now),
        Fact("Version", _line(item.plain("version"))),
        *(_unknown(name, value) for name, value in sorted(item.unknown().items())),
    )
    return StatePanel(facts, technical, flags, _drift(item), moments=tuple(_moments(item)))


def _moments(item: ConversationState) -> Iterable[StateMoment]:
    team, share = _line(item.plain("last_routed_team")), share_of(item.plain("last_routing_confidence"))
    routed = f"Routed to {isolated(team)}" + (f" ({per_cent(share)})" if share is not None else "") if team else ""
    pending, reply = item.plain("pending_flow"), item.plain("last_auto_reply")
    if (processed := item.plain("last_processed_at")) is not None:
        yield StateMoment("processed", clock.parse_instant(processed), "Last message processed", routed)
    if isinstance(reply, dict) and reply.get("sent_at") is not None:
        yield StateMoment("auto-reply", clock.parse_instant(reply["sent_at"]), "Last automatic reply", _type(reply))
    if isinstance(pending, dict) and pending.get("requested_at") is not None:
        asked = clock.parse_instant(pending["requested_at"])
        yield StateMoment("pending-flow", asked, "Waits for the customer", _type(pending))
    if (updated := item.plain("updated_at")) is not None:
        version = _line(item.plain("version"))
        note = f"Version {version}" if version else ""
        yield StateMoment("updated", clock.parse_instant(updated), "State updated", note)


def _type(value: dict[str, Any]) -> str:
    return words_of(value.get("type"))


def words_of(value: Any) -> str:
    """Return a code name in words, redacted: `need_order_number` is "Need order number"."""
    text = _line(value)
    words = format_code_name(text)
    return capfirst(words) if is_code_name(text) else words


def _confidence(value: Any) -> tuple[Fact, ...]:
    """Return the confidence in per cent and as stored, or only as stored if it is not between 0 and 1."""
    if value is None:
        return ()
    share = share_of(value)
    if share is None:
        return (Fact("Routing confidence", _line(value)),)
    return (Fact("Routing confidence", per_cent(share), note=f"stored as {_line(value)}"),)


def _pending(value: Any, now: datetime) -> tuple[Fact, ...]:
    if not isinstance(value, dict) or not value:
        return (Fact("Pending flow", _line(value)),)
    return (
        Fact("Pending flow", words_of(value.get("type")) or "of no type"),
        *_if_set(instant_fact("Pending flow asked", value.get("requested_at"), "ago", now)),
        *_if_set(Fact("Pending flow attempts", _line(value.get("attempts")))),
        *_others("Pending flow", value, "type", "requested_at", "attempts"),
    )


def _auto_reply(value: Any, now: datetime) -> tuple[Fact, ...]:
    if not isinstance(value, dict) or not value:
        return (Fact("Last auto reply", _line(value)),)
    return (
        Fact("Last auto reply", words_of(value.get("type")) or "of no type"),
        *_if_set(instant_fact("Auto reply sent", value.get("sent_at"), "ago", now)),
        *_if_set(Fact("Auto reply to message", _message(value.get("source_message_id")), mono=True)),
        *_others("Auto reply", value, "type", "sent_at", "source_message_id"),
    )


def _others(of: str, value: dict[str, Any], *known: str) -> list[Fact]:
    """Return an object's other members as facts: their names decide what is masked, such as an order number."""
    return [
        replace(fact, label=f"{of}: {fact.label}")
        for name, each in value.items()
        if name not in known and (fact := _unknown(name, each)).value
    ]


def _unknown(name: str, value: Any) -> Fact:
    """Return an attribute outside the schema as a fact: its name decides what of its value is masked."""
    shown: Any = redact_value({name: well_formed(value)})
    return Fact(redact(text_of(name))[:80].replace("_", " "), _line(next(iter(shown.values()), "")))


def _if_set(fact: Fact) -> tuple[Fact, ...]:
    return (fact,) if fact.value or fact.at else ()


def _flags(value: Any) -> tuple[str, ...]:
    """Parse a set of texts, as the schema requires, or what some writers store: a list, or a text with commas."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = value.split(",")
    values: list[Any] = value if isinstance(value, list) else [value]
    words = (words_of(text_of(each).strip())[:80] for each in values[:MAX_FLAGS])
    beyond = len(values) - MAX_FLAGS
    return (*(word for word in words if word), *((f"and {beyond} more",) if beyond > 0 else ()))


def _drift(item: ConversationState) -> tuple[str, ...]:
    """Describe what breaks the schema, attribute by attribute."""
    found = dict(item.drift)
    found |= {name: "missing" for name in _REQUIRED if item.plain(name) is None}
    confidence = item.plain("last_routing_confidence")
    if confidence is not None and share_of(confidence) is None:
        found.setdefault("last_routing_confidence", "not between 0 and 1")
    for name in ("updated_at", "last_processed_at", "expires_at"):
        _check_instant(found, name, item.plain(name))
    for name, inner in (("pending_flow", "requested_at"), ("last_auto_reply", "sent_at")):
        value = item.plain(name)
        if isinstance(value, dict):
            _check_instant(found, f"{name}.{inner}", value.get(inner))
            if not isinstance(value.get("type"), str):
                found[f"{name}.type"] = "not text"
    return tuple(f"{name}: {what}" for name, what in sorted(found.items()))


def _check_instant(found: dict[str, str], name: str, value: Any) -> None:
    if value is not None and clock.parse_instant(value) is None:
        found.setdefault(name, "not a time")


def _message(value: Any) -> str:
    """Format a message's id as idempotency keys show it, so that people can compare the two."""
    return format_message_id(value)[:300] if isinstance(value, str) else _line(value)


def _line(value: Any) -> str:
    if isinstance(value, dict | list):
        value = flatten_to_line(redact_value(well_formed(value)))
    return "" if value is None else redact(text_of(value))[:300]
