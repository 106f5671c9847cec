"""Which tables and indexes are there, cached for a minute, for pages that do without the absent ones.

An index that projects less than pages ask of it counts as absent: DynamoDB refuses to read from it what it lacks.

A DescribeTable that fails says nothing about the table: it is never taken for "absent", and never cached.
"""

import threading
import time
from collections.abc import Collection
from typing import Any

from console.errors import TableMissing
from console.schema.tables import TABLES
from console.store.calls import parallel, table_name
from console.store.connection import REMEMBER_SECONDS, call, forget_absent

_lock = threading.Lock()
Indexes = dict[str, frozenset[str]]
# Per table name: when it was looked at (monotonic), and the key attributes of its active indexes by name, its own
# with their types under "", or None where the table is absent.
_seen: dict[str, tuple[float, Indexes | None]] = {}


def missing_tables(keys: Collection[str]) -> frozenset[str]:
    """Those of these registry keys whose tables are not there (or not ready yet). One DescribeTable each a minute.

    Raises `StoreUnavailable` or `Throttled` when DynamoDB gives no answer for a table that is not cached.
    """
    stale = [key for key in keys if _cached(table_name(key)) is None]
    found = parallel(*(lambda key=key: table_ready(key) for key in stale)) if stale else []
    fresh = dict(zip(stale, found, strict=True))
    return frozenset(key for key in keys if not (fresh[key] if key in fresh else table_ready(key)))


def table_ready(table_key: str) -> bool:
    """Whether a table is there and can be read and written. Raises as `missing_tables`."""
    return _indexes(table_key) is not None


def index_ready(table_key: str, index_name: str) -> bool:
    """Whether an index is there and back-filled. Raises as `missing_tables`."""
    return index_name in (_indexes(table_key) or ())


def index_keys(table_key: str, index_name: str) -> frozenset[str]:
    """The key attributes that an item needs to be in an index; none where the index is not there. Raises as above."""
    return (_indexes(table_key) or {}).get(index_name, frozenset())


def table_keys(table_key: str) -> frozenset[str]:
    """A table's own key attributes with their types, as `UserId (S)`; none where it is not there. Raises as above."""
    return index_keys(table_key, "")


def has_known_key(table_key: str) -> bool:
    """Whether a table that is there has the key that the console reads by. Raises as above."""
    spec = TABLES[table_key]
    known = [
        frozenset(f"{each.name} ({each.type})" for each in (spec.hash, sort) if each is not None)
        for sort in spec.ranges
    ]
    return not table_ready(table_key) or table_keys(table_key) in known


def index_absent(table_key: str, index_name: str) -> bool:
    """Whether a table is there, but not that index of it (or not ready yet). Raises as `missing_tables`."""
    return table_ready(table_key) and not index_ready(table_key, index_name)


def forget() -> None:
    """Look anew at the next question: after a change of tables, and between tests."""
    with _lock:
        _seen.clear()
    forget_absent()


def _cached(name: str) -> tuple[float, Indexes | None] | None:
    with _lock:
        entry = _seen.get(name)
    return entry if entry is not None and time.monotonic() - entry[0] < REMEMBER_SECONDS else None


def _indexes(table_key: str) -> Indexes | None:
    name = table_name(table_key)
    entry = _cached(name)
    if entry is None:
        entry = (time.monotonic(), _describe(table_key))
        with _lock:
            _seen[name] = entry
    return entry[1]


def _describe(table_key: str) -> Indexes | None:
    """The active indexes, or None where DynamoDB says that there is no such table."""
    try:
        table = call("DescribeTable", TableName=table_name(table_key))["Table"]
    except TableMissing:
        return None
    if table["TableStatus"] not in ("ACTIVE", "UPDATING"):
        return None
    ready = [
        index
        for index in table.get("GlobalSecondaryIndexes", ())
        if index.get("IndexStatus", "ACTIVE") in ("ACTIVE", "UPDATING") and not index.get("Backfilling", False)
    ]
    included = {each.name: frozenset(each.include) for each in TABLES[table_key].gsis}
    types = {each["AttributeName"]: each["AttributeType"] for each in table.get("AttributeDefinitions", ())}
    own = (each["AttributeName"] for each in table.get("KeySchema", ()))
    return {"": frozenset(f"{each} ({types.get(each, '?')})" for each in own)} | {
        index["IndexName"]: frozenset(each["AttributeName"] for each in index.get("KeySchema", ()))
        for index in (*table.get("LocalSecondaryIndexes", ()), *ready)
        if _projects(index, included.get(index["IndexName"], frozenset()))
    }


def _projects(index: dict[str, Any], wanted: frozenset[str]) -> bool:
    projection = index.get("Projection", {})
    return projection.get("ProjectionType", "ALL") == "ALL" or wanted <= set(projection.get("NonKeyAttributes", ()))


def any_item(table_key: str, attribute: str, value: str, index: str = "") -> bool:
    """Whether any item has that partition key, of the table or of an index: one Query of one key.

    One that has expired counts, until it is removed. Strongly consistent in the table. Raises the store's errors.
    """
    where: dict[str, Any] = {"IndexName": index} if index else {"ConsistentRead": True}
    answer = call(
        "Query",
        TableName=table_name(table_key),
        KeyConditionExpression=f"{attribute} = :value",
        ExpressionAttributeValues={":value": {"S": value}},
        ProjectionExpression=attribute,
        Limit=1,
        ReturnConsumedCapacity="TOTAL",
        **where,
    )
    return bool(answer["Items"])
