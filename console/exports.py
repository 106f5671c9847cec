"""Files that people download: CSV for spreadsheets, JSON Lines for programs, sent in pieces."""

import csv
import io
import json
import logging
import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Protocol

from django import forms
from django.conf import settings
from django.http import StreamingHttpResponse

from console.errors import ConsoleError
from console.spreadsheets import cell
from console.store.calls import budget
from console.trees import clean, spelled_out, text_of

logger = logging.getLogger(__name__)

# What keeps a name in a sentence from reordering the words around it; a cell holds nothing else.
_ISOLATES = re.compile("[\u2066-\u2069]")


def without_isolates(text: str) -> str:
    """Return what a page says, for a cell, which stands alone."""
    return _ISOLATES.sub("", text)


# --- Formats ----------------------------------------------------------------------------------------------------------

# JSON allows them in texts, and some readers take them for the end of a line.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class ExportFormat(Protocol):
    """How rows become bytes. Rows are dataclasses whose fields are the columns."""

    name: ClassVar[str]
    label: ClassVar[str]
    media_type: ClassVar[str]
    extension: ClassVar[str]

    def __init__(self, columns: Sequence[str]) -> None: ...

    def head(self) -> bytes:
        """What comes before all rows."""

    def rows(self, rows: Sequence[Any]) -> bytes:
        """Some rows."""

    def incomplete(self, why: str) -> bytes:
        """The last row of an incomplete file."""


class Csv:
    """RFC 4180, every cell quoted. With a byte order mark: without one Excel reads UTF-8 as the machine's code page."""

    name: ClassVar[str] = "csv"
    label: ClassVar[str] = "CSV, for spreadsheets"
    media_type: ClassVar[str] = "text/csv; charset=utf-8; header=present"
    extension: ClassVar[str] = "csv"

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)

    def head(self) -> bytes:
        """The mark, and the names of the columns."""
        return b"\xef\xbb\xbf" + _csv([self.columns])

    def rows(self, rows: Sequence[Any]) -> bytes:
        """One line for each, but for line ends within cells. What is no text is in JSON."""
        return _csv([[cell(_as_text(getattr(row, name))) for name in self.columns] for row in rows])

    def incomplete(self, why: str) -> bytes:
        """A row whose second column says so, and its third one why."""
        return _csv([["", "INCOMPLETE", cell(why), *[""] * (len(self.columns) - 3)]])


_TOO_DEEP = "(nested too deep)"


def as_json(value: Any) -> str:
    """A value as JSON on one line, or a note that it is nested too deep."""
    try:
        return json.dumps(value, ensure_ascii=False, default=text_of)
    except (ValueError, RecursionError):
        return json.dumps(_TOO_DEEP)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else as_json(value)


def _csv(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return clean(text.getvalue()).encode()


class JsonLines:
    """One JSON object for each row, by the names of the columns; what is no text as JSON, not as text."""

    name: ClassVar[str] = "jsonl"
    label: ClassVar[str] = "JSON Lines, for programs"
    media_type: ClassVar[str] = "application/x-ndjson; charset=utf-8"
    extension: ClassVar[str] = "jsonl"

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    def head(self) -> bytes:
        """Nothing."""
        return b""

    def rows(self, rows: Sequence[Any]) -> bytes:
        """One line for each."""
        return b"".join(_json({name: getattr(row, name) for name in self.columns}) for row in rows)

    def incomplete(self, why: str) -> bytes:
        """A line of another shape: `{"incomplete": …}`."""
        return _json({"incomplete": why})


def _json(value: dict[str, Any]) -> bytes:
    try:
        line = json.dumps(value, ensure_ascii=False, default=text_of)
    except (ValueError, RecursionError):
        line = json.dumps(
            {name: each if isinstance(each, str) else _TOO_DEEP for name, each in value.items()}, ensure_ascii=False
        )
    safe = _LINE_ENDS.sub(lambda end: f"\\u{ord(end.group()):04x}", spelled_out(line))
    return clean(safe).encode() + b"\n"


FORMATS: dict[str, type[ExportFormat]] = {each.name: each for each in (Csv, JsonLines)}


class ExportForm(forms.Form):
    """What kind of file."""

    format = forms.ChoiceField(
        choices=[(name, kind.label) for name, kind in FORMATS.items()],
        widget=forms.RadioSelect,
        initial="csv",
        error_messages={"required": "Choose a format.", "invalid_choice": "Choose one of the listed formats."},
    )


# --- The file ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Export:
    """A file to send, which is recorded already. `content` gives its bytes once."""

    content: Iterator[bytes] = field(repr=False)
    media_type: str
    file_name: str

    def response(self) -> StreamingHttpResponse:
        """Return it as a download that nobody keeps."""
        headers = {
            "Content-Disposition": f'attachment; filename="{self.file_name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return StreamingHttpResponse(self.content, content_type=self.media_type, headers=headers)


def file_name(what: str, made: ExportFormat, at: datetime) -> str:
    """What it is of, environment and time, but nothing of the search: file names get around."""
    return f"{what}-{settings.CONSOLE_ENV}-{at:%Y%m%dT%H%M%SZ}.{made.extension}"


@dataclass(frozen=True, slots=True)
class ExportBounds:
    """How much is read for a file: rows, pieces, which filters can leave empty, and seconds.

    `rows_are` and `rest` are words for the last line of a file that stops short: "entries", "Older entries".
    """

    rows: int
    pieces: int
    rows_are: str
    rest: str
    seconds: float = math.inf


def send(made: ExportFormat, pieces: Iterable[Sequence[Any]], bounds: ExportBounds) -> Iterator[bytes]:
    """Yield a file of the rows in these pieces, of which no more than one is in memory.

    Each piece has its own budget, because the request's ended with the view. Whatever ends the file early is said in
    its last line.
    """
    sent, left, coming, ends_at = 0, bounds.pieces, iter(pieces), time.monotonic() + bounds.seconds
    try:
        yield made.head()
        while left > 0:
            if time.monotonic() > ends_at:
                yield made.incomplete(f"Reading took more than {bounds.seconds:g} s. {bounds.rest} are missing.")
                return
            with budget(settings.REQUEST_DEADLINE_SECONDS):
                piece = next(coming, None)
            if piece is None:
                return
            if data := made.rows(piece[: bounds.rows - sent]):
                yield data
            if sent + len(piece) > bounds.rows:
                yield made.incomplete(
                    f"This file stops at {bounds.rows:,} {bounds.rows_are}. {bounds.rest} are not in it."
                )
                return
            sent, left = sent + len(piece), left - 1
        yield made.incomplete(f"Few {bounds.rows_are} match the filters. {bounds.rest} were not searched.")
    except ConsoleError as error:
        why = str(error) or type(error).__name__
        yield made.incomplete(f"The export stopped early: {why} {bounds.rest} are missing.")
    except Exception:
        # An error page can no longer follow, and the part that was sent must not pass for the whole.
        logger.exception("An export broke off")
        yield made.incomplete(f"Reading stopped early because of an error in the console. {bounds.rest} are missing.")
