"""Redaction of Python values: what a DynamoDB item or an audit payload is made of."""

import datetime
import uuid
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal

from console.redaction.documents import redact_number_text, redact_scalar_text
from console.redaction.keys import Kind, key_kinds
from console.redaction.masks import FULL_MASK
from console.redaction.text import redact_text

_MAX_DEPTH = 64
_HARMLESS = (datetime.date, datetime.time, datetime.timedelta, uuid.UUID)


def redact_value(value: object) -> object:
    """Mask personal data in a structured value; returns a new value of the same shape.

    dict, list, tuple, set and frozenset keep their type, bytes become redacted text, masked numbers become their mask.
    Numbers, booleans, None, dates, times and UUIDs stay where their key allows it. Any other object, and what is nested
    deeper than 64 levels, becomes `***`.
    """
    return _redacted(value, Kind.OTHER, "", 0)


def _redacted(value: object, kind: Kind, key: str, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return redact_scalar_text(str.__str__(value), kind)
    if isinstance(value, int | float | Decimal):
        return _redacted_number(value, kind)
    if isinstance(value, bytes | bytearray):
        return _redacted_bytes(bytes(value), kind)
    if isinstance(value, _HARMLESS):
        return FULL_MASK if kind.is_sensitive else value
    if depth >= _MAX_DEPTH:
        return FULL_MASK
    if isinstance(value, Mapping):
        return _redacted_mapping(value, kind, key, depth)
    if isinstance(value, list | tuple | set | frozenset):
        elements = [_redacted(element, kind, key, depth + 1) for element in value]
        for shape in (list, tuple, set, frozenset):
            if isinstance(value, shape):
                return shape(elements)
    return FULL_MASK


def _redacted_mapping(value: Mapping[object, object], kind: Kind, key: str, depth: int) -> dict[object, object]:
    inherited = kind if kind.is_inherited else Kind.OTHER
    kinds = key_kinds(key, inherited)
    redacted: dict[object, object] = {}
    times: Counter[object] = Counter()
    for name, element in value.items():
        shown = _redacted_key(name)
        # Two keys can have one mask: "***@***", "***@*** (2)" …
        times[shown] += 1
        while times[shown] > 1 and f"{shown} ({times[shown]})" in redacted:
            times[shown] += 1
        unique = shown if times[shown] == 1 and shown not in redacted else f"{shown} ({times[shown]})"
        own = kinds.classify(str.__str__(name)) if isinstance(name, str) else inherited
        redacted[unique] = _redacted(element, own, name if isinstance(name, str) else "", depth + 1)
    return redacted


def _redacted_key(name: object) -> object:
    if name is None or isinstance(name, bool):
        return name
    if isinstance(name, str):
        return redact_text(str.__str__(name))
    if isinstance(name, int | float | Decimal):
        return _redacted_number(name, Kind.OTHER)
    return FULL_MASK


def _redacted_number(value: int | float | Decimal, kind: Kind) -> object:
    written = format(value, "f") if isinstance(value, Decimal) and value.is_finite() else repr(value)
    redacted = redact_number_text(written, kind)
    return value if redacted == written else redacted


def _redacted_bytes(value: bytes, kind: Kind) -> str:
    try:
        return redact_scalar_text(value.decode("utf-8"), kind)
    except UnicodeDecodeError:
        return FULL_MASK
