"""Redaction of JSON text, whole, cut off or inside other text.

A document that is whole and written in the usual way is parsed, redacted as a value, and written again. Any other one
is rewritten in place by a walk over its tokens.
"""

import json
import re
from json.encoder import encode_basestring, encode_basestring_ascii

from console.redaction.keys import Kind
from console.redaction.masks import FULL_MASK
from console.redaction.text import redact_suspicious, redact_text
from console.redaction.values import Redaction
from console.redaction.walk import NotJsonError, Walk

# Where JSON may begin inside other text.
_OPENING = re.compile(r'[{\[](?=\s{0,16}["{\[])|\A\s*\[(?=\s{0,16}(?:-?[0-9]|(?:true|false|null|NaN|-?Infinity)\b))')
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# Python 3.11 is slow to reach the members of an Enum by name.
_SAFE = Kind.SAFE
# Documents in strings in documents.
_MAX_NESTING = 12
# Each failed walk costs a reading of the text.
_MAX_FAILURES = 4
_MAX_ROUNDS = 4
# The shortest number that is masked for its length alone has seven digits.
_FEWEST_DIGITS = 7


def _fraction(written: str) -> float:
    """A number with a fraction or an exponent.

    Raises ValueError where other digits are written than the number is shown with, as in 44712345678e-6: whether those
    in the text are harmless cannot be told from the number then.
    """
    value = float(written)
    if len(written) >= _FEWEST_DIGITS and repr(value).rstrip("0") != written.rstrip("0"):
        raise ValueError("written in other digits")
    return value


# How JSON is usually written: with spaces or without, in ASCII or not.
_read = json.JSONDecoder(strict=False, parse_float=_fraction).raw_decode
_WRITERS = {
    (is_compact, is_ascii): json.JSONEncoder(
        separators=(",", ":") if is_compact else (", ", ": "), ensure_ascii=is_ascii, check_circular=False
    ).encode
    for is_compact in (False, True)
    for is_ascii in (False, True)
}


def redact_document(text: str, nesting: int = 0) -> str:
    """Mask personal data in text that is JSON, holds JSON, or is plain. A second call changes nothing."""
    if "{" not in text and "[" not in text:
        return redact_text(text)
    if nesting > _MAX_NESTING:
        return FULL_MASK
    strings = _Strings(nesting + 1)
    redacted = _redact_whole(text, strings) if text[0] in "{[" else None
    if redacted is not None:
        return redacted
    for _ in range(_MAX_ROUNDS):
        redacted, is_clean = _redact_once(text, strings)
        # What looked like JSON and was none can become JSON when a quote in it is masked.
        if is_clean or redacted == text:
            return redacted
        text = redacted
    return FULL_MASK


def redact_value(value: object) -> object:
    """Mask personal data in a structured value; returns one of the same shape, the same one if nothing is masked.

    dict, list, tuple, set and frozenset keep their type, bytes become redacted text, masked numbers become their mask.
    Numbers, booleans, None, dates, times and UUIDs stay where their key allows it. Any other object, and what is nested
    deeper than 64 levels, becomes `***`.
    """
    return Redaction(_Strings(0).redact).of(value)


class _Strings:
    """Redacts the suspicious strings of one document.

    What may be a document itself is remembered as long as this one is being redacted: where this one has to be read
    again, and one in it too, and one in that …, each level would take twice as long.
    """

    def __init__(self, nesting: int) -> None:
        self._nesting = nesting
        self._documents: dict[str, str] = {}

    def redact(self, value: str, kind: Kind) -> str:
        """Mask a suspicious string whose key has this kind, which is no sensitive one."""
        if kind is _SAFE and _PLAIN_NUMBER.fullmatch(value):
            return value
        if "{" not in value and "[" not in value:
            return redact_suspicious(value)
        redacted = self._documents.get(value)
        if redacted is None:
            redacted = redact_document(value, self._nesting)
            # What is redacted stays as it is.
            self._documents[value] = self._documents[redacted] = redacted
        return redacted


def _redact_whole(text: str, strings: _Strings) -> str | None:
    """Redact text that is one document; None where it is none, or writing it would not give back the same text."""
    try:
        document, end = _read(text)
    except (ValueError, RecursionError):
        return None
    if end < len(text):
        return None
    redaction = Redaction(strings.redact)
    redacted = redaction.of(document)
    if redacted is document and _members_of(text) == redaction.members:
        return text
    write = _WRITERS['":' in text and '": ' not in text, text.isascii()]
    written = write(redacted)
    if not redaction.has_masked_keys and _unmasked(written, redaction.masked, text.isascii()) == text:
        return written
    return written if write(document) == text else None


def _unmasked(written: str, masked: list[tuple[object, str]], is_ascii: bool) -> str | None:
    """The document with its masks replaced by what they stand for; None where that cannot be told.

    Only if the text was written in the usual way is this the text again: to write the document too would take longer.
    """
    quote = encode_basestring_ascii if is_ascii else encode_basestring
    pieces: list[str] = []
    end = 0
    for value, mask in masked:
        literal = quote(mask)
        start = written.find(literal, end)
        if start < 0:
            return None
        pieces += (written[end:start], quote(value) if type(value) is str else repr(value))
        end = start + len(literal)
    pieces.append(written[end:])
    return "".join(pieces)


def _members_of(text: str) -> int | None:
    """How many members the objects in JSON text have; parsed, an object has fewer if a key stands in it twice."""
    if '\\\\"' in text or any(space in text and f"{space}:" in text for space in " \t\r\n"):
        return None
    return text.count('":') - text.count('\\":')


def _redact_once(text: str, strings: _Strings) -> tuple[str, bool]:
    """Redact once; also whether all that looked like JSON was JSON."""
    pieces: list[str] = []
    end = position = failures = 0
    while failures < _MAX_FAILURES and (opening := _OPENING.search(text, position)):
        walk = Walk(text, opening.end() - 1, strings.redact)
        try:
            walk.run()
        except NotJsonError:
            position = opening.end()
            failures += 1
            continue
        pieces += (redact_text(text[end : opening.end() - 1]), *walk.pieces)
        end = position = walk.end
    pieces.append(redact_text(text[end:]))
    return "".join(pieces), not failures
