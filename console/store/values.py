"""DynamoDB JSON of items of unknown shape: as plain Python, as it can be sent back, and as attributes of models."""

import base64
from decimal import Decimal, InvalidOperation
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from pynamodb.attributes import Attribute
from pynamodb.constants import LIST, MAP

_serializer = TypeSerializer()


def plain(value: dict[str, Any]) -> Any:
    """One attribute value as plain Python: numbers as int where whole, else Decimal; sets as sorted lists.

    Never raises: what cannot be read comes back as its text.
    """
    pair: tuple[str, Any] = next(iter(value.items()), ("NULL", True))
    kind, content = pair
    match kind:
        case "NULL":
            return None
        case "N":
            return _number(content)
        case "L":
            return [plain(each) for each in content]
        case "M":
            return {name: plain(each) for name, each in content.items()}
        case "SS" | "BS":
            return sorted(content)
        case "NS":
            return sorted((_number(each) for each in content), key=str)
        case _:
            return content


def plain_item(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A whole item as plain Python."""
    return {name: plain(value) for name, value in item.items()}


def with_bytes(item: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """DynamoDB JSON as a request takes it: the console's client leaves binary values as the base64 of the answer."""
    return {name: sendable(value) for name, value in item.items()}


def sendable(value: dict[str, Any]) -> dict[str, Any]:
    """As `with_bytes`, of one value."""
    kind, content = next(iter(value.items()))
    match kind:
        case "B":
            return {kind: base64.b64decode(content)}
        case "BS":
            return {kind: [base64.b64decode(each) for each in content]}
        case "L":
            return {kind: [sendable(each) for each in content]}
        case "M":
            return {kind: with_bytes(content)}
        case _:
            return value


def _number(text: str) -> int | Decimal | str:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    # 1e1000 is a legal way to make int() eat the memory of the machine.
    return int(number) if number == number.to_integral_value() and abs(number.adjusted()) < 40 else number


class PlainListAttribute(Attribute[list[Any]]):
    """A list of anything, read as plain Python instead of attribute containers."""

    attr_type = LIST

    def serialize(self, value: list[Any]) -> Any:
        """As DynamoDB JSON."""
        return [_serializer.serialize(each) for each in value]

    def deserialize(self, value: Any) -> list[Any]:
        """As plain Python; inner values never raise."""
        return [plain(each) for each in value]


class PlainMapAttribute(Attribute[dict[str, Any]]):
    """As `PlainListAttribute`, a map."""

    attr_type = MAP

    def serialize(self, value: dict[str, Any]) -> Any:
        """As DynamoDB JSON."""
        return {name: _serializer.serialize(each) for name, each in value.items()}

    def deserialize(self, value: Any) -> dict[str, Any]:
        """As plain Python; inner values never raise."""
        return {name: plain(each) for name, each in value.items()}
