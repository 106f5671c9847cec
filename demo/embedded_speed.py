"""Two methods of moto's that walk over whole items again and again, without those walks: the same answers.

Figures are processor time, medians of three runs. Without both, the demo's start takes 13 s.
Only the embedded server of the demo and the tests imports this, and moto with it.
"""

from typing import Any

from moto.core.serialize import JSONSerializer
from moto.dynamodb.models.dynamo_type import DynamoType, Item

_slow_project, _slow_serialize = Item.project, JSONSerializer._serialize


class _Binary(Exception):
    """Bytes, which moto's own serializer is left to deal with."""


def apply() -> None:
    """Replace the two methods. May be called again."""
    Item.project = _project  # type: ignore[method-assign, assignment]
    JSONSerializer._serialize = _serialize  # type: ignore[method-assign, assignment]


def _project(item: Any, paths: list[list[str]]) -> Item:
    """The named attributes, which stay the item's own: moto makes plain Python of the whole item for each of them.

    The demo's start takes 6.8 s without it, 5.7 s with it; list pages of the demo are slower too.
    """
    if any(len(path) != 1 for path in paths):
        return _slow_project(item, paths)
    named = {path[0] for path in paths}
    projected = Item(item.hash_key, item.range_key, {})
    projected.attrs.update({name: value for name, value in item.attrs.items() if name in named})
    return projected


def _serialize(serializer: JSONSerializer, serialized: Any, value: Any, shape: Any, key: str) -> None:
    """As moto's, which looks up ten possible members of every nested value by several names each.

    The demo's start takes 7.4 s without it, 5.7 s with it; a ninth of the daily suite 35.4 s, and 29.6 s.
    """
    if shape.name == "AttributeValue":
        try:
            serialized[serializer.get_serialized_name(shape, key)] = _wire(value)
            return
        except _Binary:
            pass
    _slow_serialize(serializer, serialized, value, shape, key)


def _wire(value: Any) -> dict[str, Any]:
    """A value as DynamoDB JSON; moto holds it as its own type, as a dict, or as a mixture of both."""
    [(kind, content)] = [(value.type, value.value)] if isinstance(value, DynamoType) else value.items()
    if kind in ("B", "BS"):
        raise _Binary
    if kind == "L":
        return {kind: [_wire(each) for each in content]}
    if kind == "M":
        return {kind: {name: _wire(each) for name, each in content.items()}}
    return {kind: content}
