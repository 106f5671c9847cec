"""Scan the tenants table, for commands."""

from collections.abc import Callable, Iterator
from typing import Any

from console.store.calls import table_name
from console.store.connection import pages
from console.store.models import with_bytes

RawItem = dict[str, dict[str, Any]]
Progress = Callable[[int], object]


def walk(progress: Progress) -> Iterator[RawItem]:
    """Yield every item in DynamoDB JSON, in scan order. Call `progress` with the number of items of each page.

    For commands only: strongly consistent Scan of the whole table. Raises the store's errors.
    """
    name = table_name("TENANTS")
    for answer in pages("Scan", TableName=name, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"):
        progress(len(answer["Items"]))
        yield from map(with_bytes, answer["Items"])
