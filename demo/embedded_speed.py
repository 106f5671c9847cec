"""Makes moto's DynamoDB quick on large items and tables: the same answers, without its repeated walks over all of them.

moto 5.2.5 turns a whole item into plain Python once for each projected attribute, and looks up every member of every
nested value by name when it answers: a list page took seconds, an item of 10,000 messages more than the console waits.
Each Query sorts the whole table, by a comparison of moto's own, and each attribute that is set, in copies of what was
read too, measures all those before it. A transaction copies each of its tables, once for each of its writes.
Only the embedded server of the demo and the tests, which answers one request at a time, imports this, and moto with it.
"""

import copy
from collections import defaultdict
from functools import lru_cache
from typing import Any

from moto.core import responses, utils
from moto.core.serialize import JSONSerializer
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import Table

_SETS = ("SS", "NS", "BS")
# Bytes, a quarter of what an item may have.
SURELY_SMALL = 100_000
_slow_size, _slow_project, _slow_serialize = DynamoType.size, Item.project, JSONSerializer._serialize
_slow_set = LimitedSizeDict.__setitem__
_slow_query, _slow_all_items = Table.query, Table.all_items
_slow_cast_value = DynamoType.cast_value.fget  # type: ignore[attr-defined]
_slow_transact = DynamoDBBackend.transact_write_items
_method_names = lru_cache(maxsize=None)(utils.method_names_from_class)


class Unusual(Exception):
    """A value that moto's own serializer is left to deal with, such as binary."""


def apply() -> None:
    """Replace some methods of moto's by quick ones. May be called again."""
    DynamoType.__deepcopy__ = _copied  # type: ignore[method-assign, assignment]
    DynamoType.size = _size  # type: ignore[method-assign, assignment]
    Item.__deepcopy__ = _copied_item  # type: ignore[method-assign, assignment]
    DynamoDBBackend.transact_write_items = _transact  # type: ignore[method-assign, assignment]
    Table.__deepcopy__ = _copied_table  # type: ignore[attr-defined]
    # Which methods a class has was found out for every request.
    responses.method_names_from_class = _method_names  # type: ignore[attr-defined]
    DynamoType.cast_value = property(_cast_value)  # type: ignore[method-assign, assignment]
    LimitedSizeDict.__setitem__ = _set  # type: ignore[method-assign]
    Table.query = _query  # type: ignore[method-assign, assignment]
    Table.all_items = _all_items  # type: ignore[method-assign, assignment]
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


def _copied_item(item: Any, _memo: Any = None) -> Any:
    copied: Any = Item.__new__(Item)
    copied.hash_key, copied.range_key = item.hash_key, item.range_key
    copied.attrs = LimitedSizeDict.__new__(LimitedSizeDict)
    for name, value in item.attrs.items():
        dict.__setitem__(copied.attrs, name, _copied(value) if type(value) is DynamoType else copy.deepcopy(value))
    vars(copied.attrs).update(vars(item.attrs))
    return copied


def _transact(backend: Any, transact_items: list[dict[str, Any]]) -> None:
    """moto keeps the tables as they were, in case that a write fails: only what is written to needs copies."""
    written: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in transact_items:
        for write in each.values():
            written[str(write.get("TableName"))].append(write.get("Item") or write.get("Key") or {})
    tables = [(backend.tables[name], keys) for name, keys in written.items() if name in backend.tables]
    for table, keys in tables:
        table.about_to_change = [each[table.hash_key_attr] for each in keys if table.hash_key_attr in each]
    shards = [(shard, len(shard.items)) for table, _ in tables if (shard := table.stream_shard) is not None]
    try:
        _slow_transact(backend, transact_items)
    except BaseException:
        # The stream stays the one that iterators know; what was written and taken back is taken out of it.
        for shard, length in shards:
            del shard.items[length:]
            shard.table = backend.tables[shard.table.name]
        raise
    finally:
        for table, _ in tables:
            vars(table).pop("about_to_change", None)
            # Those of them that moto put in their places.
            vars(backend.tables[table.name]).pop("about_to_change", None)


def _copied_table(table: Any, memo: dict[int, Any]) -> Any:
    changing = vars(table).get("about_to_change")
    copied: Any = Table.__new__(Table)
    memo[id(table)] = copied
    if changing is None:
        vars(copied).update(copy.deepcopy(vars(table), memo))
        return copied
    vars(copied).update(vars(table))
    copied.items = copy.copy(table.items)
    for key in map(DynamoType, changing):
        if key in table.items:
            copied.items[key] = copy.deepcopy(table.items[key])
    return copied


def _size(value: Any) -> int:
    if value.type == "S":
        return len(value.value.encode())
    if value.type == "L":
        return sum(each.size() for each in value.value)
    if value.type == "M":
        return sum(len(name.encode()) + each.size() for name, each in value.value.items())
    return _slow_size(value)


def _set(attributes: Any, name: str, value: Any) -> None:
    """Far below the largest size of an item, what is there is not measured again."""
    size = len(name.encode()) + (value.size() if type(value) is DynamoType else len(str(value).encode()))
    size += vars(attributes).get("about", 0)
    if size > SURELY_SMALL:
        _slow_set(attributes, name, value)
        return
    attributes.about = size
    dict.__setitem__(attributes, name, value)


def _cast_value(value: Any) -> Any:
    return value.value if value.type == "S" else _slow_cast_value(value)


def _query(table: Any, hash_key: Any, *conditions: Any, **more: Any) -> Any:
    """moto looks through all items, in order: those of the partition are found first."""
    named = more.get("hash_key_conditions") or ()
    # By position: what is compared of the sort key, three more, the order, the projection; then the index.
    index_name = conditions[6] if len(conditions) > 6 else more.get("index_name")
    if index_name:
        table.partition = [item for item in _stored(table) if all(_has(item, *each) for each in named)]
    elif table.range_key_attr:
        table.partition = list(table.items[hash_key].values()) if hash_key in table.items else []
    try:
        return _slow_query(table, hash_key, *conditions, **more)
    finally:
        vars(table).pop("partition", None)


def _all_items(table: Any) -> Any:
    found = vars(table).get("partition")
    return _slow_all_items(table) if found is None else found


def _has(item: Any, name: str, value: Any) -> bool:
    found = item.attrs.get(name)
    return found is not None and found == value


def _stored(table: Any) -> Any:
    if not table.range_key_attr:
        return table.items.values()
    return (item for partition in table.items.values() for item in partition.values())


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
            serialized[serializer.get_serialized_name(shape, key)] = wire(value)
            return
        except Unusual:
            pass
    _slow_serialize(serializer, serialized, value, shape, key)


def wire(value: Any) -> dict[str, Any]:
    """A value as DynamoDB JSON; moto holds it as its own type, as a dict, or as a mixture of both."""
    if isinstance(value, DynamoType):
        kind, content = value.type, value.value
    elif isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
    else:
        raise Unusual
    if kind == "L":
        return {kind: [wire(each) for each in content]}
    if kind == "M":
        return {kind: {name: wire(each) for name, each in content.items()}}
    if kind in ("B", "BS"):
        raise Unusual
    return {kind: content}
