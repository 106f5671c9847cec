"""DynamoDB JSON in a file: as botocore has it, but binary is base64; checked as it comes back."""

import base64
import re
from decimal import Context, Decimal
from typing import Any

from console.errors import Invalid
from console.redaction import excerpt
from tenants.walking import RawItem

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
_DIGITS, _SMALLEST, _LARGEST = 38, -130, 125
_EXACT = Context(prec=400)
_LONGEST_NUMBER = 300
_DEEPEST = 32


class Malformed(Invalid):
    """A file, or something in it, is not what an export makes. The message says what, without values."""


def to_json(item: RawItem) -> dict[str, Any]:
    """An item as it stands in a file. Sets are sorted: their order means nothing."""
    return {name: _to_json(value) for name, value in item.items()}


def _to_json(value: dict[str, Any]) -> dict[str, Any]:
    kind, content = next(iter(value.items()))
    match kind:
        case "B":
            return {kind: base64.b64encode(content).decode()}
        case "BS":
            return {kind: sorted(base64.b64encode(each).decode() for each in content)}
        case "SS" | "NS":
            return {kind: sorted(content)}
        case "L":
            return {kind: [_to_json(each) for each in content]}
        case "M":
            return {kind: to_json(content)}
        case _:
            return {kind: content}


def from_json(given: Any) -> RawItem:
    """An item of a file as botocore takes it. Raises `Malformed`."""
    if not isinstance(given, dict) or not all(given):
        raise Malformed("it is not an object of named attributes")
    found = {}
    for name, value in given.items():
        try:
            _check_text(name)
            found[name] = _value(value, 1)
        except Malformed as error:
            raise Malformed(f"the attribute {_shown(name)}: {error}") from error
    return found


def _shown(name: str) -> str:
    return excerpt(ascii(name), 60)


def _value(given: Any, depth: int) -> dict[str, Any]:
    if not isinstance(given, dict) or len(given) != 1:
        raise Malformed("not one type with its value")
    if depth > _DEEPEST:
        raise Malformed(f"nested deeper than {_DEEPEST} levels")
    kind, content = next(iter(given.items()))
    match kind:
        case "S" | "N" | "B":
            return {kind: _scalar(kind, content)}
        case "SS" | "NS" | "BS":
            return {kind: _set(kind, content)}
        case "BOOL" if isinstance(content, bool):
            return {kind: content}
        case "NULL" if content is True:
            return {kind: content}
        case "L" if isinstance(content, list):
            return {kind: [_value(each, depth + 1) for each in content]}
        case "M" if isinstance(content, dict):
            for name in content:
                _check_text(name)
            return {kind: {name: _value(each, depth + 1) for name, each in content.items()}}
        case _:
            raise Malformed("no type of DynamoDB, or a value of another type")


def _scalar(kind: str, content: Any) -> Any:
    if not isinstance(content, str):
        raise Malformed("a value that is no text")
    if kind == "B":
        try:
            return base64.b64decode(content, validate=True)
        except ValueError as error:
            raise Malformed("binary that is not base64") from error
    _check_text(content)
    if kind == "N":
        _check_number(content)
    return content


def _set(kind: str, content: Any) -> list[Any]:
    if not isinstance(content, list) or not content:
        raise Malformed("a set that is no list, or is empty")
    found = [_scalar(kind[0], each) for each in content]
    if len({_number(each) if kind == "NS" else each for each in found}) != len(found):
        raise Malformed("a set that has the same twice")
    return found


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Malformed("text that cannot be stored") from error


def _check_number(text: str) -> None:
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise Malformed("not a number")
    number = _EXACT.create_decimal(text).normalize(_EXACT)
    if number and not (len(number.as_tuple().digits) <= _DIGITS and _SMALLEST <= number.adjusted() <= _LARGEST):
        raise Malformed("a number that DynamoDB does not keep")


def _number(text: str) -> str:
    number = Decimal(text)
    return str(number.normalize(_EXACT)) if number else "0"


def canonical(value: Any) -> Any:
    """An item or a value in one form for all that DynamoDB holds to be the same."""
    if not isinstance(value, dict):
        return value
    return tuple(sorted((name, _canonical(each)) for name, each in value.items()))


def _canonical(value: dict[str, Any]) -> Any:
    kind, content = next(iter(value.items()))
    match kind:
        case "N":
            return kind, _number(content)
        case "NS":
            return kind, tuple(sorted(map(_number, content)))
        case "SS" | "BS":
            return kind, tuple(sorted(map(bytes, content) if kind == "BS" else content))
        case "L":
            return kind, tuple(_canonical(each) for each in content)
        case "M":
            return kind, canonical(content)
        case "B":
            return kind, bytes(content)
        case _:
            return kind, content
