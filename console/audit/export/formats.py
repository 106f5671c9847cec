"""The two formats of an export: CSV for spreadsheets, JSON lines for programs."""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Protocol

from console.audit.export.cells import cell
from console.audit.export.rows import COLUMNS, ExportRow
from console.bidi import spelled_out
from console.trees import clean, text_of

# JSON allows them in texts, and some readers take them for the end of a line.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class ExportFormat(Protocol):
    """How rows become bytes."""

    name: ClassVar[str]
    label: ClassVar[str]
    media_type: ClassVar[str]
    extension: ClassVar[str]

    def head(self) -> bytes:
        """What stands before all rows."""

    def rows(self, rows: Sequence[ExportRow]) -> bytes:
        """Some rows."""

    def incomplete(self, why: str) -> bytes:
        """The last row of a file that does not hold everything that was asked for."""


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
