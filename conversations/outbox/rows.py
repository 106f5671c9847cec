"""The console's own MESSAGES table: messages and replies, messages that could not be placed, and what pages show."""

import logging
import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from console import clock
from console.errors import ConsoleError, NotFound, TableMissing
from console.redaction import excerpt, redact
from console.refs import seal_data
from console.store.calls import ConditionFailed
from console.store.connection import batch_get
from console.store.models import StoreModel, TableMeta, plain_item
from conversations.handoff.stored import has_inbound_source, has_stage
from conversations.messages import BY_HUMAN, StoredMessages
from conversations.models import Conversation
from conversations.records import HandOff, HandOffState, ReplyStatus
from conversations.sending.states import OUTBOUND, RETRIED, ReplyState

logger = logging.getLogger(__name__)

# Partition of messages that could not be placed.
NOT_PLACED = "not placed"
# Partition of the sparse index: rows to append to their conversation's item.
TO_APPEND = "append"
# Replies to send, whose sending to settle, and whose delivery to ask for.
TO_SEND, TO_SETTLE, TO_ASK = "send", "settle", "delivery"
# Templates to fetch from the provider.
TO_FETCH = "template"
# The row of a customer's last message has a partition of its own, so that one read can get those of many customers.
LATEST = "latest"


class DueIndex(GlobalSecondaryIndex["MessageRow"]):
    """Rows with work left, by when it is due."""

    class Meta:
        index_name = "due-index"
        projection = IncludeProjection(["company_id"])

    gsi_due = UnicodeAttribute(hash_key=True)
    due_at = UnicodeAttribute(range_key=True)


class MessageRow(StoreModel):
    """One message or reply. `position` is `{instant}#{message id}`; `on_item`: the conversation's item has it too.

    For a message that could not be placed, `not_placed_because` is the reason, and `body` the queue's message
    (`is_cut`: only its beginning).
    """

    class Meta(TableMeta):
        table_key = "MESSAGES"

    conversation = UnicodeAttribute(hash_key=True)
    position = UnicodeAttribute(range_key=True)
    company_id = UnicodeAttribute(null=True)
    direction = UnicodeAttribute(null=True)
    message_id = UnicodeAttribute(null=True)
    channel = UnicodeAttribute(null=True)
    content = UnicodeAttribute(null=True)
    state = UnicodeAttribute(null=True)
    source = UnicodeAttribute(null=True)
    not_placed_because = UnicodeAttribute(null=True)
    body = UnicodeAttribute(null=True)
    is_cut = BooleanAttribute(null=True)
    on_item = BooleanAttribute(null=True)
    received_at = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    gsi_due = UnicodeAttribute(null=True)
    due_at = UnicodeAttribute(null=True)

    # For the row `LATEST`: how many messages are unanswered, to the console's knowledge
    unanswered = NumberAttribute(null=True)

    # For a first message that waits for approval: who decides or decided, since when, and in which entry of the trail
    project_id = UnicodeAttribute(null=True)
    decided_by = UnicodeAttribute(null=True)
    decided_at = UnicodeAttribute(null=True)
    decision_id = UnicodeAttribute(null=True)

    # For a reply: who wrote it, and when it may leave at the earliest
    author = UnicodeAttribute(null=True)
    author_name = UnicodeAttribute(null=True)
    not_before = UnicodeAttribute(null=True)
    template = UnicodeAttribute(null=True)
    variables = UnicodeAttribute(null=True)
    # Its entry in the trail, and its idempotency record
    ts_action_id = UnicodeAttribute(null=True)
    event_id = UnicodeAttribute(null=True)
    # Who sends it, since when, and how: as passed to the provider
    sending_id = UnicodeAttribute(null=True)
    begun_at = UnicodeAttribute(null=True)
    sender = UnicodeAttribute(null=True)
    recipient = UnicodeAttribute(null=True)
    credentials = UnicodeAttribute(null=True)
    subject = UnicodeAttribute(null=True)
    answers = UnicodeAttribute(null=True)
    # Its outcome
    provider_id = UnicodeAttribute(null=True)
    sent_at = UnicodeAttribute(null=True)
    state_at = UnicodeAttribute(null=True)
    asked = NumberAttribute(null=True)
    error_code = UnicodeAttribute(null=True)
    error = UnicodeAttribute(null=True)
    # The reply that replaces it
    retried_by = UnicodeAttribute(null=True)

    due_index = DueIndex()


def approvals_partition(company_id: str) -> str:
    """Return the partition of a company's first messages that wait for approval."""
    return f"to approve\n{company_id}"


def decided_partition(company_id: str) -> str:
    """Return the partition of a company's first messages that have been decided."""
    return f"decided\n{company_id}"


def partition_of(primary_channel: str, conversation_id: str) -> str:
    """Return the partition of a conversation's messages: both parts of its key, as neither is unique alone."""
    return f"{conversation_id}\n{primary_channel}"


def key_in(partition: str) -> tuple[str, str]:
    """Return the key (primary_channel, conversation_id) of the conversation whose messages a partition has."""
    conversation_id, _, primary_channel = partition.partition("\n")
    return primary_channel, conversation_id


def conversation_of(row: MessageRow) -> Conversation | None:
    """Return a message's complete conversation, None if it does not exist. Strongly consistent."""
    try:
        return Conversation.get(*key_in(row.conversation), consistent_read=True)
    except NotFound:
        return None


def latest_partition(conversation: str) -> str:
    """Return the partition of a customer's last message, from the partition of the conversation's messages."""
    return f"{LATEST}\n{conversation}"


def note_answered(conversation: str) -> None:
    """Note for lists that none of a customer's messages is unanswered, if any was noted. Raises the store's errors."""
    with suppress(ConditionFailed):
        MessageRow(latest_partition(conversation), LATEST).update(
            actions=[MessageRow.unanswered.set(0)], condition=MessageRow.conversation.exists()
        )


def position_of(received_at: str, message_id: str) -> str:
    """Return the sort key of a message."""
    return f"{received_at}#{message_id}"


# --- Messages apart from the items ------------------------------------------------------------------------------------

# How many of the latest rows to join with the item's messages.
MOST = 500
# An item's attributes about its customer's messages to people.
MARKS = ("hand_off_messages_apart", "hand_off_message_ids")


def entry_of(row: MessageRow) -> dict[str, str]:
    """Return a message as an entry of `messages`: a customer's as the platform writes it, or a person's reply.

    A reply has the assistant's role: for the platform it is the answer (schema platform-conversations).
    """
    at, content = row.received_at or "", row.content or ""
    if row.author is None:
        return {"message_id": row.message_id or "", "timestamp": at, "role": "user", "content": content}
    by = {"sent_by": BY_HUMAN, "agent": row.author, "agent_name": row.author_name or row.author}
    return {"entry_id": row.message_id or "", "message_timestamp": at, "role": "assistant", "content": content, **by}


def messages_of(item: Conversation, stored: dict[str, Any] | None, names: tuple[str, ...] = ()) -> StoredMessages:
    """Return all messages of a conversation: those of its item, given as `stored`, and those in our own table."""
    return joined(item, StoredMessages.of(stored, names), rows_only_in_messages(item))


def customers_of(item: Conversation) -> StoredMessages:
    """Return an item's messages with those stored apart from it, for what its customer wrote.

    People's replies may be missing. One Query where messages are apart from the item, else none.
    """
    apart = rows_only_in_messages(item) if item.hand_off_messages_apart else []
    return joined(item, StoredMessages.of(item.raw.get("messages")), apart)


def joined(item: Conversation, stored: StoredMessages, rows: list[MessageRow]) -> StoredMessages:
    """Return the messages of an item joined with rows of our table, each once, with the status of people's replies."""
    appended = item.plain("hand_off_message_ids")
    ids = frozenset(map(str, appended)) if isinstance(appended, list) else frozenset()
    shown = [row for row in rows if row.state != ReplyState.UNDONE]
    apart = [dict(entry_of(row)) for row in shown if not row.on_item]
    replies = {row.message_id or "": status_of(row) for row in shown if row.direction == OUTBOUND}
    return replace(stored.without_repeated(ids).joined(apart), replies=replies)


def rows_only_in_messages(item: Conversation) -> list[MessageRow]:
    """Return a conversation's rows that only our table has, latest first: messages that did not fit, and replies.

    One Query where there may be any, else none. Raises the store's errors, except for an absent table.
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
    """A customer's last message, redacted, and the number of unanswered messages to the console's knowledge."""

    text: str
    unanswered: int
    at: datetime | None

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
    )


def can_leave(item: Conversation, hand_off: HandOff) -> bool:
    """Return whether the AI can be asked to answer: messages came to people, or what the AI left needs attention."""
    if hand_off.state is HandOffState.AI:
        return bool(item.hand_off_attention) and queue_of(item) != ""
    has_messages = bool(item.plain("hand_off_message_ids") or item.hand_off_messages_apart)
    return hand_off.flag and has_messages and queue_of(item) != ""


def queue_of(item: Conversation) -> str:
    """Return the URL of the queue that brings replies on the conversation's channel to the AI, "" for none."""
    channel = str(item.plain("channel_method") or "").lower()
    return str(settings.CHANNEL_QUEUE_URLS.get(channel) or "") if has_stage() else ""


# --- Replies ----------------------------------------------------------------------------------------------------------

# Number of a conversation's latest replies that may still change.
LATEST_REPLIES = 30
_LABELS: dict[str, tuple[str, str]] = {
    ReplyState.QUEUED: ("sending", ""),
    ReplyState.SENDING: ("sending", ""),
    ReplyState.SENT: ("sent", ""),
    ReplyState.DELIVERED: ("delivered", "good"),
    ReplyState.READ: ("read", "good"),
    ReplyState.FAILED: ("failed", "bad"),
    ReplyState.NOT_SENT: ("not sent", "bad"),
    ReplyState.UNKNOWN: ("not known to be sent", "human"),
}


def is_configured() -> bool:
    """Return whether the console can send replies."""
    return bool(settings.OUTBOX_QUEUE_URL)


def may_have_replies(item: Conversation) -> bool:
    """Return whether people may have answered in a conversation: somebody has acted on it in the console."""
    return is_configured() and bool(item.hand_off_action_id)


def status_of(row: MessageRow) -> ReplyStatus:
    """Return the status of a reply. Never raises: a state of another version is shown unchanged."""
    label, tone = _LABELS.get(row.state or "", (row.state or "unknown", ""))
    leaves = clock.parse_instant(row.not_before)
    seconds = 0 if leaves is None else math.ceil((leaves - clock.now()).total_seconds())
    is_open = row.state == ReplyState.QUEUED and seconds > 0
    can_retry = row.state in RETRIED and not row.retried_by and not row.template
    return ReplyStatus(
        state=row.state or "",
        label=label,
        tone=tone,
        at=clock.parse_instant(row.state_at),
        # A company's own sending service may have worded it.
        error=redact(row.error or ""),
        author=row.author or "",
        undo_seconds=seconds if is_open else 0,
        undo=seal_key(row) if is_open else "",
        again=seal_key(row) if can_retry else "",
    )


def seal_key(row: MessageRow) -> str:
    """Seal the key of a reply, for the forms below it."""
    return seal_data("sent reply", [row.conversation, row.position])


def replies_known(rows: Iterable[MessageRow]) -> str:
    """Return a fingerprint of the latest replies among a conversation's rows, "" for none."""
    replies = sorted((row for row in rows if row.direction == OUTBOUND), key=lambda row: row.position)
    states = [f"{row.position} {row.state} {row.retried_by}" for row in replies[-LATEST_REPLIES:]]
    return "\n".join(states)


def latest_replies(item: Conversation) -> str:
    """Return `replies_known` of the stored rows. One Query where there may be any; raises the store's errors."""
    if not may_have_replies(item):
        return ""
    rows = MessageRow.query(
        partition_of(item.primary_channel, item.conversation_id),
        filter_condition=MessageRow.direction == OUTBOUND,
        scan_index_forward=False,
        limit=LATEST_REPLIES,
        consistent_read=True,
        attributes_to_get=["conversation", "position", "direction", "state", "retried_by"],
    )
    return replies_known(list(rows))
