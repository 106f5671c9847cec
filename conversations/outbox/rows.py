"""The console's own MESSAGES table: messages and replies, messages that could not be placed, and what pages show."""

import logging
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute, UnicodeSetAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from console import clock
from console.errors import TableMissing
from console.redaction import redact
from console.refs import seal_data
from console.store.calls import ConditionFailed
from console.store.models import StoreModel, TableMeta
from conversations.converting import appended_ids
from conversations.handoff.full_items import is_nearly_full
from conversations.handoff.stored import has_inbound_source, has_stage
from conversations.messages.message import BY_HUMAN, StoredMessages
from conversations.messages.older_messages import OLDER, messages_in, read_older
from conversations.messages.repetitions import fold_repetitions
from conversations.models import Conversation
from conversations.outbox.merged import AwaitedWords, held_by_platform, note_edits
from conversations.outbox.states import NOT_ARRIVED, OUTBOUND, RETRIED, ReplyState
from conversations.records import ReplyStatus

logger = logging.getLogger(__name__)

# Partition of messages that could not be placed.
NOT_PLACED = "not placed"
# Partitions of the sparse index: rows to append to their conversation's item, rows that wait for the AI's answer, and
# staged messages to look at again.
TO_APPEND, TO_AWAIT, TO_CHECK = "append", "await", "check staged"
# Approved first messages to forward to their channel's queue.
TO_FORWARD = "approved"
# Replies to send, whose sending to settle, and whose delivery to ask for.
TO_SEND, TO_SETTLE, TO_ASK = "send", "settle", "delivery"
# Templates to fetch from the provider, and customers to ask it about.
TO_FETCH, TO_WITNESS = "template", "witness"
# The source of a message that only the provider's list had, and the direction of the AI's answers among them.
PROVIDER, ANSWER = "provider", "answer"
# The direction of what a customer said in another conversation with the same number: it is shown, and no more.
OTHER = "other"
# The row of a customer's last message has a partition of its own, so that one read can get those of many customers.
LATEST = "latest"
# The id of an edit: that of what it replaces, and a digest of its words.
EDIT = re.compile(r".+:[0-9a-f]{16}", re.DOTALL)


class DueIndex(GlobalSecondaryIndex["MessageRow"]):
    """Rows with work left, by when it is due."""

    class Meta:
        index_name = "due-index"
        projection = IncludeProjection(["company_id"])

    gsi_due = UnicodeAttribute(hash_key=True)
    due_at = UnicodeAttribute(range_key=True)


class MessageRow(StoreModel):
    """One message or reply. `position` is `{instant}#{message id}`; `on_item`: the conversation's item has it too.

    `copies` are the sources that brought it, each alone and with a digest of the words: `queue`, `queue:…`. `digest` is
    that of the folded text. `is_unnamed`: the provider's id is not known. `edit_of` is the id of the message that it
    replaces, `doubt` for whom it may be. `media` are the parts with a content type or an address, as JSON.

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
    # The partitions of the conversations to which a message that could not be placed may belong
    candidates = UnicodeSetAttribute(null=True)
    on_item = BooleanAttribute(null=True)
    received_at = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    gsi_due = UnicodeAttribute(null=True)
    due_at = UnicodeAttribute(null=True)

    # For a customer's message
    copies = UnicodeSetAttribute(null=True)
    digest = UnicodeAttribute(null=True)
    is_unnamed = BooleanAttribute(null=True)
    edit_of = UnicodeAttribute(null=True)
    doubt = UnicodeAttribute(null=True)
    # What it says about further messages (`opt_outs.OptOut`)
    opt_out = UnicodeAttribute(null=True)
    number_note = UnicodeAttribute(null=True)
    # The partition of the other conversation in which it was said
    said_in = UnicodeAttribute(null=True)
    kind = UnicodeAttribute(null=True)
    media = UnicodeAttribute(null=True)

    # For the row `LATEST`: how many messages are unanswered, to the console's knowledge; how often it was written
    unanswered = NumberAttribute(null=True)
    # Who said that no answer is needed, and until when
    excused_by = UnicodeAttribute(null=True)
    excused_until = UnicodeAttribute(null=True)
    # Whether the customer wants no more messages
    is_opted_out = BooleanAttribute(null=True)
    revision = NumberAttribute(null=True)

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


def to_place_partition(company_id: str) -> str:
    """Return the partition of a company's messages that people put into their conversation."""
    return f"to place\n{company_id}"


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
    return Conversation.find(*key_in(row.conversation))


def latest_partition(conversation: str) -> str:
    """Return the partition of a customer's last message, from the partition of the conversation's messages."""
    return f"{LATEST}\n{conversation}"


def expiry(now: datetime) -> int:
    """Return when a row written now expires, in epoch seconds."""
    return clock.to_epoch(now + timedelta(days=settings.MESSAGE_RETENTION_DAYS))


def note_answered(conversation: str, left: int = 0) -> None:
    """Note for lists how many of a customer's messages are unanswered, if any was noted. Raises the store's errors."""
    with suppress(ConditionFailed):
        MessageRow(latest_partition(conversation), LATEST).update(
            actions=[MessageRow.unanswered.set(left)], condition=MessageRow.conversation.exists()
        )


def note_excused(conversation: str, username: str, until: str) -> None:
    """Note for lists who said that what a customer wrote until an instant needs no answer. Raises the store's errors.

    Of a customer whose messages the console did not receive, the row is new.
    """
    latest, now = MessageRow(latest_partition(conversation), LATEST), clock.now()
    excused = (MessageRow.excused_by.set(username), MessageRow.excused_until.set(until))
    latest.update(actions=[MessageRow.unanswered.set(0), MessageRow.expires_at.set(expiry(now)), *excused])


def position_of(received_at: str, message_id: str) -> str:
    """Return the sort key of a message."""
    return f"{received_at}#{message_id}"


# --- Messages apart from the items ------------------------------------------------------------------------------------

# How many of the latest rows to join with the item's messages.
MOST = 500
# An item's attributes about its customer's messages to people.
MARKS = ("hand_off_messages_apart", "hand_off_message_ids", "hand_off_no_answer_at", "hand_off_no_answer_by", OLDER)


def entry_of(row: MessageRow) -> dict[str, str]:
    """Return a message as an entry of `messages`: a customer's as the platform writes it, or a person's reply.

    A reply has the assistant's role: for the platform it is the answer (schema platform-conversations).
    """
    at, content = row.received_at or "", row.content or ""
    if row.author is None:
        entry = {"message_id": row.message_id or "", "timestamp": at, "role": "user", "content": content}
        if row.direction == ANSWER:
            return entry | {"role": "assistant", "found_at": PROVIDER}
        named = ("edit_of", "number_note", "opt_out", "kind")
        more = {name: getattr(row, name) for name in named}
        more["found_at"] = PROVIDER if row.source == PROVIDER else None
        return entry | {name: value for name, value in more.items() if value}
    by = {"sent_by": BY_HUMAN, "agent": row.author, "agent_name": row.author_name or row.author}
    return {"entry_id": row.message_id or "", "message_timestamp": at, "role": "assistant", "content": content, **by}


def messages_of(item: Conversation, stored: dict[str, Any] | None, names: tuple[str, ...] = ()) -> StoredMessages:
    """Return all messages of a conversation: those of its item, given as `stored`, and those in our own table.

    Up to two Queries if our table may have some, else none. Raises the store's errors.
    """
    whole = messages_in(item.raw, stored, read_older(item.raw), names)
    return joined(item, whole, rows_only_in_messages(item, stored))


def customers_of(item: Conversation) -> StoredMessages:
    """Return an item's messages with those stored apart from it, for what its customer wrote.

    People's replies may be missing. One Query where messages are apart from the item, one where older ones were moved.
    """
    apart = rows_only_in_messages(item) if item.hand_off_messages_apart else []
    return joined(item, messages_in(item.raw, item.raw.get("messages"), read_older(item.raw)), apart)


def joined(item: Conversation, stored: StoredMessages, rows: list[MessageRow]) -> StoredMessages:
    """Return the messages of an item joined with rows of our table, each once, with the status of people's replies.

    Messages stand in the order of their times, whichever order they came in. A message that the AI may answer is left
    out once the platform has written its words.
    """
    ids = appended_ids(item)
    rows = [row for row in rows if row.direction != OTHER]
    shown = [row for row in rows if row.state != ReplyState.UNDONE and row.gsi_due != TO_CHECK]
    ordered = stored.in_order(ids)
    held = held_by_platform(map(awaited_in, doubtful(shown)), ordered, ids)
    # A process that has just appended one may not have marked its row yet.
    written = ids | held | ({*ordered.ids} if any(row.direction == ANSWER for row in shown) else set())
    apart = [
        row
        for row in shown
        if not row.on_item and row.message_id not in (written if row.direction == ANSWER else ids | held)
    ]
    replies = {row.message_id or "": status_of(row) for row in shown if row.direction == OUTBOUND}
    whole = ordered.joined([_entry_apart(row) for row in apart])
    ours = ids | {row.message_id or "" for row in apart if row.direction != OUTBOUND}
    edits = [each for each in ours if EDIT.fullmatch(each)]
    until = clock.parse_instant(item.hand_off_no_answer_at)
    return replace(note_edits(fold_repetitions(whole, ours), edits, ours), replies=replies, excused_until=until)


def _entry_apart(row: MessageRow) -> dict[str, str]:
    return entry_of(row) | ({"doubt": row.doubt} if row.doubt else {})


def doubtful(rows: Iterable[MessageRow]) -> list[MessageRow]:
    """Return those rows that the AI may answer."""
    return [row for row in rows if row.doubt]


def awaited_in(row: MessageRow) -> AwaitedWords:
    """Return the words of a row that the AI may answer."""
    return AwaitedWords(row.message_id or "", clock.parse_instant(row.received_at) or clock.now(), row.content or "")


def doubtful_rows(item: Conversation) -> list[MessageRow]:
    """Return a conversation's rows that the AI may answer, the latest of them, whether appended meanwhile or not.

    One Query. Raises the store's errors.
    """
    return list(
        MessageRow.query(
            partition_of(item.primary_channel, item.conversation_id),
            filter_condition=MessageRow.doubt.exists(),
            scan_index_forward=False,
            limit=MOST,
            consistent_read=True,
        )
    )


def rows_only_in_messages(
    item: Conversation, messages: dict[str, Any] | None = None, *, staged: bool = False
) -> list[MessageRow]:
    """Return a conversation's rows that only our table has, latest first: messages that did not fit, and replies.

    `messages` are those of its item, if it was read without them: a full one may lack the mark. Also those that say
    that words are staged (`says_staged`); `staged`: even if there is nothing else. One Query where there may be any,
    else none. Raises the store's errors, except for an absent table.
    """
    whole = item.raw | ({"messages": messages} if messages else {})
    may_lack_the_mark = has_inbound_source() and is_nearly_full(whole)
    may_be_staged = staged and has_stage()
    if not (item.hand_off_messages_apart or may_have_replies(item) or may_lack_the_mark or may_be_staged):
        return []
    partition = partition_of(item.primary_channel, item.conversation_id)
    try:
        return list(
            MessageRow.query(
                partition,
                filter_condition=(MessageRow.on_item == False)  # noqa: E712
                | (MessageRow.direction == OUTBOUND)
                | (MessageRow.gsi_due == TO_CHECK),
                scan_index_forward=False,
                limit=MOST,
                consistent_read=True,
            )
        )
    except TableMissing:
        return []


def queue_of(item: Conversation) -> str:
    """Return the URL of the queue that brings replies on the conversation's channel to the AI, "" for none."""
    channel = str(item.plain("channel_method") or "").lower()
    return str(settings.CHANNEL_QUEUE_URLS.get(channel) or "") if has_stage() else ""


# --- Replies ----------------------------------------------------------------------------------------------------------

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
        is_undelivered=row.state in NOT_ARRIVED,
        undo_seconds=seconds if is_open else 0,
        undo=seal_key(row) if is_open else "",
        again=seal_key(row) if can_retry else "",
    )


def seal_key(row: MessageRow) -> str:
    """Seal the key of a reply, for the forms below it."""
    return seal_data("sent reply", [row.conversation, row.position])
