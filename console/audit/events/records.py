"""Idempotency records for pages: frozen and redacted, with every attribute of the schema (table A) and its drift."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from console import clock, refs
from console.audit.events.keys import DecodedKey, decode
from console.audit.records import TrailPage
from console.audit.scoping import name_of
from console.audit.state import CONSOLE_MODE, first_processed_at
from console.errors import BadReference
from console.redaction import redact, redact_value, without_names
from console.trail.actions import Result, outcome
from console.trail.models import IdempotencyRecord
from console.trees import (
    Fact,
    Node,
    distance,
    flatten_to_line,
    format_message_id,
    isolated,
    text_of,
    tree_of,
    well_formed,
)

# Attributes that the schema requires. The digest may have either of its two names.
REQUIRED = (
    "created_at",
    "last_processed_at",
    "expires_at",
    "status",
    "mode",
    "conversation_id",
    "safe_mode",
    "automation_enabled",
    "payload_bytes",
)
DIGESTS = ("payload_sha256", "payload_hash")
_LONGEST = 4000
_MODES = {
    "route_only": "route only",
    "automation_candidate": "automation candidate",
    CONSOLE_MODE: "console: a person acted",
}
# Fields with texts of the middleware, which can contain a recipient's name.
_FOREIGN_TEXTS = ("words", "brief", "parts", "mode", "intent", "facts", "other", "flaws")
_TONES: dict[str, str] = {Result.PENDING: "human", Result.CONFLICT: "bad", Result.FAILED: "bad", Result.SUCCESS: "good"}


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One idempotency record. Texts are redacted, except `trail` (its conversation's), which only goes into seals.

    `words` says what the key is about (`brief`: without the conversation). `is_certain`: it has only one reading.
    `switches` and `facts` are the schema's other attributes, `other` those outside it, `flaws` breaches of it.
    """

    reference: str
    key: str
    words: str
    brief: str
    parts: tuple[Fact, ...]
    is_known: bool
    is_certain: bool
    status: str
    tone: str
    at: datetime | None
    mode: str
    intent: str
    switches: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    conversation: str
    trail: str = field(repr=False)
    other: Node | None
    flaws: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProcessedEvent:
    """A record and the trail entries that name its key; `note` says why there are none."""

    record: EventRecord
    entries: TrailPage
    note: str = ""


@dataclass(frozen=True, slots=True)
class UnrecordedKey:
    """What a key without a record says, and the trail entries that name it; fields as in `EventRecord`."""

    key: str
    words: str
    parts: tuple[Fact, ...]
    is_certain: bool
    trail: str = field(repr=False)
    entries: TrailPage
    note: str = ""


@dataclass(frozen=True, slots=True)
class EventPage:
    """One page of a conversation's records, newest first. `next` and `back` are sealed cursors ("" for none)."""

    conversation: str
    rows: tuple[EventRecord, ...] = ()
    next: str = ""
    back: str = ""
    notice: str = ""


def record_of(item: IdempotencyRecord, now: datetime, recipient: tuple[str, ...] = ()) -> EventRecord:
    """Build a record from a stored item of any writer, without the names of its `recipient`. Never raises."""
    conversation = item.plain("conversation_id")
    conversation = conversation if isinstance(conversation, str) else ""
    key = str(item.plain("event_id"))
    decoded = decode(key, conversation)
    status = _line(item, "status")
    other = {name: value for name, value in item.unknown().items() if name not in DIGESTS}
    shown = EventRecord(
        reference=refs.seal("event", key),
        key=decoded.shown,
        words=decoded.description,
        brief=decoded.in_brief,
        parts=parts_of(decoded),
        is_known=decoded.format is not None,
        is_certain=decoded.certain,
        status=status or "unknown",
        tone="good" if status == "processed" else _TONES.get(outcome(status), "plain"),
        at=first_processed_at(item),
        mode=_mode(item),
        intent=_line(item, "intent"),
        switches=_switches(item),
        facts=_facts(item, now),
        conversation=name_of(conversation) if conversation else "",
        trail=conversation,
        other=tree_of(redact_value(well_formed(other))) if other else None,
        flaws=_flaws(item, decoded, conversation),
    )
    return replace(shown, **without_names({name: getattr(shown, name) for name in _FOREIGN_TEXTS}, recipient))


def parts_of(decoded: DecodedKey) -> tuple[Fact, ...]:
    """Return the parts of a key as facts."""
    return tuple(Fact(part.label, part.shown, mono=True) for part in decoded.parts)


def _switches(item: IdempotencyRecord) -> tuple[Fact, ...]:
    """Return the kill switches as recorded; amber where one holds the automation back."""
    ours = _is_ours(item)
    words = {
        ("Safe mode", "safe_mode"): {True: ("on", "human"), False: ("off", "plain")},
        ("Automation", "automation_enabled"): {
            True: ("enabled", "plain"),
            False: ("disabled", "" if ours else "human"),
        },
    }
    facts = []
    for (label, name), tones in words.items():
        value = item.plain(name)
        if isinstance(value, bool):
            word, tone = tones[value]
            note = "(a person acted: no switch applies)" if ours else ""
            facts.append(Fact(label, word, tone=tone, note=note))
        else:
            facts.append(Fact(label, _line(item, name)))
    return tuple(facts)


def _is_ours(item: IdempotencyRecord) -> bool:
    return bool(item.plain("mode") == CONSOLE_MODE)


def _facts(item: IdempotencyRecord, now: datetime) -> tuple[Fact, ...]:
    facts = [
        _moment(item, "Created", "created_at", now),
        _moment(item, "Received", "received_at", now),
        _moment(item, "Last processed", "last_processed_at", now),
        _moment(item, "Expires", "expires_at", now),
        Fact("Mode", _mode(item)),
        Fact("Intent", _line(item, "intent"), mono=True),
        Fact("Conversation", _line(item, "conversation_id"), mono=True),
        Fact("Source message", _message(item), mono=True),
        *_digests(item),
        Fact("Payload size", _amount(item, "payload_bytes", "byte")),
    ]
    if _is_ours(item) or item.plain("attempts") is not None:
        facts.append(Fact("Attempts", _amount(item, "attempts")))
    if _is_ours(item) or item.plain("ts_action_id") is not None:
        facts.append(Fact("Trail entry", _line(item, "ts_action_id"), mono=True))
    if item.plain("reference") is not None:
        facts.append(Fact("Reference", "sealed, of the conversation" if _is_sealed(item) else "cannot be opened"))
    return tuple(facts)


def _digests(item: IdempotencyRecord) -> list[Fact]:
    """Return the payload's digest under the name it is stored as: the schema has two."""
    there = [name for name in DIGESTS if item.plain(name) is not None]
    return [Fact("Payload digest", _line(item, name), mono=True, note=name) for name in there or DIGESTS[:1]]


def _moment(item: IdempotencyRecord, label: str, name: str, now: datetime) -> Fact:
    """Return a time with its distance from now; an unreadable one as its redacted text."""
    value = item.plain(name)
    at = clock.parse_instant(value)
    if at is None:
        nothing = "never: it has no TTL" if name == "expires_at" and value is None else ""
        return Fact(label, _line(item, name) or nothing)
    return Fact(label, at=at, note=f"({distance(at, 'ago' if at <= now else 'in', now)})")


def _mode(item: IdempotencyRecord) -> str:
    mode = _line(item, "mode")
    return _MODES.get(mode, mode)


def _amount(item: IdempotencyRecord, name: str, unit: str = "") -> str:
    value = item.plain(name)
    shown = _shown(name, value)
    # Masked, of another type, or not a plausible amount.
    if shown != value or type(value) is not int or not 0 <= value < 10**12:
        return _line(item, name)
    return f"{value:,} {unit}{'' if value == 1 else 's'}" if unit else f"{value:,}"


def _message(item: IdempotencyRecord) -> str:
    """Format the source message's id as the record's key shows it, so that the two can be compared."""
    value = item.plain("source_message_id")
    return format_message_id(value)[:_LONGEST] if isinstance(value, str) else _line(item, "source_message_id")


def _line(item: IdempotencyRecord, name: str) -> str:
    """Format an attribute as one line: its name decides what is masked, then its value."""
    value = _shown(name, item.plain(name))
    if value is None or value == "":
        return ""
    return redact(text_of(flatten_to_line(value) if isinstance(value, dict | list) else value))[:_LONGEST]


def _shown(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    masked: Any = redact_value({name: well_formed(value)})
    return next(iter(masked.values()))


def _is_sealed(item: IdempotencyRecord) -> bool:
    """Return whether this console sealed `reference`, whose text is never shown."""
    reference = item.plain("reference")
    try:
        refs.unseal("conversation", reference if isinstance(reference, str) else "", 2)
    except BadReference:
        return False
    return True


def _flaws(item: IdempotencyRecord, decoded: DecodedKey, conversation: str) -> tuple[str, ...]:
    """Describe each breach of the schema."""
    flaws = [f"{name}: {what}" for name, what in sorted(item.drift.items())]
    missing = [name for name in REQUIRED if item.plain(name) is None]
    if all(item.plain(name) is None for name in DIGESTS):
        missing.append(DIGESTS[0])
    if missing:
        flaws.append(f"missing: {', '.join(missing)}")
    flaws += [
        f"{name}: not a readable time"
        for name in ("created_at", "received_at", "last_processed_at", "expires_at")
        if name not in item.drift and item.plain(name) is not None and clock.parse_instant(item.plain(name)) is None
    ]
    digests = {str(item.plain(name)) for name in DIGESTS if item.plain(name) is not None}
    if len(digests) > 1:
        flaws.append("payload_sha256 and payload_hash differ")
    if decoded.complete and conversation and decoded.conversation != conversation:
        flaws.append(f"the key names another conversation: {isolated(redact(text_of(decoded.conversation)))}")
    unknown = sorted(name for name in item.unknown() if name not in DIGESTS)
    if unknown:
        flaws.append(f"unknown attributes: {', '.join(isolated(redact(text_of(name))[:60]) for name in unknown[:20])}")
    return tuple(flaws)
