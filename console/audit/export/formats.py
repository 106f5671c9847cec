"""The rows of an export, redacted again, and its two formats: CSV for spreadsheets, JSON Lines for programs."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, ClassVar, Protocol

from console import clock
from console.audit.rows import NO_ACTOR, as_payload, display_names, row_of_entry, without_names_in
from console.audit.scoping import is_conversation_trail, name_of
from console.redaction import redact
from console.spreadsheets import cell
from console.trail.models import AuditEntry
from console.trees import clean, spelled_out, text_of

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

    `recipient` are the names of one conversation's recipient, which are masked.
    """
    names = display_names(entries)
    return without_names_in([row_of(entry, names) for entry in entries], recipient)


def row_of(entry: AuditEntry, names: dict[str, str]) -> ExportRow:
    """One row. `names` are display names by username."""
    row = row_of_entry(entry, names, None)
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
    """A payload as JSON on one line, or a note that it is nested too deep."""
    try:
        return json.dumps(value, ensure_ascii=False, default=text_of)
    except (ValueError, RecursionError):
        return '"(nested too deep)"'


def _text(entry: AuditEntry, name: str) -> str:
    value = entry.plain(name)
    return "" if value is None else value if isinstance(value, str) else as_json(value)


def _iso(moment: datetime | None) -> str:
    return clock.to_iso(moment) if moment else ""


# --- Formats ----------------------------------------------------------------------------------------------------------

# JSON allows them in texts, and some readers take them for the end of a line.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class ExportFormat(Protocol):
    """How rows become bytes."""

    name: ClassVar[str]
    label: ClassVar[str]
    media_type: ClassVar[str]
    extension: ClassVar[str]

    def head(self) -> bytes:
        """What comes before all rows."""

    def rows(self, rows: Sequence[ExportRow]) -> bytes:
        """Some rows."""

    def incomplete(self, why: str) -> bytes:
        """The last row of an incomplete file."""


class Csv:
    """RFC 4180, every cell quoted. With a byte order mark: without one Excel reads UTF-8 as the machine's code page."""

    name: ClassVar[str] = "csv"
    label: ClassVar[str] = "CSV, for spreadsheets"
    media_type: ClassVar[str] = "text/csv; charset=utf-8; header=present"
    extension: ClassVar[str] = "csv"

    def head(self) -> bytes:
        """The mark, and the names of the columns."""
        return b"\xef\xbb\xbf" + _csv([list(COLUMNS)])

    def rows(self, rows: Sequence[ExportRow]) -> bytes:
        """One line for each, but for line ends within cells."""
        return _csv([[cell(text) for text in row.texts()] for row in rows])

    def incomplete(self, why: str) -> bytes:
        """A row whose second column, the action, says so."""
        return _csv([["", "INCOMPLETE", cell(why), *[""] * (len(COLUMNS) - 3)]])


def _csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return clean(text.getvalue()).encode()


class JsonLines:
    """One JSON object for each row, by the names of the columns; payloads as JSON, not as text."""

    name: ClassVar[str] = "jsonl"
    label: ClassVar[str] = "JSON Lines, for programs"
    media_type: ClassVar[str] = "application/x-ndjson; charset=utf-8"
    extension: ClassVar[str] = "jsonl"

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def rows(self, rows: Sequence[ExportRow]) -> bytes:
        """One line for each."""
        return b"".join(_json(asdict(row)) for row in rows)

    def incomplete(self, why: str) -> bytes:
        """A line of another shape: `{"incomplete": …}`."""
        return _json({"incomplete": why})


def _json(value: dict[str, Any]) -> bytes:
    try:
        line = json.dumps(value, ensure_ascii=False, default=text_of)
    except (ValueError, RecursionError):
        line = json.dumps(value | {"payload": "(nested too deep)"}, ensure_ascii=False)
    safe = _LINE_ENDS.sub(lambda end: f"\\u{ord(end.group()):04x}", spelled_out(line))
    return clean(safe).encode() + b"\n"


FORMATS: dict[str, type[ExportFormat]] = {each.name: each for each in (Csv, JsonLines)}
