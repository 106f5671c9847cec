"""Makes moto's DynamoDB quick on large items: the same answers, without its repeated walks over whole items.

moto 5.2.5 turns a whole item into plain Python once for each projected attribute, and looks up every member of every
nested value by name when it answers: a list page took seconds, an item of 10,000 messages more than the console waits.
Only the embedded server of the demo and the tests imports this, and moto with it.
"""

from typing import Any

from moto.core.serialize import JSONSerializer
from moto.dynamodb.models.dynamo_type import DynamoType, Item

_SETS = ("SS", "NS", "BS")
_slow_size, _slow_project, _slow_serialize = DynamoType.size, Item.project, JSONSerializer._serialize


class _Unusual(Exception):
    """A value that moto's own serializer is left to deal with, such as binary."""


def apply() -> None:
    """Replace four methods of moto's by quick ones. May be called again."""
    DynamoType.__deepcopy__ = _copied  # type: ignore[method-assign, assignment]
    DynamoType.size = _size  # type: ignore[method-assign, assignment]
    Item.project = _project  # type: ignore[method-assign, assignment]
    JSONSerializer._serialize = _serialize  # type: ignore[method-assign, assignment]


def _copied(value: Any, _memo: Any = None) -> Any:
    copy = DynamoType.__new__(DynamoType)
    copy.type, copy.value = value.type, value.value
    if value.type == "L":
        copy.value = [_copied(each) for each in value.value]
    elif value.type == "M":
        copy.value = {name: _copied(each) for name, each in value.value.items()}
    elif value.type in _SETS:
        copy.value = list(value.value)
    return copy


def _size(value: Any) -> int:
    if value.type == "L":
        return sum(each.size() for each in value.value)
    if value.type == "M":
        return sum(len(name.encode()) + each.size() for name, each in value.value.items())
    return _slow_size(value)


def _project(item: Any, paths: list[list[str]]) -> Item:
    """The named attributes, which stay the item's own: moto projects copies, or what it only writes out."""
    if any(len(path) != 1 for path in paths):
        return _slow_project(item, paths)
    names = {path[0] for path in paths}
    projected = Item(item.hash_key, item.range_key, {})
    for name, value in item.attrs.items():
        if name in names:
            # Past the check of the item's size, which it passed when it was written.
            dict.__setitem__(projected.attrs, name, value)
    return projected


def _serialize(serializer: Any, serialized: Any, value: Any, shape: Any, key: str) -> None:
    if shape.name == "AttributeValue":
        try:
            serialized[serializer.get_serialized_name(shape, key)] = _wire(value)
            return
        except _Unusual:
            pass
    _slow_serialize(serializer, serialized, value, shape, key)


def _wire(value: Any) -> dict[str, Any]:
    """A value as DynamoDB JSON; moto holds it as its own type, as a dict, or as a mixture of both."""
    if isinstance(value, DynamoType):
        kind, content = value.type, value.value
    elif isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
    else:
        raise _Unusual
    if kind == "L":
        return {kind: [_wire(each) for each in content]}
    if kind == "M":
        return {kind: {name: _wire(each) for name, each in content.items()}}
    if kind in ("B", "BS"):
        raise _Unusual
    return {kind: content}
