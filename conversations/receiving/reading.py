"""Messages that a conversation's own item has no room for, as entries of its transcript."""

from typing import Any

from console.errors import TableMissing
from conversations.models import Conversation
from conversations.receiving.models import MessageRow, partition_of

# As many of the latest are shown beside what the item holds.
MOST = 500


def kept_apart(item: Conversation) -> list[dict[str, Any]]:
    """The messages of a conversation that only our own table holds, plain, latest first; one Query where there are any.

    Reads nothing where the item says that it holds them all. Raises the store's errors, but for an absent table.
    """
    if not item.hand_off_messages_apart:
        return []
    partition = partition_of(item.primary_channel, item.conversation_id)
    try:
        rows = list(
            MessageRow.query(
                partition,
                filter_condition=MessageRow.on_item == False,  # noqa: E712
                scan_index_forward=False,
                limit=MOST,
                consistent_read=True,
            )
        )
    except TableMissing:
        return []
    return [
        {"message_id": row.message_id, "timestamp": row.received_at, "role": "user", "content": row.content or ""}
        for row in rows
    ]
