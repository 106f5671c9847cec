"""Reading all of the tenants table, for commands."""

from collections.abc import Callable, Iterator
from typing import Any

from console.store.calls import table_name
from console.store.connection import call
from console.store.models import with_bytes

RawItem = dict[str, dict[str, Any]]
Progress = Callable[[int], object]


def walk(progress: Progress) -> Iterator[RawItem]:
    """Every item as DynamoDB JSON, in the table's own order; `progress` is told of each page how many it has.

    For commands only: it reads the whole table. Raises the store's errors.
    """
    request: dict[str, Any] = {
        "TableName": table_name("TENANTS"),
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
    }
    while True:
        answer = call("Scan", **request)
        progress(len(answer["Items"]))
        yield from map(with_bytes, answer["Items"])
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last
