"""Redaction of text and of structured values: parsed JSON and DynamoDB items.

JSON text, whole, cut off or inside other text, is rewritten in place by a walk over its tokens.
"""

import datetime
import hashlib
import re
import secrets
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from itertools import takewhile

from cachetools import LRUCache

from console.redaction.keys import CONTACT, KeyKind, KeyKinds, key_kinds, looks_like_name, mask_value
from console.redaction.masks import ELLIPSIS, FULL_MASK, cut
from console.redaction.names import without_names
from console.redaction.shapes import is_plain_text, is_whole_number
from console.redaction.text import kind_of_key, redact_suspicious, redact_text
from console.redaction.walk import NotJsonError, Walk, redact_number

# Where JSON may begin inside other text.
_OPENING = re.compile(r'[{\[](?=\s{0,16}["{\[])|\A\s*\[(?=\s{0,16}(?:-?[0-9]|(?:true|false|null|NaN|-?Infinity)\b))')
# A number, or a version but no phone number: 10.0.19045
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?|(?![0-9]*\.[0-9]{3}\.)[0-9]{1,3}(?:\.[0-9]{1,5}){2,3}")
# Levels of documents inside strings of documents.
_MAX_NESTING = 12
# Each failed walk costs another pass over the text.
_MAX_FAILURES = 4
_MAX_ROUNDS = 4
_MAX_DEPTH = 64
# Numbers up to this are too short for a phone number.
_SMALL = 999_999
_HARMLESS = (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)
# Python 3.11 is slow to reach the members of an Enum by name.
_SAFE, _NAME, _PERSONAL = KeyKind.SAFE, KeyKind.NAME, KeyKind.PERSONAL
# A cache of short strings with nothing to mask: names of steps, states and models repeat in every payload. Longer
# strings, such as identifiers and times, rarely repeat. Cleared when full.
_LONGEST_KNOWN, _MAX_KNOWN = 19, 2048
_known_words: set[str] = set()
_LEAVES = (str, int, float, type(None), Decimal, bytes, bytearray, *_HARMLESS)


class Redaction:
    """Redacts one value; suspicious strings in it go to `redact_string`.

    A container with nothing to mask is returned as it is, not copied.
    """

    def __init__(self, redact_string: Callable[[str, KeyKind], str]) -> None:
        self._redact_string = redact_string

    def of(self, value: object, kind: KeyKind = KeyKind.OTHER, key: str = "", depth: int = 0) -> object:
        """Return the redacted value; `kind` is the kind of its key."""
        if isinstance(value, (dict, list)):
            return self._container(value, kind, key, depth)
        if isinstance(value, _LEAVES):
            return self._leaf(value, kind)
        if isinstance(value, Mapping):
            return self._container(dict(value), kind, key, depth)
        if isinstance(value, tuple) and hasattr(value, "_asdict"):
            return self._container(value._asdict(), kind, key, depth)
        if isinstance(value, (tuple, set, frozenset)):
            elements = self._container(list(value), kind, key, depth)
            shape = next(shape for shape in (tuple, set, frozenset) if isinstance(value, shape))
            return shape(elements) if isinstance(elements, list) else elements
        return FULL_MASK

    def _leaf(self, value: object, kind: KeyKind) -> object:
        if isinstance(value, str):
            return self._string(str.__str__(value), kind)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float, Decimal)):
            return _redacted_number(value, kind)
        if isinstance(value, (bytes, bytearray)):
            return self._bytes(bytes(value), kind)
        return FULL_MASK if kind.is_sensitive else value

    def _container(self, value: dict[object, object] | list[object], kind: KeyKind, key: str, depth: int) -> object:
        if depth >= _MAX_DEPTH:
            return FULL_MASK
        kinds = key_kinds(key, kind)
        if isinstance(value, dict):
            return self._object(value, kinds, depth)
        redacted = value
        for place, element in enumerate(value):
            if type(element) is dict and depth < _MAX_DEPTH - 1:
                masked: object = self._object(element, kinds, depth + 1)
            else:
                masked = self.of(element, kind, key, depth + 1)
            if masked is not element:
                redacted = list(value) if redacted is value else redacted
                redacted[place] = masked
        return redacted

    def _object(self, value: dict[object, object], kinds: KeyKinds, depth: int) -> dict[object, object]:
        redacted = value
        is_contact = _is_contact(value, kinds)
        for name, element in value.items():
            kind = kinds.get(name)
            if kind is None:
                kind, shown = _redacted_key(kinds, name)
                if shown != name:
                    return self._with_masked_keys(value, redacted, kinds, depth, is_contact)
            if kind is _NAME:
                kind = _kind_of_name(name, element, is_contact)
            # The most frequent types first.
            if type(element) is str:
                masked: object = self._text(element, kind)
            elif element is None or (isinstance(element, (int, float)) and (kind is _SAFE or _may_stay(element, kind))):
                continue
            elif type(element) is dict and depth < _MAX_DEPTH - 1:
                masked = self._object(element, kinds.kinds_inside(name, kind), depth + 1)
            else:
                masked = self.of(element, kind, kinds.under(name) if isinstance(name, str) else "", depth + 1)
            if masked is not element:
                redacted = dict(value) if redacted is value else redacted
                redacted[name] = masked
        return redacted

    def _text(self, value: str, kind: KeyKind) -> str:
        """Return the redacted string under a key of this kind; most strings are short words that repeat."""
        if kind.is_sensitive:
            return mask_value(kind, value)
        if value in _known_words:
            return value
        if is_plain_text(value):
            if len(value) <= _LONGEST_KNOWN:
                _remember(value)
            return value
        return self._redact_string(value, kind)

    def _with_masked_keys(
        self, value: dict[object, object], begun: dict[object, object], kinds: KeyKinds, depth: int, is_contact: bool
    ) -> dict[object, object]:
        """Redact an object with keys to mask; `begun` has the members before the first one, which are redacted already.

        To redact them again would double the time at each level of nested objects.
        """
        redacted: dict[object, object] = {}
        is_begun = True
        times: Counter[object] = Counter()
        for name, element in value.items():
            kind, shown = _redacted_key(kinds, name)
            # Two keys can have one mask: "***@***", "***@*** (2)" …
            times[shown] += 1
            while times[shown] > 1 and f"{shown} ({times[shown]})" in redacted:
                times[shown] += 1
            unique = shown if times[shown] == 1 and shown not in redacted else f"{shown} ({times[shown]})"
            is_begun = is_begun and shown == name
            under = kinds.under(name) if isinstance(name, str) else ""
            if kind is _NAME:
                kind = _kind_of_name(name, element, is_contact)
            redacted[unique] = begun[name] if is_begun else self.of(element, kind, under, depth + 1)
        return redacted

    def _string(self, value: str, kind: KeyKind) -> str:
        if kind.is_sensitive or (kind is _NAME and looks_like_name(value)):
            return mask_value(kind, value)
        return value if is_plain_text(value) else self._redact_string(value, kind)

    def _bytes(self, value: bytes, kind: KeyKind) -> str:
        try:
            return self._string(value.decode("utf-8"), kind)
        except UnicodeDecodeError:
            return FULL_MASK


def _is_contact(value: dict[object, object], kinds: KeyKinds) -> bool:
    return "name" in value and any(kinds.classify(key) in CONTACT for key in value if isinstance(key, str))


def _kind_of_name(name: object, element: object, is_contact: bool) -> KeyKind:
    """Return the kind of a possible name: personal beside a phone or an email, or if the value looks like a name."""
    if is_contact and name == "name":
        return _PERSONAL
    return _PERSONAL if isinstance(element, str) and looks_like_name(element) else _NAME


def _redacted_key(kinds: KeyKinds, name: object) -> tuple[KeyKind, object]:
    """Return the kind of a key of any type, and the redacted key."""
    if isinstance(name, str):
        return kind_of_key(kinds, str.__str__(name))
    if name is None or isinstance(name, bool):
        return kinds.inherited, name
    if isinstance(name, (int, float, Decimal)):
        return kinds.inherited, _redacted_number(name, KeyKind.OTHER)
    # Nothing is known about the value under such a key.
    return KeyKind.PERSONAL, FULL_MASK


def _may_stay(value: int | float, kind: KeyKind) -> bool:
    """Return whether a number may stay; the caller lets those under safe keys stay."""
    if kind.is_sensitive:
        return False
    return -_SMALL <= value <= _SMALL if isinstance(value, int) else is_whole_number(repr(value)) is not None


def _remember(word: str) -> None:
    if len(_known_words) >= _MAX_KNOWN:
        _known_words.clear()
    _known_words.add(word)


def _redacted_number(value: int | float | Decimal, kind: KeyKind) -> object:
    written = format(value, "f") if isinstance(value, Decimal) and value.is_finite() else repr(value)
    redacted = redact_number(written, kind)
    return value if redacted == written else redacted


def redact_document(text: str, nesting: int = 0) -> str:
    """Mask personal data in text that is JSON, contains JSON, or is plain. A second call changes nothing."""
    if "{" not in text and "[" not in text:
        return redact_text(text)
    if nesting > _MAX_NESTING:
        return FULL_MASK
    strings = _Strings(nesting + 1)
    for _ in range(_MAX_ROUNDS):
        redacted, is_clean = _redact_once(text, strings)
        # Text that only looked like JSON can become JSON when a quote in it is masked.
        if is_clean or redacted == text:
            return redacted
        text = redacted
    return FULL_MASK


def redact_value(value: object) -> object:
    """Mask personal data in a structured value; return one of the same shape.

    dict, list, tuple, set and frozenset keep their type, bytes become redacted text, masked numbers become their mask.
    Numbers, booleans, None, dates, times and UUIDs stay where their key allows it. Any other object, and what is nested
    deeper than 64 levels, becomes `***`.
    """
    return Redaction(_Strings(0).redact).of(value)


class _Strings:
    """Redacts the suspicious strings of one document.

    Strings that may be documents themselves are cached while this one is redacted: it may be read several times, and so
    may each document nested in it, which would double the time at each level.
    """

    def __init__(self, nesting: int) -> None:
        self._nesting = nesting
        self._documents: dict[str, str] = {}

    def redact(self, value: str, kind: KeyKind) -> str:
        """Mask a suspicious string whose key has this kind, which is not a sensitive one."""
        if kind is _SAFE and _PLAIN_NUMBER.fullmatch(value):
            return value
        if "{" not in value and "[" not in value:
            return redact_suspicious(value)
        redacted = self._documents.get(value)
        if redacted is None:
            redacted = redact_document(value, self._nesting)
            # Redacting it again changes nothing.
            self._documents[value] = self._documents[redacted] = redacted
        return redacted


def _redact_once(text: str, strings: _Strings) -> tuple[str, bool]:
    """Redact once; also return whether everything that looked like JSON was JSON."""
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
    """A bounded, thread-safe LRU cache of redacted texts.

    Its keys are digests that are keyed per process, so that they cannot be matched with known texts.
    """

    def __init__(
        self, redact: Callable[[str], str], *, capacity: int, shortest: int, longest: int, characters: int = 8_000_000
    ) -> None:
        """Cache up to `capacity` results for texts of `shortest` to `longest`, with up to `characters` in total."""
        self._redact = redact
        self._capacity = capacity
        self._shortest = shortest
        self._longest = longest
        self._key = secrets.token_bytes(32)
        self._redacted: LRUCache[bytes, str] = LRUCache(characters, getsizeof=len)
        self._lock = threading.Lock()

    def __call__(self, text: str) -> str:
        """Return the redacted text, computed or cached."""
        if not self._shortest <= len(text) <= self._longest:
            return self._redact(text)
        digest = self._digest(text)
        with self._lock:
            known = self._redacted.get(digest)
        if known is not None:
            return known
        redacted = self._redact(text)
        with self._lock:
            self._redacted[digest] = redacted
            if len(self._redacted) > self._capacity:
                self._redacted.popitem()
        return redacted

    def clear(self) -> None:
        """Drop all cached texts."""
        with self._lock:
            self._redacted.clear()

    def _digest(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).digest()


_cached = RedactedMemo(redact_document, capacity=2048, shortest=128, longest=65536)


# How many characters of a long text are looked at for an excerpt or its beginning, and how many more to mask these.
BEGINNING, MARGIN = 4_096, 512


def redact(text: str) -> str:
    """Return text with every piece of personal data masked; a second call changes nothing.

    Text may be plain, JSON, or JSON inside text or strings, whole or cut off. Raises TypeError for anything but str:
    structured values go to redact_value.
    """
    if not isinstance(text, str):
        raise TypeError(f"redact takes str, not {type(text).__name__}")
    return _cached(text)


def beginning_of(text: str, most: int, mask: Callable[[str], str] = redact) -> str:
    """Return the masked beginning of a text: of at most so many characters, and no part of what is masked.

    The rest is not masked either, so the work does not grow with it.
    """
    if len(text) <= most:
        return mask(text)
    if most <= 0:
        return ""
    # A number or name that the cut splits is not recognised: return what is the same with more of the text, and end
    # between words.
    pairs = zip(mask(text[:most]), mask(text[: most + MARGIN]), strict=False)
    shown = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    ends = max(shown.rfind(blank) for blank in " \n")
    return shown[:ends] if ends > most - MARGIN else shown


def excerpt(text: str, length: int = 80, names: tuple[str, ...] = ()) -> str:
    """Return at most `length` characters of the redacted text, ellipsis included; it is redacted first, then cut.

    `length` is at most `BEGINNING`, beyond which nothing is looked at. `names` of a known person are masked too.
    """
    shown = without_names(beginning_of(text, BEGINNING), names)
    return cut(shown if len(text) <= BEGINNING else shown + ELLIPSIS, length)
