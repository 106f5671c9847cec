"""From stored trail entries and idempotency records to rows: parsed tolerantly, redacted again, said in words."""

import json
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.audit.events.keys import decode, shown_key
from console.audit.records import TrailRow
from console.audit.sentences import COLLEAGUES, sentence, tone
from console.bidi import isolated
from console.redaction import redact, redact_value
from console.refs import seal
from console.trail.actions import STAFF_TRAIL, Action, outcome, staff_trail
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.results import REFUSED, outcome_of, reason_of
from console.trees import text_of, tree_of, well_formed

PLATFORM_NAMES = {"platform": "The platform", "command-line": "An operator", "unknown": "Somebody"}
# Who acted where an entry names nobody.
NO_ACTOR = "Middleware"

# Entries made once in a period have its beginning in their key; none is longer.
LONGEST_PERIOD = timedelta(hours=1)
_MADE_ONCE = (
    Action.TRANSCRIPT_OPENED,
    Action.PERSON_LOOKED_UP,
    Action.CODE_ASKED,
    Action.SIGN_IN_FAILED,
    Action.SIGN_IN_THROTTLED,
    Action.ACCESS_DENIED,
    Action.PERSON_SEARCHED,
    Action.RECIPIENT_REVEALED,
)


def row_of_entry(
    entry: AuditEntry, at: datetime | None, names: dict[str, str], record: IdempotencyRecord | None
) -> TrailRow:
    """One audit entry. `names` are display names by username; `record` is that of its key, if any."""
    action = redact(_text(entry.plain("action_type"))) or "unknown"
    state = outcome_of(entry)
    payload = as_payload(entry.plain("action_payload_redacted"))
    actor = _text(entry.plain("actor"))
    who = PLATFORM_NAMES.get(actor) or redact(names.get(actor) or actor)
    key = _text(entry.plain("idempotency_key"))
    drift = [f"{name}: {what}" for name, what in sorted(entry.drift.items())]
    if at is None:
        drift.append("its time cannot be read")
    return TrailRow(
        at=moment_of(action, at, payload),
        sentence=sentence(action, isolated(who), state, _with_people(payload, entry, actor, names)) + _times(entry),
        who=who or NO_ACTOR,
        role=redact(_text(entry.plain("actor_role"))),
        action=action,
        outcome=REFUSED if action == Action.ACCESS_DENIED else state,
        note=reason_of(entry.plain("result"))[:300],
        tone=tone(action, state),
        key=shown_key(key),
        record=_record_words(record) if key else "",
        payload=tree_of(payload) if payload not in (None, "", {}, []) else None,
        drift=tuple(drift),
        reference=reference_of(entry),
    )


def times_of(entry: AuditEntry) -> int:
    """How often it happened: entries of refusals count those of their minute."""
    times = entry.plain("times")
    return times if isinstance(times, int) and times > 1 else 1


def _times(entry: AuditEntry) -> str:
    return f", {times:,} times" if (times := times_of(entry)) > 1 else ""


def reference_of(entry: AuditEntry) -> str:
    """The sealed reference of an entry's page."""
    return seal("entry", _text(entry.plain("conversation_id")), _text(entry.plain("ts_action_id")))


def _with_people(payload: Any, entry: AuditEntry, actor: str, names: dict[str, str]) -> Any:
    """The payload with the account that it is about, and with the name of the colleague whose username it holds."""
    if entry.plain("action_type") == Action.HAND_OFF_TAKE_FROM_COLLEAGUE and isinstance(payload, dict):
        named = {field: redact(names[who]) for field, who in _colleagues(payload) if who in names}
        return payload | named
    return _with_account(payload, entry, actor)


def _colleagues(payload: dict[str, Any]) -> list[tuple[str, str]]:
    return [(field, who) for field in COLLEAGUES if isinstance(who := payload.get(field), str) and who]


def colleagues_in(entry: AuditEntry) -> list[str]:
    """The usernames of those that an entry says something was taken from."""
    if entry.plain("action_type") != Action.HAND_OFF_TAKE_FROM_COLLEAGUE:
        return []
    payload = as_payload(entry.plain("action_payload_redacted"))
    return [who for _, who in _colleagues(payload)] if isinstance(payload, dict) else []


def _with_account(payload: Any, entry: AuditEntry, actor: str) -> Any:
    """The payload with the account that an entry is about, which its trail tells, where it is somebody else's."""
    trail = _text(entry.plain("conversation_id"))
    if not trail.startswith(STAFF_TRAIL) or trail == staff_trail(actor) or not isinstance(payload, dict | None):
        return payload
    return {"account": redact(trail.removeprefix(STAFF_TRAIL))} | (payload or {})


def moment_of(action: Any, at: datetime | None, payload: Any) -> datetime | None:
    """When it was: the instant of the key, or that of the payload where the key holds the beginning of its period."""
    if at is None or not may_be_later(action, at) or not isinstance(payload, dict):
        return at
    stated = clock.parse_instant(payload.get("at"))
    return stated if stated and at <= stated < at + LONGEST_PERIOD else at


def may_be_later(action: Any, at: datetime) -> bool:
    """Whether an entry is one made once in a period, so that its payload may tell a later time than its key."""
    return action in _MADE_ONCE and not at.second and not at.microsecond


def row_of_record(record: IdempotencyRecord) -> TrailRow | None:
    """An idempotency record as a line of its own: when an event came in. None for our own: its entry tells."""
    if record.plain("mode") == "console":
        return None
    key = _text(record.plain("event_id"))
    at = clock.parse_instant(record.plain("received_at")) or clock.parse_instant(record.plain("created_at"))
    status = _text(record.plain("status")) or "unknown"
    facts = {
        name: record.plain(name)
        for name in (
            "status",
            "mode",
            "intent",
            "safe_mode",
            "automation_enabled",
            "source_message_id",
            "payload_bytes",
        )
        if record.plain(name) is not None
    }
    facts |= record.unknown()
    decoded = decode(key, _text(record.plain("conversation_id")))
    drift = [f"{name}: {what}" for name, what in sorted(record.drift.items())]
    return TrailRow(
        at=at,
        sentence=decoded.meaning,
        who=NO_ACTOR,
        role="",
        action="idempotency record",
        outcome=status if status in ("pending", "processed") else outcome(status),
        tone="pending" if status == "pending" else "",
        note=decoded.between,
        key=decoded.shown,
        payload=tree_of(redact_value(well_formed(facts))),
        drift=tuple(drift),
    )


def as_payload(stored: Any) -> Any:
    """An entry's payload as plain Python, redacted again: JSON as text, a map that a writer stored as such, or text."""
    if isinstance(stored, str):
        try:
            stored = json.loads(stored)
        except (ValueError, RecursionError):
            return redact(text_of(stored))
    return redact_value(well_formed(stored))


def _record_words(record: IdempotencyRecord | None) -> str:
    if record is None:
        return "no idempotency record, or it has expired"
    status, mode = _text(record.plain("status")) or "unknown", _text(record.plain("mode"))
    return redact(f"{status}, {mode}" if mode else status)[:120]


def text_in(entry: AuditEntry, name: str) -> str:
    """An attribute of an entry as text, as it is stored; "" where it is absent, empty or no plain value."""
    value = entry.plain(name)
    return text_of(value) if value not in (None, "") and not isinstance(value, dict | list) else ""


def _text(value: Any) -> str:
    return (
        ""
        if value is None
        else text_of(value if not isinstance(value, dict | list) else json.dumps(value, default=str))
    )
