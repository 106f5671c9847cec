"""Redaction of text and of values. JSON text, whole, cut off or inside other text, is rewritten in place by a walk."""

import hashlib
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from console.redaction.keys import KeyKind
from console.redaction.masks import FULL_MASK, cut
from console.redaction.names import without_names
from console.redaction.text import redact_suspicious, redact_text
from console.redaction.values import Redaction
from console.redaction.walk import NotJsonError, Walk

# Where JSON may begin inside other text.
_OPENING = re.compile(r'[{\[](?=\s{0,16}["{\[])|\A\s*\[(?=\s{0,16}(?:-?[0-9]|(?:true|false|null|NaN|-?Infinity)\b))')
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# Python 3.11 is slow to reach the members of an Enum by name.
_SAFE = KeyKind.SAFE
# Documents in strings in documents.
_MAX_NESTING = 12
# Each failed walk costs a reading of the text.
_MAX_FAILURES = 4
_MAX_ROUNDS = 4


def redact_document(text: str, nesting: int = 0) -> str:
    """Mask personal data in text that is JSON, holds JSON, or is plain. A second call changes nothing."""
    if "{" not in text and "[" not in text:
        return redact_text(text)
    if nesting > _MAX_NESTING:
        return FULL_MASK
    strings = _Strings(nesting + 1)
    for _ in range(_MAX_ROUNDS):
        redacted, is_clean = _redact_once(text, strings)
        # What looked like JSON and was none can become JSON when a quote in it is masked.
        if is_clean or redacted == text:
            return redacted
        text = redacted
    return FULL_MASK


def redact_value(value: object) -> object:
    """Mask personal data in a structured value; returns one of the same shape.

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

    def redact(self, value: str, kind: KeyKind) -> str:
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


_DIGEST_BYTES = 16


class RedactedMemo:
    """A bounded, thread-safe LRU. Digests are keyed per process, so that they cannot be matched with known texts."""

    def __init__(
        self, redact: Callable[[str], str], *, capacity: int, shortest: int, longest: int, characters: int = 8_000_000
    ) -> None:
        """Remember at most `capacity` texts of `shortest` to `longest` characters, of `characters` together."""
        self._redact = redact
        self._capacity = capacity
        self._shortest = shortest
        self._longest = longest
        self._room = characters
        self._key = secrets.token_bytes(32)
        self._redacted: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> str:
        """The redacted text, computed or remembered."""
        if not self._shortest <= len(text) <= self._longest:
            return self._redact(text)
        digest = self._digest(text)
        with self._lock:
            known = self._redacted.get(digest)
            if known is not None:
                self._redacted.move_to_end(digest)
                return known
        redacted = self._redact(text)
        with self._lock:
            if digest not in self._redacted:  # another thread may have been faster
                self._redacted[digest] = redacted
                self._room -= len(redacted)
            while self._redacted and (len(self._redacted) > self._capacity or self._room < 0):
                _, forgotten = self._redacted.popitem(last=False)
                self._room += len(forgotten)
        return redacted

    def __len__(self) -> int:
        """How many texts are remembered."""
        return len(self._redacted)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._room += sum(map(len, self._redacted.values()))
            self._redacted.clear()

    def _digest(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).digest()


_cached = RedactedMemo(redact_document, capacity=2048, shortest=128, longest=65536)


def redact(text: str) -> str:
    """Return text with every piece of personal data masked; a second call changes nothing.

    Text may be plain, JSON, or JSON inside text or strings, whole or cut off. Raises TypeError for anything but str:
    structured values go to redact_value.
    """
    if not isinstance(text, str):
        raise TypeError(f"redact takes str, not {type(text).__name__}")
    return _cached(text)


def excerpt(text: str, length: int = 80, names: tuple[str, ...] = ()) -> str:
    """Return at most length characters of the redacted text: redacted first, cut after, the ellipsis included.

    `names` are of somebody who is known by name: they are masked too.
    """
    return cut(without_names(redact(text), names), length)
