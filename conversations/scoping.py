"""To which company a conversation belongs when only its id is known."""

from console.dynamodb.connection import call
from console.dynamodb.keys import SORT_KEY_BYTES, fits
from console.dynamodb.registry import table_name
from console.errors import NotAccepted, TableMissing
from conversations.models import ConversationIdIndex

# One id is one conversation but for a few; more would be no conversation's id.
MAX_ITEMS = 20


def companies_of(conversation_id: str) -> frozenset[str]:
    """The companies of the conversations with that id; empty where none is known, or the index is not there.

    One Query of the conversation-id index. Raises the store's errors, never for an absent table or index.
    """
    if not fits(conversation_id, SORT_KEY_BYTES):
        return frozenset()
    try:
        answer = call(
            "Query",
            TableName=table_name("CONVERSATIONS"),
            IndexName=ConversationIdIndex.Meta.index_name,
            KeyConditionExpression="conversation_id = :id",
            ExpressionAttributeValues={":id": {"S": conversation_id}},
            ProjectionExpression="company_id",
            Limit=MAX_ITEMS,
            ReturnConsumedCapacity="TOTAL",
        )
    except (TableMissing, NotAccepted):
        return frozenset()
    # An item without a readable company is in nobody's scope, and so makes the whole trail one of unknown owner.
    owners = [item.get("company_id", {}).get("S", "") for item in answer.get("Items", [])]
    return frozenset() if "" in owners else frozenset(owners)
