"""Rows from stored trail entries and idempotency records: parsed tolerantly, redacted again, described in words."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from console import clock
from console.audit.events.keys import decode
from console.audit.records import TrailRow
from console.audit.scoping import is_conversation_trail, recipient_names
from console.audit.sentences import sentence, tone
from console.errors import ConsoleError, TableMissing
from console.permissions import Role
from console.redaction import redact, redact_value, without_names
from console.refs import seal
from console.staff.models import StaffAccount
from console.store.calls import parallel
from console.store.connection import batch_get, batch_get_each
from console.store.models import Key, fits
from console.trail.actions import (
    COLLEAGUES,
    REFUSED,
    TAKEN_BACK,
    UNDONE,
    Action,
    Result,
    as_payload,
    happened_at,
    outcome,
    outcome_of,
    payload_of,
    reason_of_entry,
    text_in,
    times_of,
)
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.recording import STAFF_TRAIL, staff_trail
from console.trees import clean, isolated, text_of, tree_of, well_formed

_ACTIONS = frozenset(Action)
STAFF_ROLES = frozenset(role.value for role in Role)
PLATFORM_NAMES = {
    "platform": "The platform",
    "rule": "A rule",
    "command-line": "An operator",
    "timer": "The timers",
    "sender": "The sender",
    "notifier": "The notifier",
    "unknown": "Somebody",
}
# Shown as the actor of entries that name none.
NO_ACTOR = "Middleware"

_RECORD_FACTS = (
    "status",
    "mode",
    "intent",
    "safe_mode",
    "automation_enabled",
    "source_message_id",
    "payload_bytes",
)


def key_of(entry: AuditEntry) -> str:
    """Return the idempotency key that an entry names; "" if it names none, or an impossible one."""
    key = entry.plain("idempotency_key")
    # Longer values cannot be keys of the table, and one would fail the whole batch.
    return key if isinstance(key, str) and fits(key) else ""


def reference_of(entry: AuditEntry) -> str:
    """Return the sealed reference of an entry's page."""
    return seal("entry", _text(entry.plain("conversation_id")), _text(entry.plain("ts_action_id")))


# --- One row ----------------------------------------------------------------------------------------------------------


def row_of_entry(
    entry: AuditEntry,
    names: dict[str, str],
    record: IdempotencyRecord | None,
    mask: Callable[[str], str] = redact,
) -> TrailRow:
    """Return the row of an audit entry. `names` are display names by username; `record` is its key's, if any.

    `mask` is `redact`, or the same with a memory for the texts that several rows of a page share.
    """
    action, state = mask(_text(entry.plain("action_type"))) or "unknown", outcome_of(entry)
    if action not in _ACTIONS:
        action = without_names(action, entry.recipient)
    key = _text(entry.plain("idempotency_key"))
    payload = as_payload(entry)
    actor = _text(entry.plain("actor"))
    who = PLATFORM_NAMES.get(actor) or mask(names.get(actor) or actor)
    at, times = happened_at(entry), times_of(entry)
    drift = [f"{name}: {what}" for name, what in sorted(entry.drift.items())]
    note = reason_of_entry(entry)[:300]
    if state == Result.FAILED and note.startswith(TAKEN_BACK):
        state = UNDONE
    words = sentence(action, isolated(who), state, _with_people(payload, entry, actor, names))
    return TrailRow(
        at=at,
        sentence=words + (f", {times:,} times" if times > 1 else ""),
        who=who or NO_ACTOR,
        role=mask(_text(entry.plain("actor_role"))),
        action=action,
        outcome=REFUSED if action == Action.ACCESS_DENIED else state,
        note=note,
        tone=tone(action, state),
        key=decode(key).shown,
        record=_record_words(record) if key else "",
        payload=tree_of(payload) if payload not in (None, "", {}, []) else None,
        drift=(*drift, *(("its time cannot be read",) if at is None else ())),
        reference=reference_of(entry),
    )


def row_of_record(record: IdempotencyRecord, recipient: tuple[str, ...] = ()) -> TrailRow | None:
    """Return a row for an idempotency record: an event came in. None for the console's own, which have an entry.

    `recipient` contains the names of its conversation's recipient, to mask.
    """
    if record.plain("mode") == "console":
        return None
    status = _text(record.plain("status")) or "unknown"
    facts = {name: record.plain(name) for name in _RECORD_FACTS if record.plain(name) is not None}
    decoded = decode(_text(record.plain("event_id")), _text(record.plain("conversation_id")))
    return TrailRow(
        at=clock.parse_instant(record.plain("received_at")) or clock.parse_instant(record.plain("created_at")),
        sentence=without_names(decoded.meaning, recipient),
        who=NO_ACTOR,
        role="",
        action="idempotency record",
        outcome=status if status in ("pending", "processed") else outcome(status),
        tone="pending" if status == "pending" else "",
        note=without_names(decoded.between, recipient),
        key=decoded.shown,
        payload=tree_of(without_names(redact_value(well_formed(facts | record.unknown())), recipient)),
        drift=tuple(f"{name}: {what}" for name, what in sorted(record.drift.items())),
    )


# Actions whose sentences name another colleague.
_NAME_COLLEAGUES = (Action.HAND_OFF_TAKE_FROM_COLLEAGUE, Action.HAND_OFF_ASSIGN)


def _with_people(payload: Any, entry: AuditEntry, actor: str, names: dict[str, str]) -> Any:
    """Return the payload with the account that the entry is about, or with colleagues' names for their usernames."""
    if entry.plain("action_type") in _NAME_COLLEAGUES and isinstance(payload, dict):
        return payload | {field: redact(names[who]) for field, who in _colleagues(payload) if who in names}
    trail = _text(entry.plain("conversation_id"))
    if not trail.startswith(STAFF_TRAIL) or trail == staff_trail(actor) or not isinstance(payload, dict | None):
        return payload
    return {"account": redact(trail.removeprefix(STAFF_TRAIL))} | (payload or {})


def _colleagues(payload: dict[str, Any]) -> list[tuple[str, str]]:
    return [(field, who) for field in COLLEAGUES if isinstance(who := payload.get(field), str) and who]


def _record_words(record: IdempotencyRecord | None) -> str:
    if record is None:
        return "no idempotency record, or it has expired"
    status, mode = _text(record.plain("status")) or "unknown", _text(record.plain("mode"))
    return redact(f"{status}, {mode}" if mode else status)[:120]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return text_of(json.dumps(value, default=str) if isinstance(value, dict | list) else value)


# --- Several rows -----------------------------------------------------------------------------------------------------


def rows_and_records(
    entries: Sequence[AuditEntry], recipient: tuple[str, ...] | None = None
) -> tuple[list[TrailRow], Iterable[IdempotencyRecord], str]:
    """Return a row for each entry, in their order; the records that they name; and why those could not be read, or "".

    One BatchGetItem for some 50 entries: the records, and the names of staff. `recipient` contains the names of the one
    conversation's recipient; None: see `note_recipients`, whose Queries run in parallel.
    """
    found: list[Any] = parallel(partial(_read_beside, entries), *_recipients_of(entries, recipient))
    records, missing, names = found[0]
    mask = cache(redact)
    rows = [row_of_entry(entry, names, records.get(key_of(entry)), mask) for entry in entries]
    if missing:
        # A record that could not be read must not be shown as absent.
        rows = [replace(row, record="") for row in rows]
    return rows, records.values(), missing


def _read_beside(entries: Sequence[AuditEntry]) -> tuple[dict[str, IdempotencyRecord], str, dict[str, str]]:
    """Read the records that entries name and the display names of their staff; also return why there are no records."""
    try:
        records, accounts = batch_get_each(("IDEMPOTENCY", _record_keys(entries), ()), _accounts_of(entries))
        return *_by_key(records), _names_in(accounts)
    except ConsoleError:
        # One of the tables may be missing, or be at fault.
        return *_records_by_key(entries), display_names(entries)


def _record_keys(entries: Iterable[AuditEntry]) -> list[dict[str, str]]:
    return [{"event_id": key} for key in dict.fromkeys(filter(None, map(key_of, entries)))]


def records_named_by(entries: Iterable[AuditEntry]) -> list[IdempotencyRecord]:
    """Read the idempotency records of the keys in these entries: a BatchGetItem. Raises the store's errors."""
    return [IdempotencyRecord.from_raw_data(raw) for raw in batch_get("IDEMPOTENCY", _record_keys(entries))]


def _records_by_key(entries: Sequence[AuditEntry]) -> tuple[dict[str, IdempotencyRecord], str]:
    try:
        return _by_key(batch_get("IDEMPOTENCY", _record_keys(entries)))
    except TableMissing:
        return {}, "This environment has no idempotency table, so the trail is shown without records."
    except ConsoleError:
        return {}, "The idempotency records could not be read. Try again in a moment."


def _by_key(stored: Iterable[Key]) -> tuple[dict[str, IdempotencyRecord], str]:
    now = clock.now()
    found = map(IdempotencyRecord.from_raw_data, stored)
    kept = (each for each in found if not clock.is_expired(each.plain("expires_at"), now))
    return {str(each.plain("event_id")): each for each in kept}, ""


def display_names(entries: Iterable[AuditEntry]) -> dict[str, str]:
    """Return display names of the staff in these entries by username; empty if they cannot be read."""
    try:
        return _names_in(batch_get(*_accounts_of(entries)))
    except ConsoleError:
        return {}


def _accounts_of(entries: Iterable[AuditEntry]) -> tuple[str, list[dict[str, str]], tuple[str, str]]:
    """Return table, keys and attributes of the accounts that entries name."""
    wanted: set[str] = set()
    for entry in entries:
        if text_in(entry, "actor_role") in STAFF_ROLES:
            wanted.add(clean(str(entry.plain("actor"))))
            if entry.plain("action_type") in _NAME_COLLEAGUES:
                wanted.update(who for _, who in _colleagues(payload_of(entry)))
    return "STAFF", [{"username": name} for name in sorted(wanted) if fits(name)], ("username", "display_name")


def _names_in(stored: Iterable[Key]) -> dict[str, str]:
    accounts = map(StaffAccount.from_raw_data, stored)
    return {account.username: account.display_name for account in accounts if account.display_name}


# --- Names of recipients ----------------------------------------------------------------------------------------------


def note_recipients(entries: Iterable[AuditEntry]) -> None:
    """Set the `recipient` of entries of any conversations, so that what is shown of them masks those names.

    One Query, in parallel, for each conversation with an entry that can contain a name: another service's, or a reason
    written by a version that did not mask names. Raises the store's errors.
    """
    parallel(*_recipients_of(entries, None))


def _recipients_of(entries: Iterable[AuditEntry], recipient: tuple[str, ...] | None) -> list[Callable[[], None]]:
    """Return the work of setting `recipient`: the one given, or that of each entry's conversation."""
    trails: dict[str, list[AuditEntry]] = {}
    for entry in entries:
        if recipient is not None:
            entry.recipient = recipient
        elif not entry.plain("gsi_actor") or _may_name_recipient(entry):
            trails.setdefault(_text(entry.plain("conversation_id")), []).append(entry)

    def note(trail: str) -> None:
        names = recipient_names(trail)
        for entry in trails[trail]:
            entry.recipient = names

    return [partial(note, trail) for trail in trails if is_conversation_trail(trail)]


def _may_name_recipient(entry: AuditEntry) -> bool:
    """Return whether an entry of the console has a reason that was written before names were masked in them.

    Versions that mask names also write the review partition; entries of earlier ones got theirs later.
    """
    masks = entry.gsi_review and not entry.is_backfilled
    return not masks and "reason" in _text(entry.plain("action_payload_redacted"))
