"""PynamoDB attributes for values of unknown inner shape, read as plain Python instead of attribute containers."""

from typing import Any

from boto3.dynamodb.types import TypeSerializer
from pynamodb.attributes import Attribute
from pynamodb.constants import LIST, MAP

from console.dynamodb.values import plain

_serializer = TypeSerializer()


class PlainListAttribute(Attribute[list[Any]]):
    """A list of anything."""

    attr_type = LIST

    def serialize(self, value: list[Any]) -> Any:
        """As DynamoDB JSON."""
        return [_serializer.serialize(each) for each in value]

    def deserialize(self, value: Any) -> list[Any]:
        """As plain Python; inner values never raise."""
        return [plain(each) for each in value]


class PlainMapAttribute(Attribute[dict[str, Any]]):
    """A map of anything."""

    attr_type = MAP

    def serialize(self, value: dict[str, Any]) -> Any:
        """As DynamoDB JSON."""
        return {name: _serializer.serialize(each) for name, each in value.items()}

    def deserialize(self, value: Any) -> dict[str, Any]:
        """As plain Python; inner values never raise."""
        return {name: plain(each) for name, each in value.items()}
