"""The rows of an audit export, redacted again."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from console import clock
from console.audit.rows import NO_ACTOR, display_names, row_of_entry, without_names_in
from console.audit.scoping import is_conversation_trail, name_of
from console.exports import as_text, without_isolates
from console.redaction import redact
from console.trail.actions import as_payload
from console.trail.models import AuditEntry


@dataclass(frozen=True, slots=True)
class ExportRow:
    """One row; its fields are the columns, in order. Texts are redacted; times are ISO 8601 in UTC, "" if unknown."""

    time: str
    action: str
    sentence: str
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


def rows_of_piece(entries: Sequence[AuditEntry], recipient: tuple[str, ...] = ()) -> tuple[ExportRow, ...]:
    """Return the rows of some entries, in their order. Reads the names of staff: a BatchGetItem for each 100 of them.

    `recipient` contains the names of one conversation's recipient, which are masked.
    """
    names = display_names(entries)
    return without_names_in([row_of(entry, names) for entry in entries], recipient)


def row_of(entry: AuditEntry, names: dict[str, str]) -> ExportRow:
    """Return the row of an entry. `names` are display names by username."""
    row = row_of_entry(entry, names, None)
    payload = as_payload(entry)
    trail, sort_key = _text(entry, "conversation_id"), _text(entry, "ts_action_id")
    return ExportRow(
        time=_iso(row.at),
        action=row.action,
        sentence=without_isolates(row.sentence),
        actor=redact(_text(entry, "actor")) or NO_ACTOR,
        role=row.role,
        result=row.outcome,
        note=row.note,
        company=redact(_text(entry, "company_id") or entry.owner),
        trail=redact(trail) if is_conversation_trail(trail) else name_of(trail),
        idempotency_key=row.key,
        payload=payload if payload not in (None, "", {}, []) else None,
        action_id=redact(_text(entry, "action_id") or sort_key.partition("#")[2]),
        expires=_iso(clock.parse_instant(entry.plain("expires_at"))),
    )


def _text(entry: AuditEntry, name: str) -> str:
    return as_text(entry.plain(name))


def _iso(moment: datetime | None) -> str:
    return clock.to_iso(moment) if moment else ""
