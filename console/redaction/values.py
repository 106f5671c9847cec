"""Redaction of Python values: what JSON is parsed to, and what a DynamoDB item is made of."""

import datetime
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal

from console.redaction.fields import mask_value
from console.redaction.keys import KeyKinds, Kind, key_kinds
from console.redaction.masks import FULL_MASK
from console.redaction.shapes import is_plain_text, is_whole_number
from console.redaction.text import redact_text

_MAX_DEPTH = 64
# A number up to this is too short for a phone.
_SMALL = 999_999
_HARMLESS = (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)
# Python 3.11 is slow to reach the members of an Enum by name.
_SAFE = Kind.SAFE
# Names of steps, states and models come in every payload, and are recognised faster than read. Only what holds nothing
# to mask is here; the longer, such as identifiers and times, are rarely the same. Forgotten all at once when too many.
_LONGEST_KNOWN, _MAX_KNOWN = 19, 2048
_known_words: set[str] = set()
_LEAVES = (str, int, float, type(None), Decimal, bytes, bytearray, *_HARMLESS)


def redact_number(written: str, kind: Kind) -> str:
    """Mask a number, given as text, whose key has this kind; a number that may stay is returned as it is."""
    if kind.is_sensitive:
        return mask_value(kind, written)
    if kind is Kind.SAFE or (kind is Kind.ID and written.lstrip("-").isdigit()) or is_whole_number(written):
        return written
    return redact_text(written)


def kind_of_key(kinds: KeyKinds, key: str) -> tuple[Kind, str]:
    """The kind of a key that is not known yet, and the key redacted; from then on it is known, if it is harmless."""
    kind, redacted = kinds.classify(key), redact_text(key)
    if redacted == key:
        kinds.remember(key, kind)
    return kind, redacted


class Redaction:
    """One value on its way through redaction, with a function for the strings in it that are suspicious.

    What holds nothing to mask is passed on as it is, not copied.
    """

    def __init__(self, redact_string: Callable[[str, Kind], str]) -> None:
        self._redact_string = redact_string
        self.members = 0  # of all the objects that were met
        self.masked: list[tuple[object, str]] = []  # what was masked and its mask, in order
        self.has_masked_keys = False

    def of(self, value: object, kind: Kind = Kind.OTHER, key: str = "", depth: int = 0) -> object:
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

    def _leaf(self, value: object, kind: Kind) -> object:
        if isinstance(value, str):
            return self._noted(value, self._string(str.__str__(value), kind))
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float, Decimal)):
            masked = _redacted_number(value, kind)
            return self._noted(value, masked) if isinstance(masked, str) else value
        if isinstance(value, (bytes, bytearray)):
            return self._noted(value, self._bytes(bytes(value), kind))
        return self._noted(value, FULL_MASK) if kind.is_sensitive else value

    def _noted(self, value: object, masked: str) -> object:
        """What a value is masked as, noted; the value itself where nothing is masked."""
        if masked == value:
            return value
        self.masked.append((value, masked))
        return masked

    def _container(self, value: dict[object, object] | list[object], kind: Kind, key: str, depth: int) -> object:
        if depth >= _MAX_DEPTH:
            return self._noted(value, FULL_MASK)
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
        self.members += len(value)
        redacted = value
        for name, element in value.items():
            kind = kinds.get(name)
            if kind is None:
                kind, shown = _redacted_key(kinds, name)
                if shown != name:
                    return self._with_masked_keys(value, redacted, kinds, depth)
            # By far the most frequent values come first.
            if type(element) is str:
                if kind.is_sensitive:
                    masked: object = self._noted(element, mask_value(kind, element))
                elif element in _known_words:
                    continue
                elif is_plain_text(element):
                    if len(element) <= _LONGEST_KNOWN:
                        _remember(element)
                    continue
                else:
                    masked = self._noted(element, self._redact_string(element, kind))
            elif element is None or (isinstance(element, (int, float)) and (kind is _SAFE or _may_stay(element, kind))):
                continue
            elif type(element) is dict and depth < _MAX_DEPTH - 1:
                masked = self._object(element, kinds.inside.get(name) or kinds.kinds_inside(name, kind), depth + 1)
            else:
                masked = self.of(element, kind, name if isinstance(name, str) else "", depth + 1)
            if masked is not element:
                redacted = dict(value) if redacted is value else redacted
                redacted[name] = masked
        return redacted

    def _with_masked_keys(
        self, value: dict[object, object], begun: dict[object, object], kinds: KeyKinds, depth: int
    ) -> dict[object, object]:
        """An object with keys to mask, of which the members before the first one are redacted already, in `begun`.

        To redact them again would take twice as long at each level of objects in objects.
        """
        self.has_masked_keys = True
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
            under = name if isinstance(name, str) else ""
            redacted[unique] = begun[name] if is_begun else self.of(element, kind, under, depth + 1)
        return redacted

    def _string(self, value: str, kind: Kind) -> str:
        if kind.is_sensitive:
            return mask_value(kind, value)
        return value if is_plain_text(value) else self._redact_string(value, kind)

    def _bytes(self, value: bytes, kind: Kind) -> str:
        try:
            return self._string(value.decode("utf-8"), kind)
        except UnicodeDecodeError:
            return FULL_MASK


def _redacted_key(kinds: KeyKinds, name: object) -> tuple[Kind, object]:
    """The kind of a key of any type, and the key redacted."""
    if isinstance(name, str):
        return kind_of_key(kinds, str.__str__(name))
    if name is None or isinstance(name, bool):
        return kinds.inherited, name
    if isinstance(name, (int, float, Decimal)):
        return kinds.inherited, _redacted_number(name, Kind.OTHER)
    # What such a key says of its value is not known.
    return Kind.PERSONAL, FULL_MASK


def _may_stay(value: int | float, kind: Kind) -> bool:
    """Whether a number may stay; one whose key is safe may anyway."""
    if kind.is_sensitive:
        return False
    return -_SMALL <= value <= _SMALL if isinstance(value, int) else is_whole_number(repr(value)) is not None


def _remember(word: str) -> None:
    if len(_known_words) >= _MAX_KNOWN:
        _known_words.clear()
    _known_words.add(word)


def _redacted_number(value: int | float | Decimal, kind: Kind) -> object:
    written = format(value, "f") if isinstance(value, Decimal) and value.is_finite() else repr(value)
    redacted = redact_number(written, kind)
    return value if redacted == written else redacted
