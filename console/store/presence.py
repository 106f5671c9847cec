"""Which tables and indexes exist, cached for a minute, for pages that can do without the absent ones.

An index that projects less than pages need counts as absent: DynamoDB refuses to read the missing attributes from it.

A DescribeTable that fails says nothing about the table: it is never taken for "absent", and never cached.
"""

from collections.abc import Collection
from functools import partial
from threading import Lock
from typing import Any

from cachetools import TTLCache, cached

from console.errors import TableMissing
from console.schema.tables import TABLES
from console.store.calls import parallel, table_name
from console.store.connection import REMEMBER_SECONDS, call, forget_absent


def missing_tables(keys: Collection[str]) -> frozenset[str]:
    """Return the registry keys whose tables are absent (or not ready yet). One DescribeTable per table and minute.

    Raises `StoreUnavailable` or `Throttled` if DynamoDB does not answer for a table that is not cached.
    """
    ready = parallel(*(partial(table_ready, key) for key in keys))
    return frozenset(key for key, is_ready in zip(keys, ready, strict=True) if not is_ready)


def table_ready(table_key: str) -> bool:
    """Return whether a table exists and can be read and written. Raises as `missing_tables`."""
    return _indexes(table_key) is not None


def index_ready(table_key: str, index_name: str) -> bool:
    """Return whether an index exists and is back-filled. Raises as `missing_tables`."""
    return index_name in (_indexes(table_key) or ())


def index_keys(table_key: str, index_name: str) -> frozenset[str]:
    """Return the key attributes that an item needs to be in an index; none if the index is absent. Raises as above."""
    return (_indexes(table_key) or {}).get(index_name, frozenset())


def table_keys(table_key: str) -> frozenset[str]:
    """Return a table's own key attributes with types, such as `UserId (S)`; none if it is absent. Raises as above."""
    return index_keys(table_key, "")


def has_known_key(table_key: str) -> bool:
    """Return whether a table is absent or has a key that the console can read by. Raises as above."""
    spec = TABLES[table_key]
    known = [
        frozenset(f"{each.name} ({each.type})" for each in (spec.hash, sort) if each is not None)
        for sort in spec.ranges
    ]
    return not table_ready(table_key) or table_keys(table_key) in known


def index_absent(table_key: str, index_name: str) -> bool:
    """Return whether a table exists without that index (or with one not ready yet). Raises as `missing_tables`."""
    return table_ready(table_key) and not index_ready(table_key, index_name)


def known_without(table_key: str, index_name: str) -> bool:
    """Return whether a description of the last minute lacks an index. Never reads; False may mean "not described"."""
    with _described_lock:
        found = _described.get(table_name(table_key))
    return found is not None and index_name not in found


def forget() -> None:
    """Drop the cache, after a change of tables and between tests."""
    _indexes.cache_clear()
    forget_absent()


# By the table's name. Requests do not wait for each other's calls: each has its own deadline.
_described: TTLCache[str, dict[str, frozenset[str]] | None] = TTLCache(len(TABLES), REMEMBER_SECONDS)
_described_lock = Lock()


@cached(_described, table_name, _described_lock)
def _indexes(table_key: str) -> dict[str, frozenset[str]] | None:
    """Return the key attributes of each active index by name, and under "" the table's own with their types.

    None if the table does not exist or is not ready.
    """
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
    """Return whether any item has that partition key, in the table or an index. One Query with Limit 1.

    An expired item counts until it is removed. Strongly consistent in the table. Raises the store's errors.
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
