"""The oldest messages of a conversation that were moved out of its full item: one row each in MESSAGES.

`hand_off_older` on the item counts them. The write that removes entries from `messages` also moves the count on, so at
every moment the rows up to the count and the item's entries are the whole conversation. Rows beyond the count are of a
move that a dead process had begun. The rows have no expiry: the indexer removes them with their item.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from console.errors import TableMissing
from console.store.calls import table_name
from console.store.connection import call, pages
from console.store.models import plain, sendable
from conversations.handoff.stored import MESSAGES, Raw, text
from conversations.messages.content import whole_number
from conversations.messages.message import StoredMessages

OLDER = "hand_off_older"
# The first part of the partition's name.
OLDER_PARTITION = "older"
# DynamoDB's limit for one transaction.
MOST_WRITES = 100


def count_older(stored: Raw) -> int:
    """Return how many messages were moved out of an item."""
    return (whole_number(plain(stored[OLDER])) or 0) if OLDER in stored else 0


def read_older(stored: Raw) -> list[dict[str, Any]]:
    """Return the moved entries as they stood in `messages`, in DynamoDB JSON, oldest first.

    One Query for each megabyte, none if nothing was moved. Raises the store's errors, except for an absent table.
    """
    if not (count := count_older(stored)):
        return []
    found = pages(
        "Query",
        TableName=table_name("MESSAGES"),
        KeyConditionExpression="conversation = :partition AND #position <= :last",
        ExpressionAttributeNames={"#position": "position"},
        ExpressionAttributeValues={":partition": text(_partition_of(stored)), ":last": text(_position_of(count))},
        ConsistentRead=True,
    )
    try:
        return [row["entry"] for page in found for row in page["Items"]]
    except TableMissing:
        return []


def messages_in(
    stored: Raw, messages: dict[str, Any] | None, older: Sequence[dict[str, Any]], names: tuple[str, ...] = ()
) -> StoredMessages:
    """Return an item's `messages` after its `older` ones. Never raises; a notice says if some of these are gone."""
    found = StoredMessages.of(_after(older, messages), names)
    missing = count_older(stored) - len(older)
    if missing <= 0:
        return found
    words = "1 older message is" if missing == 1 else f"{missing} older messages are"
    return replace(found, notice=f"{words} missing. {found.notice}".strip())


def stored_messages(stored: Raw) -> StoredMessages:
    """Return an item's messages after its older ones. Reads as `read_older`."""
    return messages_in(stored, stored.get(MESSAGES), read_older(stored))


def with_older(stored: Raw) -> Raw:
    """Return an item with all of its messages in `messages`. Reads as `read_older`."""
    older = read_older(stored)
    return stored | {MESSAGES: _after(older, stored.get(MESSAGES)) or {"L": []}} if older else stored


def _after(older: Sequence[dict[str, Any]], messages: dict[str, Any] | None) -> dict[str, Any] | None:
    if not older:
        return messages
    # A service may have replaced the list by something else meanwhile.
    newer = messages.get("L", [messages]) if messages and "NULL" not in messages else []
    return {"L": [*older, *newer]}


def save_older(stored: Raw, entries: Sequence[dict[str, Any]]) -> None:
    """Write entries as the next older ones of an item. Safe to repeat. Raises the store's errors."""
    first, partition = count_older(stored) + 1, text(_partition_of(stored))
    company = {"company_id": stored["company_id"]} if "S" in stored.get("company_id", {}) else {}
    rows = [
        {"conversation": partition, "position": text(_position_of(number)), "entry": sendable(entry), **company}
        for number, entry in enumerate(entries, first)
    ]
    puts = [{"Put": {"TableName": table_name("MESSAGES"), "Item": row}} for row in rows]
    for start in range(0, len(puts), MOST_WRITES):
        call("TransactWriteItems", TransactItems=puts[start : start + MOST_WRITES])


def remove_older(stored: Raw) -> None:
    """Remove the older messages of an item that is gone. Safe to repeat. Raises the store's errors."""
    found = pages(
        "Query",
        TableName=table_name("MESSAGES"),
        KeyConditionExpression="conversation = :partition",
        ExpressionAttributeValues={":partition": text(_partition_of(stored))},
        ProjectionExpression="conversation, #position",
        ExpressionAttributeNames={"#position": "position"},
        ConsistentRead=True,
        Limit=MOST_WRITES,
    )
    for page in found:
        deletes = [{"Delete": {"TableName": table_name("MESSAGES"), "Key": row}} for row in page["Items"]]
        if deletes:
            call("TransactWriteItems", TransactItems=deletes)


def _partition_of(stored: Raw) -> str:
    return "\n".join((OLDER_PARTITION, stored["conversation_id"]["S"], stored["primary_channel"]["S"]))


def _position_of(number: int) -> str:
    return f"{number:08}"
