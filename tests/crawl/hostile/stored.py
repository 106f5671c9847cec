"""All that is stored, taken down and put back: for tests that try one action many times over."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from console.schema.tables import TABLES
from console.store.calls import table_name
from tests.dynamodb import Store, from_dynamodb

Item = dict[str, Any]


@dataclass(frozen=True)
class Stored:
    """Every table's items as DynamoDB JSON, by table key; `memory` is what moto held, whose items are never changed."""

    tables: dict[str, list[Item]]
    memory: dict[str, Any]

    def plain(self, table_key: str) -> list[Item]:
        """The items of a table as plain Python."""
        return [from_dynamodb(item) for item in self.tables[table_key]]

    def by_key(self, table_key: str) -> dict[tuple[str, ...], Item]:
        """The items of a table by their keys."""
        spec = TABLES[table_key]
        names = [each.name for each in (spec.hash, spec.range) if each]
        return {tuple(str(*item[name].values()) for name in names): item for item in self.tables[table_key]}


def taken(store: Store) -> Stored:
    """What is stored now, straight from moto's memory: reading every table over HTTP costs a hundred times as much."""
    if not store.embedded:
        return Stored({key: list(store._scan(table_name(key))) for key in TABLES}, {})
    from demo.embedded_speed import items_of

    tables = _moto_tables()
    return Stored(
        {
            key: [{name: _wire(value) for name, value in item.attrs.items()} for item in table.all_items()]
            for key, table in tables.items()
        },
        {key: items_of(table) for key, table in tables.items()},
    )


def _wire(value: Any) -> dict[str, Any]:
    """A value as DynamoDB JSON, as a client has it: binary ones are bytes, as moto holds them."""
    from demo.embedded_speed import Binary, wire

    try:
        return wire(value)
    except Binary:
        return {value.type: str(value.value).encode()}


def put_back(store: Store, stored: Stored) -> None:
    """Make the store hold exactly what was taken down."""
    if not store.embedded:
        store.empty()
        for key, items in stored.tables.items():
            store._batch(table_name(key), [{"PutRequest": {"Item": item}} for item in items])
        return
    from demo.embedded_speed import items_of

    for key, table in _moto_tables().items():
        table.items = stored.memory[key]
        table.items = items_of(table)


def keep_only(store: Store, wanted: Callable[[str, Item], bool]) -> None:
    """Drop every item but those of which `wanted` (table key, item as plain Python) says so."""
    for key, items in taken(store).tables.items():
        names = [each.name for each in (TABLES[key].hash, TABLES[key].range) if each]
        unwanted = [item for item in items if not wanted(key, from_dynamodb(item))]
        _drop(store, key, [{name: item[name] for name in names} for item in unwanted])


def drop(store: Store, table_key: str, beginning: str) -> None:
    """Delete every item whose hash key begins like that."""
    if not store.embedded:
        spec = TABLES[table_key]
        found = (item for item in store.all(table_key) if str(item[spec.hash.name]).startswith(beginning))
        for item in found:
            store.delete(table_key, **{each.name: item[each.name] for each in (spec.hash, spec.range) if each})
        return
    items = _moto_tables()[table_key].items
    for key in [key for key in items if str(key.value).startswith(beginning)]:
        del items[key]


def _drop(store: Store, table_key: str, keys: list[Item]) -> None:
    """Delete the items with these keys: from moto's memory, as each call would cost more than all of them."""
    if not store.embedded:
        store._batch(table_name(table_key), [{"DeleteRequest": {"Key": key}} for key in keys])
        return
    from moto.dynamodb.models.dynamo_type import DynamoType

    items = _moto_tables()[table_key].items
    for first, *second in (map(DynamoType, key.values()) for key in keys):
        if second:
            del items[first][second[0]]
        else:
            del items[first]


def _moto_tables() -> dict[str, Any]:
    from moto.backends import get_backend

    keys = {table_name(key): key for key in TABLES}
    backends = [backend for account in get_backend("dynamodb").values() for backend in account.values()]
    return {keys[name]: table for backend in backends for name, table in backend.tables.items() if name in keys}
