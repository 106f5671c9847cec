"""Small partitions of the console's own table, read whole."""

from typing import Any

from console.errors import TableMissing
from console.schema.tables import table_name
from console.store.connection import call
from console.store.models import plain_item


def items_of(partition: str, most: int, *, consistent: bool = False) -> list[dict[str, Any]]:
    """Return the first `most` items of a partition of CONSOLE, plain; none where the table is missing. One Query.

    Raises the store's errors.
    """
    try:
        answer = call(
            "Query",
            TableName=table_name("CONSOLE"),
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": partition}},
            Limit=most,
            ConsistentRead=consistent,
        )
    except TableMissing:
        return []
    return [plain_item(each) for each in answer["Items"]]
