"""Reading items by their keys, a hundred at a time, and again what DynamoDB put off."""

from collections.abc import Sequence
from typing import Any

from console.errors import StoreUnavailable
from console.schema.tables import table_name
from console.store.connection import call

BATCH = 100
ATTEMPTS = 3


def batch_get(
    table_key: str, keys: Sequence[dict[str, str]], attributes: Sequence[str] = (), *, consistent: bool = False
) -> list[dict[str, Any]]:
    """Items by key, as DynamoDB JSON; those that are absent are left out. No `attributes`: all of them.

    Raises the store's errors, and `StoreUnavailable` where DynamoDB put something off again and again.
    """
    name = table_name(table_key)
    found: list[dict[str, Any]] = []
    for start in range(0, len(keys), BATCH):
        request: dict[str, Any] = {"Keys": [_key(each) for each in keys[start : start + BATCH]]}
        if consistent:
            request["ConsistentRead"] = True
        if attributes:
            request["ProjectionExpression"] = ", ".join(f"#{each}" for each in attributes)
            request["ExpressionAttributeNames"] = {f"#{each}": each for each in attributes}
        wanted = {name: request}
        for _ in range(ATTEMPTS):
            answer = call("BatchGetItem", RequestItems=wanted, ReturnConsumedCapacity="TOTAL")
            found += (answer.get("Responses") or {}).get(name, [])
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                break
        else:
            raise StoreUnavailable("The database could not read everything.")
    return found


def _key(key: dict[str, str]) -> dict[str, Any]:
    return {name: {"S": value} for name, value in key.items()}
