"""Items that DynamoDB lets grow no further: how much room one has, and the list of those that have too little.

An item and its copies in local indexes have 400 KB together: with the schema's four, an item has about 80 KB. A full
item cannot hold a mark that it is full. So the console notes it in MESSAGES, for *Needs attention*, and forgets it once
there is room again.
"""

import hashlib
import json
import logging
from collections.abc import Iterable
from datetime import timedelta

from console import clock
from console.errors import ConsoleError
from console.schema.sizes import MAX_ITEM_BYTES, size_of
from console.schema.tables import TABLES
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import plain
from console.store.presence import index_ready
from conversations.handoff.partitions import announce_news
from conversations.handoff.stored import Raw, text

logger = logging.getLogger(__name__)

# The platform's next write and those of the console need so much, in bytes.
LITTLE_ROOM = 4_000
# Partition of the notes. They are written again while an item is full.
FULL = "full"
KEPT = timedelta(days=3)
LISTED = 100
_LOCAL_INDEXES = TABLES["CONVERSATIONS"].lsis
_SMALLEST_LIMIT = MAX_ITEM_BYTES // (1 + len(_LOCAL_INDEXES))


def room_in(stored: Raw) -> int:
    """Return by how many bytes a conversation's item, in DynamoDB JSON, can grow. One cached DescribeTable at most."""
    copies = 1 + sum(
        index.range is not None and index.range.type in stored.get(index.range.name, {}) and _exists(index.name)
        for index in _LOCAL_INDEXES
    )
    return MAX_ITEM_BYTES // copies - size_of(stored)


def is_nearly_full(stored: Raw) -> bool:
    """Return whether an item has too little room for the next write. With a part of its attributes, it may say no."""
    # As JSON an item takes more bytes than DynamoDB counts.
    written = len(json.dumps(stored, ensure_ascii=False, default=repr).encode("utf-8", "replace"))
    return written > _SMALLEST_LIMIT - LITTLE_ROOM and room_in(stored) < LITTLE_ROOM


def _exists(index_name: str) -> bool:
    try:
        return index_ready("CONVERSATIONS", index_name)
    except ConsoleError:
        # Unknown: take the item for fuller than it may be.
        return True


def note_full(stored: Raw) -> None:
    """Note that an item is full; `stored` has at least its key. Logs the store's errors: the next refusal notes it."""
    now = clock.now()
    try:
        answer = call(
            "UpdateItem",
            TableName=table_name("MESSAGES"),
            Key=_key_of(stored),
            UpdateExpression="SET primary_channel = :channel, conversation_id = :id, expires_at = :expiry, "
            "received_at = if_not_exists(received_at, :now)",
            ExpressionAttributeValues={
                ":channel": stored["primary_channel"],
                ":id": stored["conversation_id"],
                ":expiry": {"N": str(clock.to_epoch(now + KEPT))},
                ":now": text(clock.to_iso(now)),
            },
            ReturnValues="ALL_OLD",
        )
    except ConsoleError as error:
        logger.warning("A full conversation could not be noted: %s", type(error).__name__)
        return
    if "Attributes" not in answer:
        announce_news()


def forget_full(stored: Raw) -> None:
    """Forget that an item was full. Logs the store's errors: the note expires."""
    try:
        call("DeleteItem", TableName=table_name("MESSAGES"), Key=_key_of(stored))
    except ConsoleError as error:
        logger.warning("A conversation with room is still noted as full: %s", type(error).__name__)


def note_change(new: Raw, old: Raw) -> None:
    """Note or forget a full item as a change of it shows. Never raises."""
    is_full = is_nearly_full(new)
    if is_full:
        note_full(new)
    elif old and is_nearly_full(old):
        forget_full(new)


def full_keys() -> Iterable[tuple[str, str]]:
    """Return the keys (primary_channel, conversation_id) of the items noted as full, up to `LISTED`. One Query.

    Raises the store's errors.
    """
    answer = call(
        "Query",
        TableName=table_name("MESSAGES"),
        KeyConditionExpression="conversation = :partition",
        ExpressionAttributeValues={":partition": text(FULL)},
        Limit=LISTED,
    )
    now = clock.now()
    rows = [row for row in answer["Items"] if not clock.is_expired(plain(row["expires_at"]), now)]
    return [(row["primary_channel"]["S"], row["conversation_id"]["S"]) for row in rows]


def _key_of(stored: Raw) -> Raw:
    named = "\n".join((stored["conversation_id"]["S"], stored["primary_channel"]["S"]))
    digest = hashlib.sha256(named.encode(errors="replace")).hexdigest()
    return {"conversation": text(FULL), "position": text(digest)}
