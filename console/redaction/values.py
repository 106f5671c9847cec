"""Redaction of Python values: what JSON is parsed to, and what a DynamoDB item is made of."""

import datetime
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal

from console.redaction.fields import mask_value
from console.redaction.keys import KeyKind, KeyKinds, key_kinds, looks_like_name
from console.redaction.masks import FULL_MASK
from console.redaction.shapes import is_plain_text, is_whole_number
from console.redaction.text import redact_text

_MAX_DEPTH = 64
# A number up to this is too short for a phone.
_SMALL = 999_999
_HARMLESS = (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)
# Python 3.11 is slow to reach the members of an Enum by name.
_SAFE, _NAME, _PERSONAL = KeyKind.SAFE, KeyKind.NAME, KeyKind.PERSONAL
# Where one of them stands, `name` is the name of whom it belongs to, however it is written.
CONTACT = (KeyKind.PHONE, KeyKind.EMAIL)
# Names of steps, states and models come in every payload, and are recognised faster than read. Only what holds nothing
# to mask is here; the longer, such as identifiers and times, are rarely the same. Forgotten all at once when too many.
_LONGEST_KNOWN, _MAX_KNOWN = 19, 2048
_known_words: set[str] = set()
_LEAVES = (str, int, float, type(None), Decimal, bytes, bytearray, *_HARMLESS)


def redact_number(written: str, kind: KeyKind) -> str:
    """Mask a number, given as text, whose key has this kind; a number that may stay is returned as it is."""
    if kind.is_sensitive:
        return mask_value(kind, written)
    if kind is KeyKind.SAFE or (kind is KeyKind.ID and written.lstrip("-").isdigit()) or is_whole_number(written):
        return written
    return redact_text(written)


def kind_of_key(kinds: KeyKinds, key: str) -> tuple[KeyKind, str]:
    """The kind of a key that is not known yet, and the key redacted; from then on it is known, if it is harmless."""
    kind, redacted = kinds.classify(key), redact_text(key)
    if redacted == key:
        kinds.remember(key, kind)
    elif not kind.is_sensitive:
        # What the key said of its value is gone with it.
        kind = kinds.classify(redacted)
    return kind, redacted


class Redaction:
    """One value on its way through redaction, with a function for the strings in it that are suspicious.

    What holds nothing to mask is passed on as it is, not copied.
    """

    def __init__(self, redact_string: Callable[[str, KeyKind], str]) -> None:
        self._redact_string = redact_string

    def of(self, value: object, kind: KeyKind = KeyKind.OTHER, key: str = "", depth: int = 0) -> object:
        """The redacted value, which stands under a key of this kind."""
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
            # By far the most frequent values come first.
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
        """A string under a key of this kind, of which most are words that are met again and again."""
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
        """An object with keys to mask, of which the members before the first one are redacted already, in `begun`.

        To redact them again would take twice as long at each level of objects in objects.
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
    """The kind of what may be a person's name: beside a phone or an email it is one, else if it looks like one."""
    if is_contact and name == "name":
        return _PERSONAL
    return _PERSONAL if isinstance(element, str) and looks_like_name(element) else _NAME


def _redacted_key(kinds: KeyKinds, name: object) -> tuple[KeyKind, object]:
    """The kind of a key of any type, and the key redacted."""
    if isinstance(name, str):
        return kind_of_key(kinds, str.__str__(name))
    if name is None or isinstance(name, bool):
        return kinds.inherited, name
    if isinstance(name, (int, float, Decimal)):
        return kinds.inherited, _redacted_number(name, KeyKind.OTHER)
    # What such a key says of its value is not known.
    return KeyKind.PERSONAL, FULL_MASK


def _may_stay(value: int | float, kind: KeyKind) -> bool:
    """Whether a number may stay; one whose key is safe may anyway."""
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
