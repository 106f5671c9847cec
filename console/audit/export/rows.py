"""One entry as a row of an export: redacted again, column by column."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from console import clock
from console.audit.names import name_of
from console.audit.queries import display_names, instant_of, without_names_in
from console.audit.rows import NO_ACTOR, as_payload, row_of_entry
from console.audit.scoping import is_conversation_trail
from console.redaction import redact
from console.trail.models import AuditEntry
from console.trees import text_of

# What keeps a name in a sentence from reordering the words around it; a cell holds nothing else.
_ISOLATES = re.compile("[\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class ExportRow:
    """The columns, in their order. Texts are redacted; times are ISO 8601 in UTC, "" where there is none."""

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

    def texts(self) -> list[str]:
        """Every column as text; the payload as JSON, "" for none."""
        values = (getattr(self, name) for name in COLUMNS)
        return [each if isinstance(each, str) else "" if each is None else as_json(each) for each in values]


COLUMNS = tuple(each.name for each in fields(ExportRow))


def rows_of_piece(entries: Sequence[AuditEntry], recipient: tuple[str, ...] = ()) -> tuple[ExportRow, ...]:
    """The rows of some entries, in their order. Reads the names of staff: a BatchGetItem for each 100 of them.

    `recipient`: of entries of one conversation, the names of its recipient, which are masked.
    """
    names = display_names(entries)
    return without_names_in([row_of(entry, names) for entry in entries], recipient)


def row_of(entry: AuditEntry, names: dict[str, str]) -> ExportRow:
    """One row. `names` are display names by username."""
    row = row_of_entry(entry, instant_of(entry), names, None)
    payload = as_payload(entry.plain("action_payload_redacted"))
    trail, sort_key = _text(entry, "conversation_id"), _text(entry, "ts_action_id")
    return ExportRow(
        time=_iso(row.at),
        action=row.action,
        sentence=_ISOLATES.sub("", row.sentence),
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


def as_json(value: Any) -> str:
    """A payload as JSON on one line; what is nested too deep for that is said to be so."""
    try:
        return json.dumps(value, ensure_ascii=False, default=text_of)
    except (ValueError, RecursionError):
        return '"(nested too deep)"'


def _text(entry: AuditEntry, name: str) -> str:
    value = entry.plain(name)
    return "" if value is None else value if isinstance(value, str) else as_json(value)


def _iso(moment: datetime | None) -> str:
    return clock.to_iso(moment) if moment else ""
