"""What is known of a conversation of which only the id is known: its company, and who its recipient is."""

from typing import Any

from console.errors import NotAccepted, TableMissing
from console.schema.tables import RECIPIENT_NAMES, table_name
from console.store.connection import call
from console.store.keys import SORT_KEY_BYTES, fits
from conversations.models import Conversation, ConversationIdIndex
from conversations.reading import names_of

# One id is one conversation but for a few; more would be no conversation's id.
MAX_ITEMS = 20


def companies_of(conversation_id: str) -> frozenset[str]:
    """The companies of the conversations with that id; empty where none is known, or the index is not there.

    One Query of the conversation-id index. Raises the store's errors, never for an absent table or index.
    """
    # An item without a readable company is in nobody's scope, and so makes the whole trail one of unknown owner.
    owners = [item.get("company_id", {}).get("S", "") for item in _items(conversation_id, "company_id")]
    return frozenset() if "" in owners else frozenset(owners)


def recipient_names(conversation_id: str) -> tuple[str, ...]:
    """The names of the recipients of the conversations with that id. Calls and errors as `companies_of`."""
    items = map(Conversation.from_raw_data, _items(conversation_id, *RECIPIENT_NAMES))
    return tuple(dict.fromkeys(name for item in items for name in names_of(item)))


def _items(conversation_id: str, *attributes: str) -> list[dict[str, Any]]:
    """These attributes, as DynamoDB JSON, of the conversations with that id."""
    if not fits(conversation_id, SORT_KEY_BYTES):
        return []
    try:
        answer = call(
            "Query",
            TableName=table_name("CONVERSATIONS"),
            IndexName=ConversationIdIndex.Meta.index_name,
            KeyConditionExpression="conversation_id = :id",
            ExpressionAttributeValues={":id": {"S": conversation_id}},
            ProjectionExpression=", ".join(attributes),
            Limit=MAX_ITEMS,
            ReturnConsumedCapacity="TOTAL",
        )
    except (TableMissing, NotAccepted):
        return []
    found: list[dict[str, Any]] = answer.get("Items", [])
    return found
