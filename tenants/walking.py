"""Reading the tenants table for commands: all of it, or one partition however long it is."""

from collections.abc import Callable, Iterator
from typing import Any

from console.dynamodb.connection import call
from console.dynamodb.registry import table_name
from console.dynamodb.values import with_bytes
from tenants.keys import partition_of

RawItem = dict[str, dict[str, Any]]
Progress = Callable[[int], object]


def walk(progress: Progress) -> Iterator[RawItem]:
    """Every item as DynamoDB JSON, in the table's own order; `progress` is told of each page how many it has.

    For commands only: it reads the whole table. Raises the store's errors.
    """
    yield from _pages("Scan", {}, progress)


def partition_items(tenant_id: str, progress: Progress = lambda _: None) -> Iterator[RawItem]:
    """Every item of a tenant's partition in the order of sort keys, its users' memories too. Raises the store's errors.

    For commands: a page must not wait for that many.
    """
    wanted = {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition_of(tenant_id)}},
    }
    yield from _pages("Query", wanted, progress)


def _pages(operation: str, wanted: dict[str, Any], progress: Progress) -> Iterator[RawItem]:
    request = {"TableName": table_name("TENANTS"), "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL", **wanted}
    while True:
        answer = call(operation, **request)
        progress(len(answer["Items"]))
        yield from map(with_bytes, answer["Items"])
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last
