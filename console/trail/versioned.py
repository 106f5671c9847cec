"""Items of the console's own table that people edit: written as they were seen, with the entry that says so."""

from typing import Any

from boto3.dynamodb.types import TypeSerializer

from console import clock
from console.schema.tables import table_name
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
    item = {"pk": partition, "sk": sort_key, "version": seen + 1, **values}
    stored = {name: TypeSerializer().serialize(value) for name, value in item.items()}
    _write({"Put": {"TableName": table_name("CONSOLE"), "Item": stored, **_as_seen(seen)}}, told)


def delete(partition: str, sort_key: str, seen: int, told: TrailEntry) -> None:
    """Delete an item of which version `seen` was read. Raises as `put`."""
    key = {"pk": {"S": partition}, "sk": {"S": sort_key}}
    _write({"Delete": {"TableName": table_name("CONSOLE"), "Key": key, **_as_seen(seen)}}, told)


def _as_seen(seen: int) -> dict[str, Any]:
    if not seen:
        return {"ConditionExpression": "attribute_not_exists(pk)"}
    return {
        "ConditionExpression": "#version = :seen",
        "ExpressionAttributeNames": {"#version": "version"},
        "ExpressionAttributeValues": {":seen": {"N": str(seen)}},
    }


def _write(write: dict[str, Any], told: TrailEntry) -> None:
    entry = {"TableName": table_name("AUDIT"), "Item": build(told, clock.now()).serialize()}
    call("TransactWriteItems", TransactItems=[write, {"Put": entry}])
