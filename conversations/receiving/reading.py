"""What pages show of customers' messages besides the items: those that an item has no room for, and the last words."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings

from console import clock
from console.errors import ConsoleError, TableMissing
from console.redaction import excerpt
from console.store.connection import batch_get
from console.store.models import plain_item
from conversations.handoff.stored import has_inbound_source, has_stage
from conversations.messages import StoredMessages
from conversations.models import Conversation
from conversations.receiving.appending import entry_of
from conversations.receiving.models import LATEST, MessageRow, latest_of, partition_of
from conversations.records import HandOff, HandOffState
from conversations.sending.reading import may_have_replies, status_of
from conversations.sending.states import OUTBOUND, ReplyState

logger = logging.getLogger(__name__)

# As many of the latest are shown beside what the item holds.
MOST = 500
# What an item says of its customer's messages to people.
MARKS = ("hand_off_messages_apart", "hand_off_message_ids")


def messages_of(item: Conversation, stored: dict[str, Any] | None, names: tuple[str, ...] = ()) -> StoredMessages:
    """Return all messages of a conversation: those of its item, which are `stored`, and those kept beside it."""
    return joined(item, StoredMessages.of(stored, names), rows_beside(item))


def customers_of(item: Conversation) -> StoredMessages:
    """Return the messages of an item that was read with them, for what its customer wrote: without people's replies
    that only our own table holds. One Query where messages are kept apart from the item, else none.
    """
    apart = rows_beside(item) if item.hand_off_messages_apart else []
    return joined(item, StoredMessages.of(item.raw.get("messages")), apart)


def joined(item: Conversation, stored: StoredMessages, rows: list[MessageRow]) -> StoredMessages:
    """Return the messages of an item with those kept beside it, each once, and what became of people's replies."""
    appended = item.plain("hand_off_message_ids")
    ids = frozenset(map(str, appended)) if isinstance(appended, list) else frozenset()
    shown = [row for row in rows if row.state != ReplyState.UNDONE]
    apart = [dict(entry_of(row)) for row in shown if not row.on_item]
    replies = {row.message_id or "": status_of(row) for row in shown if row.direction == OUTBOUND}
    return replace(stored.without_repeated(ids).joined(apart), replies=replies)


def rows_beside(item: Conversation) -> list[MessageRow]:
    """Return the rows of what only our own table holds of a conversation, latest first: messages that its item has no
    room for, and people's replies.

    One Query where there may be any, else none. Raises the store's errors, but for an absent table.
    """
    if not item.hand_off_messages_apart and not may_have_replies(item):
        return []
    partition = partition_of(item.primary_channel, item.conversation_id)
    try:
        return list(
            MessageRow.query(
                partition,
                filter_condition=(MessageRow.on_item == False) | (MessageRow.direction == OUTBOUND),  # noqa: E712
                scan_index_forward=False,
                limit=MOST,
                consistent_read=True,
            )
        )
    except TableMissing:
        return []


@dataclass(frozen=True, slots=True)
class LastWords:
    """What a customer wrote last, redacted, and how many messages nobody has answered as far as the console knows."""

    text: str
    unanswered: int
    at: datetime | None

    @property
    def label(self) -> str:
        """How many messages wait for an answer, in words."""
        return f"{self.unanswered} unanswered message{'' if self.unanswered == 1 else 's'}"


def last_words(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], LastWords]:
    """Return what the customers of conversations (primary_channel, conversation_id) wrote last to people.

    One BatchGetItem, none without a source of such messages. A failure costs the words, not the page.
    """
    by_partition = {latest_of(partition_of(*key)): key for key in keys}
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
    )


def can_leave(item: Conversation, hand_off: HandOff) -> bool:
    """Tell whether the AI can be asked to answer: what came to people, or what it left so that it needs attention."""
    if hand_off.state is HandOffState.AI:
        return bool(item.hand_off_attention) and queue_of(item) != ""
    has_messages = bool(item.plain("hand_off_message_ids") or item.hand_off_messages_apart)
    return hand_off.flag and has_messages and queue_of(item) != ""


def queue_of(item: Conversation) -> str:
    """The URL of the queue that brings the replies of a conversation's channel to the AI, "" where there is none."""
    channel = str(item.plain("channel_method") or "").lower()
    return str(settings.CHANNEL_QUEUE_URLS.get(channel) or "") if has_stage() else ""
