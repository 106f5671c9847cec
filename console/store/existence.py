"""Whether anything is stored under a key."""

from typing import Any

from console.schema.tables import table_name
from console.store.connection import call


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
