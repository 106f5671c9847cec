"""Items of the console's own table that people edit: written as they were seen, with the entry that says so."""

from typing import Any

from boto3.dynamodb.types import TypeSerializer

from console import clock
from console.store.calls import table_name
from console.store.connection import call
from console.trail.recording import TrailEntry, build


def version_of(item: dict[str, Any]) -> int:
    """Return which version of an item was read; 0 where there is none yet."""
    version = item.get("version")
    return version if isinstance(version, int) else 0


def put(partition: str, sort_key: str, values: dict[str, Any], seen: int, told: TrailEntry) -> None:
    """Replace an item of which version `seen` was read (0: there was none). `values` are plain.

    Raises `TransactionRefused` where it is another version by now, and the store's errors.
    """
    stored = _stored(partition, sort_key, seen + 1, values)
    _write([{"Put": {"TableName": table_name("CONSOLE"), "Item": stored, **_as_seen(seen)}}], told)


def move(partition: str, before: str, after: str, values: dict[str, Any], seen: int, told: TrailEntry) -> None:
    """Replace an item of which version `seen` was read by one under another sort key, which nothing has yet.

    Raises as `put`; of the codes of `TransactionRefused` the first is of what was there, the second of what comes.
    """
    table = table_name("CONSOLE")
    old = {"Delete": {"TableName": table, "Key": {"pk": {"S": partition}, "sk": {"S": before}}, **_as_seen(seen)}}
    new = {"Put": {"TableName": table, "Item": _stored(partition, after, 1, values), **_as_seen(0)}}
    _write([old, new], told)


def delete(partition: str, sort_key: str, seen: int, told: TrailEntry) -> None:
    """Delete an item of which version `seen` was read. Raises as `put`."""
    key = {"pk": {"S": partition}, "sk": {"S": sort_key}}
    _write([{"Delete": {"TableName": table_name("CONSOLE"), "Key": key, **_as_seen(seen)}}], told)


def _stored(partition: str, sort_key: str, version: int, values: dict[str, Any]) -> dict[str, Any]:
    item = {"pk": partition, "sk": sort_key, "version": version, **values}
    return {name: TypeSerializer().serialize(value) for name, value in item.items()}


def _as_seen(seen: int) -> dict[str, Any]:
    if not seen:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "#version = :seen",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": {":seen": {"N": str(seen)}},
    }


def _write(writes: list[dict[str, Any]], told: TrailEntry) -> None:
    entry = {"TableName": table_name("AUDIT"), "Item": build(told, clock.now()).serialize()}
    call("TransactWriteItems", TransactItems=[*writes, {"Put": entry}])
