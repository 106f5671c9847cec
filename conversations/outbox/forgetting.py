"""Removing the messages of a conversation that the platform has deleted from the console's own table."""

from contextlib import suppress
from datetime import timedelta

from console import clock
from console.errors import TableMissing
from console.store.calls import ConditionFailed
from conversations.outbox.rows import LATEST, MessageRow, latest_partition, partition_of

# Rows with work left, such as a reply that is being sent, are kept for so long.
KEPT = timedelta(days=1)


def remove_messages(primary_channel: str, conversation_id: str) -> None:
    """Remove the rows of a conversation that is gone, and let those with work left expire within a day.

    One Query for each MB, and a write for each row. Safe to repeat. Raises the store's errors.
    """
    partition, last = partition_of(primary_channel, conversation_id), clock.to_epoch(clock.now() + KEPT)
    with suppress(TableMissing):
        for row in MessageRow.query(
            partition, consistent_read=True, attributes_to_get=["conversation", "position", "expires_at"]
        ):
            try:
                row.delete(condition=MessageRow.gsi_due.does_not_exist())
            except ConditionFailed:
                sooner = MessageRow.expires_at.does_not_exist() | (MessageRow.expires_at > last)
                with suppress(ConditionFailed):
                    row.update([MessageRow.expires_at.set(last)], MessageRow.conversation.exists() & sooner)
        MessageRow(latest_partition(partition), LATEST).delete()
