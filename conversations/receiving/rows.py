"""MESSAGES, ours: what customers and people write to each other, what could not be placed, and what pages show."""

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from console import clock
from console.errors import ConsoleError, TableMissing
from console.redaction import excerpt, redact
from console.refs import seal_data
from console.store.connection import batch_get
from console.store.models import StoreModel, TableMeta, plain_item
from conversations.handoff.stored import has_inbound_source, has_stage
from conversations.messages import BY_HUMAN, StoredMessages
from conversations.models import Conversation
from conversations.records import HandOff, HandOffState, ReplyStatus
from conversations.sending.states import OUTBOUND, RETRIED, ReplyState

logger = logging.getLogger(__name__)

# Partition of what could not be placed.
NOT_PLACED = "not placed"
# Partition of the sparse index: rows that are still to be put onto their conversation's item.
TO_APPEND = "append"
# Replies that are to be sent, whose sending is to be settled, and whose delivery is to be asked for.
TO_SEND, TO_SETTLE, TO_ASK = "send", "settle", "delivery"
# Templates that are to be fetched from the provider.
TO_FETCH = "template"
# The row that says what a customer wrote last has a partition of its own, so that it can be read with those of others.
LATEST = "latest"


class DueIndex(GlobalSecondaryIndex["MessageRow"]):
    """Rows with work left, by when it is due."""

    class Meta:
        index_name = "due-index"
        projection = IncludeProjection(["company_id"])

    gsi_due = UnicodeAttribute(hash_key=True)
    due_at = UnicodeAttribute(range_key=True)


class MessageRow(StoreModel):
    """One message or reply. `position` is `{instant}#{message id}`; `on_item`: the conversation's own item has it too.

    Of what could not be placed, `not_placed_because` says why, and `body` is what stood in the queue (`is_cut`: its
    beginning).
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

    # Of the row `LATEST`: how many messages nobody has answered, as far as the console knows
    unanswered = NumberAttribute(null=True)

    # Of a first message that waits for approval: who is at it, or decided, since when, and in which entry of the trail
    project_id = UnicodeAttribute(null=True)
    decided_by = UnicodeAttribute(null=True)
    decided_at = UnicodeAttribute(null=True)
    decision_id = UnicodeAttribute(null=True)

    # Of a reply: who wrote it, and when it may leave at the earliest
    author = UnicodeAttribute(null=True)
    author_name = UnicodeAttribute(null=True)
    not_before = UnicodeAttribute(null=True)
    template = UnicodeAttribute(null=True)
    variables = UnicodeAttribute(null=True)
    # its entry in the trail, and its idempotency record
    ts_action_id = UnicodeAttribute(null=True)
    event_id = UnicodeAttribute(null=True)
    # who sends it, since when, and how: as it was handed to the provider
    sending_id = UnicodeAttribute(null=True)
    begun_at = UnicodeAttribute(null=True)
    sender = UnicodeAttribute(null=True)
    recipient = UnicodeAttribute(null=True)
    credentials = UnicodeAttribute(null=True)
    subject = UnicodeAttribute(null=True)
    answers = UnicodeAttribute(null=True)
    # what became of it
    provider_id = UnicodeAttribute(null=True)
    sent_at = UnicodeAttribute(null=True)
    state_at = UnicodeAttribute(null=True)
    asked = NumberAttribute(null=True)
    error_code = UnicodeAttribute(null=True)
    error = UnicodeAttribute(null=True)
    # the reply that was written in its place
    retried_by = UnicodeAttribute(null=True)

    due_index = DueIndex()


def approvals_of(company_id: str) -> str:
    """The partition of a company's first messages that wait for approval."""
    return f"to approve\n{company_id}"


def decided_of(company_id: str) -> str:
    """The partition of a company's first messages that somebody has decided about."""
    return f"decided\n{company_id}"


def partition_of(primary_channel: str, conversation_id: str) -> str:
    """The partition of a conversation's messages: both halves of its key, which alone are not unique."""
    return f"{conversation_id}\n{primary_channel}"


def latest_of(conversation: str) -> str:
    """The partition of what the customer of a conversation wrote last, for the partition of its messages."""
    return f"{LATEST}\n{conversation}"


def position_of(received_at: str, message_id: str) -> str:
    """The sort key of a message."""
    return f"{received_at}#{message_id}"


# --- Messages beside the items ----------------------------------------------------------------------------------------

# As many of the latest are shown beside what the item holds.
MOST = 500
# What an item says of its customer's messages to people.
MARKS = ("hand_off_messages_apart", "hand_off_message_ids")


def entry_of(row: MessageRow) -> dict[str, str]:
    """A message as an entry of its item's `messages`: the customer's as the platform writes them, or a person's reply.

    A reply's role is the assistant's: for the platform it is what was answered (schema platform-conversations).
    """
    at, content = row.received_at or "", row.content or ""
    if row.author is None:
        return {"message_id": row.message_id or "", "timestamp": at, "role": "user", "content": content}
    by = {"sent_by": BY_HUMAN, "agent": row.author, "agent_name": row.author_name or row.author}
    return {"entry_id": row.message_id or "", "message_timestamp": at, "role": "assistant", "content": content, **by}


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


# --- Replies ----------------------------------------------------------------------------------------------------------

# Of a conversation's replies, as many of the latest may still change.
LATEST_REPLIES = 30
_LABELS = {
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
    """Whether replies can be sent from here."""
    return bool(settings.OUTBOX_QUEUE_URL)


def may_have_replies(item: Conversation) -> bool:
    """Whether people may have answered in a conversation: somebody has acted on it here."""
    return is_configured() and bool(item.hand_off_action_id)


def status_of(row: MessageRow) -> ReplyStatus:
    """What became of a reply. Never raises: another version's state is shown as it is."""
    known = next((each for each in ReplyState if each == row.state), None)
    label, tone = _LABELS.get(known, (row.state or "", "")) if known else (row.state or "unknown", "")
    leaves = clock.parse_instant(row.not_before)
    seconds = 0 if leaves is None else math.ceil((leaves - clock.now()).total_seconds())
    is_open = known is ReplyState.QUEUED and seconds > 0
    can_retry = known in RETRIED and not row.retried_by and not row.template
    return ReplyStatus(
        state=row.state or "",
        label=label,
        tone=tone,
        at=clock.parse_instant(row.state_at),
        # A sending service may have worded it.
        error=redact(row.error or ""),
        author=row.author or "",
        undo_seconds=seconds if is_open else 0,
        undo=seal_key(row) if is_open else "",
        again=seal_key(row) if can_retry else "",
    )


def seal_key(row: MessageRow) -> str:
    """A reply as the forms below it name it."""
    return seal_data("sent reply", [row.conversation, row.position])


def replies_known(rows: Iterable[MessageRow]) -> str:
    """What a page knows of a conversation's latest replies, for these rows of it; "" for none."""
    replies = sorted((row for row in rows if row.direction == OUTBOUND), key=lambda row: row.position)
    states = [f"{row.position} {row.state} {row.retried_by}" for row in replies[-LATEST_REPLIES:]]
    return "\n".join(states)


def latest_replies(item: Conversation) -> str:
    """`replies_known` as it is stored now. One Query where there may be any; raises the store's errors."""
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
