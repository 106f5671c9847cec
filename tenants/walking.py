"""Reading the tenants table for commands: all of it, or one partition however long it is."""

import base64
from collections.abc import Callable, Iterator
from typing import Any

from console.dynamodb.connection import call
from console.dynamodb.registry import table_name
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
        yield from (_with_bytes(item) for item in answer["Items"])
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last


def _with_bytes(item: RawItem) -> RawItem:
    """The console's client leaves binary values as the text of the answer, but takes bytes for a request."""
    return {name: _value(each) for name, each in item.items()}


def _value(value: dict[str, Any]) -> dict[str, Any]:
    kind, content = next(iter(value.items()))
    match kind:
        case "B":
            return {kind: base64.b64decode(content)}
        case "BS":
            return {kind: [base64.b64decode(each) for each in content]}
        case "L":
            return {kind: [_value(each) for each in content]}
        case "M":
            return {kind: _with_bytes(content)}
        case _:
            return value
