"""Conversations whose items DynamoDB lets grow no further, and DynamoDB's refusal where an engine has none."""

import json
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from console.schema.sizes import MAX_ITEM_BYTES, size_of
from console.schema.tables import TABLES
from conversations.handoff.full_items import room_in
from tests import faults
from tests.dynamodb import Store, to_dynamodb
from tests.support.conversations.handoff.kit import conversation

# What DynamoDB answers.
TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
# The size, in bytes, of an item in all local indexes that has a hundred left.
LIMIT = MAX_ITEM_BYTES // (1 + len(TABLES["CONVERSATIONS"].lsis)) - 100
# Keys of the local indexes: an item without them has no copies, and may have 400 KB.
INDEXED = ("created_at", "task_complete", "conversation_status", "channel_method")


def entries(count: int, size: int = 300) -> list[dict[str, Any]]:
    """Messages of the customer and the AI in turn, a minute apart, each with about so many characters."""
    return [
        {
            "message_id": f"M{number}",
            "timestamp": f"2026-01-31T{8 + number // 600 % 12:02}:{number // 10 % 60:02}:{number % 10:02}Z",
            "role": "assistant" if number % 2 else "user",
            "content": f"message {number} ".ljust(size, "x"),
        }
        for number in range(count)
    ]


def put_full(
    store: Store, size: int, *, indexed: bool = True, count: int | None = None, **changes: Any
) -> dict[str, Any]:
    """Put a conversation of exactly `size` bytes as DynamoDB counts one copy, most of them its messages."""
    left_out = () if indexed else INDEXED
    item = {name: value for name, value in conversation(**changes).items() if name not in left_out}
    item["messages"] = entries(count if count is not None else size // 450)
    item["x_filler"] = ""
    item["x_filler"] = "x" * (size - size_of(to_dynamodb(item)))
    store.put("CONVERSATIONS", item)
    return item


def refusing(store: Store) -> AbstractContextManager[Any]:
    """DynamoDB refuses what makes an item too large: moto does not count copies in local indexes, so a hook does."""
    if not store.embedded:
        return nullcontext()

    def does_not_fit(request: dict[str, Any]) -> bool:
        stored = store.client.get_item(TableName=request["TableName"], Key=request["Key"], ConsistentRead=True)
        written = len(json.dumps(request.get("ExpressionAttributeValues", {}), default=repr))
        return "#messages[0]" not in request["UpdateExpression"] and room_in(stored.get("Item", {})) < written

    which: dict[str, Any] = {"table_key": "CONVERSATIONS", "times": faults.ALWAYS, "where": does_not_fit}
    return faults.refuse("UpdateItem", code="ValidationException", message=TOO_LARGE, **which)
