"""The rows of an audit export, redacted again."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from console import clock
from console.audit.rows import NO_ACTOR, display_names, note_recipients, row_of_entry
from console.audit.scoping import is_conversation_trail, name_of
from console.exports import as_text, iso_cell, without_isolates
from console.redaction import redact
from console.trail.actions import as_payload
from console.trail.models import AuditEntry


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One row; its fields are the columns, in order. Texts are redacted; times are ISO 8601 in UTC, "" if unknown."""

    time: str
    action: str
    what_happened: str
    actor: str
    role: str
    result: str
    note: str
    company: str
    trail: str
    idempotency_key: str
    payload: Any
    action_id: str
    expires: str


COLUMNS = tuple(each.name for each in fields(ExportRow))


def rows_of_piece(entries: Sequence[AuditEntry]) -> tuple[ExportRow, ...]:
    """Return the rows of some entries, in their order.

    Reads the names of staff, a BatchGetItem for each 100 of them, and those of recipients, as `note_recipients`.
    """
    note_recipients(entries)
    names = display_names(entries)
    return tuple(row_of(entry, names) for entry in entries)


def row_of(entry: AuditEntry, names: dict[str, str]) -> ExportRow:
    """Return the row of an entry. `names` are display names by username."""
    row = row_of_entry(entry, names, None)
    payload = as_payload(entry)
    trail, sort_key = _text(entry, "conversation_id"), _text(entry, "ts_action_id")
    return ExportRow(
        time=iso_cell(row.at),
        action=row.action,
        what_happened=without_isolates(row.sentence),
        actor=redact(_text(entry, "actor")) or NO_ACTOR,
        role=row.role,
        result=row.outcome,
        note=row.note,
        company=redact(_text(entry, "company_id") or entry.owner),
        trail=redact(trail) if is_conversation_trail(trail) else name_of(trail),
        idempotency_key=row.key,
        payload=payload if payload not in (None, "", {}, []) else None,
        action_id=redact(_text(entry, "action_id") or sort_key.partition("#")[2]),
        expires=iso_cell(clock.parse_instant(entry.plain("expires_at"))),
    )


def _text(entry: AuditEntry, name: str) -> str:
    return as_text(entry.plain(name))
