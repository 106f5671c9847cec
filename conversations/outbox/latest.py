"""The row of a customer's last message: what lists show of it, and how many messages are unanswered."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from console.errors import ConsoleError, NotFound
from console.redaction import excerpt
from console.store.calls import table_name
from console.store.connection import batch_get
from console.store.models import plain_item
from conversations.handoff.stored import Raw, has_inbound_source, text
from conversations.outbox.rows import LATEST, MessageRow, latest_partition, partition_of

logger = logging.getLogger(__name__)

LONGEST_EXCERPT = 400


@dataclass(frozen=True, slots=True)
class LastWords:
    """A customer's last message, redacted, and the number of unanswered messages to the console's knowledge.

    `is_opted_out`: they want no more messages. `excused_by` said that what they wrote until `excused_until` needs no
    answer.
    """

    text: str
    unanswered: int
    at: datetime | None
    is_opted_out: bool = False
    excused_by: str = ""
    excused_until: datetime | None = None

    @property
    def label(self) -> str:
        """The number of unanswered messages, in words."""
        return f"{self.unanswered} unanswered message{'' if self.unanswered == 1 else 's'}"


def last_words(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], LastWords]:
    """Return what the customers of conversations (primary_channel, conversation_id) last wrote to people.

    One BatchGetItem, none without a source of such messages. A failure is logged and returns {}.
    """
    by_partition = {latest_partition(partition_of(*key)): key for key in keys}
    if not by_partition or not has_inbound_source():
        return {}
    wanted = [{"conversation": partition, "position": LATEST} for partition in by_partition]
    try:
        found = batch_get("MESSAGES", wanted)
    except ConsoleError as error:
        logger.warning("Could not read what customers wrote last: %s", type(error).__name__)
        return {}
    rows = map(plain_item, found)
    return {by_partition[row["conversation"]]: _last_words(row) for row in rows}


def _last_words(row: dict[str, Any]) -> LastWords:
    count = row.get("unanswered")
    return LastWords(
        excerpt(" ".join(str(row.get("content") or "").split())),
        count if isinstance(count, int) else 0,
        clock.parse_instant(row.get("received_at")),
        row.get("is_opted_out") is True,
        str(row.get("excused_by") or ""),
        clock.parse_instant(row.get("excused_until")),
    )


def latest_write(row: MessageRow, *, begins: bool, is_newest: bool, seen: int | None) -> dict[str, Any]:
    """Return the write of the customer's last message, for lists, and of the count of unanswered messages.

    A row with a `kind` needs no answer.

    `begins`: the AI has the conversation, and earlier messages were answered or left. Words change only if they are the
    newest, whichever order messages come in; `seen` is the revision that the write is based on, None for any.
    """
    values: Raw = {":expiry": {"N": str(row.expires_at)}, ":one": {"N": "1"}, ":at": text(row.received_at or "")}
    sets, conditions = ["expires_at = :expiry"], []
    values[":more"] = {"N": "0" if row.kind else "1"}
    if begins:
        sets.append("unanswered = :more")
    else:
        sets.append("unanswered = if_not_exists(unanswered, :none) + :more")
        values[":none"] = {"N": "0"}
    if is_newest:
        sets += ["content = :content", "received_at = :at"]
        values[":content"] = text((row.content or "")[:LONGEST_EXCERPT])
    conditions.append("(attribute_not_exists(received_at) OR received_at <= :at)" if is_newest else "received_at > :at")
    if seen is not None:
        conditions.append("revision = :seen" if seen else "attribute_not_exists(revision)")
        values |= {":seen": {"N": str(seen)}} if seen else {}
    return {
        "Update": {
            "TableName": table_name("MESSAGES"),
            "Key": {"conversation": text(latest_partition(row.conversation)), "position": text(LATEST)},
            "UpdateExpression": f"SET {', '.join(sets)} ADD revision :one",
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeValues": values,
        }
    }


def read_latest(row: MessageRow) -> tuple[int, datetime | None]:
    """Return how often the row of a customer's last message was written, 0 for never, and when they wrote that."""
    try:
        found = MessageRow.get(latest_partition(row.conversation), LATEST, consistent_read=True)
    except NotFound:
        return 0, None
    return int(found.revision or 0), clock.parse_instant(found.received_at)
