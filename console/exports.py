"""Downloads: CSV for spreadsheets and JSON Lines for programs, streamed in pieces."""

import csv
import io
import json
import logging
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.http import StreamingHttpResponse

from console import clock
from console.errors import ConsoleError
from console.spreadsheets import cell
from console.store.calls import budget
from console.trees import clean, spelled_out, text_of

logger = logging.getLogger(__name__)

# Bidirectional isolates keep a name from reordering the sentence around it; a cell contains nothing else.
_ISOLATES = re.compile("[\u2066-\u2069]")


def without_isolates(text: str) -> str:
    """Return a page's text without bidirectional isolates, for a cell."""
    return _ISOLATES.sub("", text)


def iso_cell(moment: datetime | None) -> str:
    """Return an instant as ISO 8601 in UTC for a cell; "" for none."""
    return clock.to_iso(moment) if moment else ""


# --- Formats ----------------------------------------------------------------------------------------------------------

# JSON allows these in strings, but some readers take them for line ends.
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


class ExportFormat(ABC):
    """A way to write rows as bytes. Rows are dataclasses whose fields are the columns."""

    name: ClassVar[str]
    label: ClassVar[str]
    media_type: ClassVar[str]

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = columns

    @abstractmethod
    def head(self) -> bytes:
        """Return what precedes the rows."""

    @abstractmethod
    def rows(self, rows: Sequence[Any]) -> bytes:
        """Return the bytes of some rows."""

    @abstractmethod
    def incomplete(self, why: str) -> bytes:
        """Return the last row of an incomplete file, which says why."""


class Csv(ExportFormat):
    """RFC 4180, every cell quoted. The byte order mark is for Excel, which otherwise assumes the system's code page."""

    name = "csv"
    label = "CSV, for spreadsheets"
    media_type = "text/csv; charset=utf-8; header=present"

    def head(self) -> bytes:
        """Return the byte order mark and the column names."""
        return b"\xef\xbb\xbf" + _csv([self.columns])

    def rows(self, rows: Sequence[Any]) -> bytes:
        """Return one record per row; values that are not text are written as JSON."""
        return _csv([[cell(as_text(getattr(row, name))) for name in self.columns] for row in rows])

    def incomplete(self, why: str) -> bytes:
        """Return a row with INCOMPLETE in the second column and the reason in the third."""
        return _csv([["", "INCOMPLETE", cell(why), *[""] * (len(self.columns) - 3)]])


_TOO_DEEP = "(nested too deep)"


def as_text(value: Any) -> str:
    """Return a text as it is, "" for None, and other values as JSON on one line, or a note that it is too deep."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return json.dumps(value, ensure_ascii=False, default=text_of)
    except (ValueError, RecursionError):
        return json.dumps(_TOO_DEEP)


def _csv(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(rows)
    return clean(text.getvalue()).encode()


class JsonLines(ExportFormat):
    """One JSON object per row, keyed by column; structured values stay structured."""

    name = "jsonl"
    label = "JSON Lines, for programs"
    media_type = "application/x-ndjson; charset=utf-8"

    def head(self) -> bytes:
        """Return nothing: the format has no header."""
        return b""

    def rows(self, rows: Sequence[Any]) -> bytes:
        """Return one line per row."""
        return b"".join(_json({name: getattr(row, name) for name in self.columns}) for row in rows)

    def incomplete(self, why: str) -> bytes:
        """Return a line of another shape: `{"incomplete": …}`."""
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


# By the names of the formats, which are also the extensions of their files.
FORMATS: dict[str, type[ExportFormat]] = {each.name: each for each in (Csv, JsonLines)}


class ExportForm(forms.Form):
    """The choice of a file format."""

    format = forms.ChoiceField(
        choices=[(name, kind.label) for name, kind in FORMATS.items()],
        widget=forms.RadioSelect,
        initial="csv",
        error_messages={"required": "Choose a format.", "invalid_choice": "Choose one of the listed formats."},
    )


# --- The file ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Export:
    """A file to send, already recorded in the trail. `content` yields its bytes once."""

    content: Iterator[bytes] = field(repr=False)
    media_type: str
    file_name: str

    def response(self) -> StreamingHttpResponse:
        """Return the file as a download that is not cached."""
        headers = {
            "Content-Disposition": f'attachment; filename="{self.file_name}"',
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return StreamingHttpResponse(self.content, content_type=self.media_type, headers=headers)


def file_name(what: str, made: ExportFormat, at: datetime) -> str:
    """Return a file name of subject, environment and time, without search terms: file names get passed around."""
    return f"{what}-{settings.CONSOLE_ENV}-{at:%Y%m%dT%H%M%SZ}.{made.name}"


@dataclass(frozen=True, slots=True)
class ExportBounds:
    """How much is read for a file: rows, pieces (which filters can leave empty) and seconds.

    `rows_are` and `rest` name the rows in the last line of a truncated file: "entries", "Older entries".
    """

    rows: int
    pieces: int
    rows_are: str
    rest: str
    seconds: float = math.inf


def send(made: ExportFormat, pieces: Iterable[Sequence[Any]], bounds: ExportBounds) -> Iterator[bytes]:
    """Yield a file of the rows in these pieces, with one piece in memory at a time.

    Each piece has its own deadline, because the request's ended with the view. The last line says why a file ends
    early.
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
        # The status is already sent, so no error page can follow, and a partial file must not look complete.
        logger.exception("An export broke off")
        yield made.incomplete(f"Reading stopped early because of an error in the console. {bounds.rest} are missing.")
