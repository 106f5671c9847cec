"""Writing a message once, however often it is delivered: its row and idempotency record in one transaction."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.errors import NotFound, StoreUnavailable
from console.store.calls import TransactionRefused, put_new, table_name
from console.store.connection import call
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.recording import PLATFORM, SYSTEM_TRAIL, TrailEntry, build, conversation_trail
from conversations.handoff.protocol import retry_on_collision
from conversations.handoff.stored import text
from conversations.models import Conversation
from conversations.notifications.deliveries import announce
from conversations.notifications.notification import Notification, NotificationType, id_of
from conversations.reading import hand_off_of
from conversations.receiving.bodies import InboundMessage
from conversations.receiving.rows import (
    LATEST,
    NOT_PLACED,
    TO_APPEND,
    MessageRow,
    key_in,
    latest_partition,
    partition_of,
    position_of,
)
from conversations.records import HandOffState

MODE = "console"
RECEIVED = "received"
INBOUND = "in"
# The process that receives a message appends it immediately; the sweep does so if that process died.
APPEND_AFTER = timedelta(minutes=1)
LONGEST_KEPT = 100_000
LONGEST_EXCERPT = 400

# A message, its conversation, and when the customer wrote it.
Placed = tuple[InboundMessage, Conversation, datetime]


def event_key(conversation_id: str, message_id: str) -> str:
    """Return the key of a message's idempotency record (schema middleware, section A.1)."""
    return f"evt:rp:{conversation_id}:{message_id}"


def record(message: InboundMessage, item: Conversation, received_at: datetime, source: str) -> tuple[MessageRow, bool]:
    """Return the message's row, and whether it was written now rather than by an earlier delivery.

    Raises the store's errors; nothing or everything is written then, and the message may be delivered again.
    """
    now = clock.now()
    row = _row(message, item, received_at, now, source)
    begins = hand_off_of(item).state is HandOffState.AI
    event_id = event_key(item.conversation_id, message.message_id)
    # A service of the platform may have recorded the same message; that record does not refer to our row.
    for each in (event_id, f"{event_id}:console"):
        if _written(*_writes(each, row, now, begins=begins)):
            return row, True
        if (found := _earlier(each)) is not None:
            return found, False
    raise StoreUnavailable("The message could not be recorded.")


def record_all(placed: Sequence[Placed], source: str) -> list[MessageRow]:
    """Return the rows of new messages, one of each conversation: all are written, or none.

    Raises `TransactionRefused` if one exists already, and the store's errors; each may then be delivered again.
    """
    now, rows = clock.now(), list[MessageRow]()
    writes: list[dict[str, Any]] = []
    for message, item, received_at in placed:
        row = _row(message, item, received_at, now, source)
        event_id = event_key(item.conversation_id, message.message_id)
        writes += _writes(event_id, row, now, begins=hand_off_of(item).state is HandOffState.AI)
        rows.append(row)
    if writes:
        _write(writes)
    return rows


def _latest(row: MessageRow, *, begins: bool) -> dict[str, Any]:
    """Return the write of the customer's last message, for lists, and of the count of unanswered messages.

    `begins`: the AI has the conversation, so earlier messages were answered or left.
    """
    count = "unanswered = :one" if begins else "unanswered = if_not_exists(unanswered, :none) + :one"
    return {
        "Update": {
            "TableName": table_name("MESSAGES"),
            "Key": {"conversation": text(latest_partition(row.conversation)), "position": text(LATEST)},
            "UpdateExpression": f"SET content = :content, received_at = :at, expires_at = :expiry, {count}",
            "ExpressionAttributeValues": {
                ":content": text((row.content or "")[:LONGEST_EXCERPT]),
                ":at": text(row.received_at or ""),
                ":expiry": {"N": str(row.expires_at)},
                ":one": {"N": "1"},
            }
            | ({} if begins else {":none": {"N": "0"}}),
        }
    }


def note_not_placed(body: str, reason: str, received_at: datetime, source: str, name: str) -> None:
    """Store a message that could not be placed, once per `name` (the delivery's id). Raises the store's errors."""
    now = clock.now()
    row = MessageRow(
        NOT_PLACED,
        position_of(clock.to_iso(received_at), name),
        state=NOT_PLACED,
        source=source,
        not_placed_because=reason,
        body=body[:LONGEST_KEPT],
        is_cut=len(body) > LONGEST_KEPT or None,
        received_at=clock.to_iso(received_at),
        expires_at=expiry(now),
    )
    payload = {"reason": reason, "characters": len(body), "from": source}
    entry = build(TrailEntry(SYSTEM_TRAIL, Action.MESSAGE_NOT_PLACED, PLATFORM, payload=payload), now)
    _written(
        put_new("MESSAGES", row.serialize(), "conversation"), put_new("AUDIT", entry.serialize(), "conversation_id")
    )
    # Also if it was written before: that process may have died before this.
    announce([Notification(id_of(NOT_PLACED, row.position), NotificationType.NOT_PLACED, now)])


def _row(message: InboundMessage, item: Conversation, received_at: datetime, now: datetime, source: str) -> MessageRow:
    at = clock.to_iso(received_at)
    return MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        position_of(at, message.message_id),
        company_id=item.company_id,
        direction=INBOUND,
        message_id=message.message_id,
        channel=message.channel or None,
        content=message.text,
        state=RECEIVED,
        source=source,
        on_item=False,
        received_at=at,
        expires_at=expiry(now),
        gsi_due=TO_APPEND,
        due_at=clock.to_iso(now + APPEND_AFTER),
    )


def record_of(row: MessageRow, event_id: str, now: datetime, status: Result, **more: Any) -> IdempotencyRecord:
    """Return the idempotency record of a message or reply, with the text's digest; `more` are further attributes."""
    content, at = row.content or "", clock.to_iso(now)
    return IdempotencyRecord(
        event_id=event_id,
        created_at=at,
        last_processed_at=at,
        expires_at=clock.to_epoch(now + timedelta(days=settings.IDEMPOTENCY_RETENTION_DAYS)),
        status=status.value,
        mode=MODE,
        conversation_id=key_in(row.conversation)[1],
        safe_mode=False,
        automation_enabled=False,
        payload_sha256=digest_of(content),
        payload_bytes=len(content.encode("utf-8", "surrogatepass")),
        # The partition and the sort key of its row.
        reference=f"{row.conversation}\n{row.position}",
        **more,
    )


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text, which the trail has in its place."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _writes(event_id: str, row: MessageRow, now: datetime, *, begins: bool) -> tuple[dict[str, Any], ...]:
    """Return the writes that record a message."""
    more = {"received_at": row.received_at, "source_message_id": row.message_id}
    event = record_of(row, event_id, now, Result.SUCCESS, **more)
    return (
        put_new("IDEMPOTENCY", event.serialize(), "event_id"),
        put_new("MESSAGES", row.serialize(), "conversation"),
        put_new("AUDIT", _entry(event, row).serialize(), "conversation_id"),
        _latest(row, begins=begins),
    )


def _written(*writes: dict[str, Any]) -> bool:
    """Write everything, or nothing if one item exists already; return whether it was written."""
    try:
        _write(writes)
    except TransactionRefused:
        return False
    return True


def _write(writes: Sequence[dict[str, Any]]) -> None:
    retry_on_collision(lambda: call("TransactWriteItems", TransactItems=list(writes)))


def _entry(event: IdempotencyRecord, row: MessageRow) -> AuditEntry:
    """Return the trail entry for a received message, with its length but without its text."""
    payload = {"channel": row.channel or "unknown", "characters": len(row.content or ""), "from": row.source}
    entry = TrailEntry(
        conversation_trail(event.conversation_id or ""),
        Action.MESSAGE_RECEIVED,
        PLATFORM,
        row.company_id or "",
        payload=payload,
        idempotency_key=event.event_id,
    )
    return build(entry, clock.now())


def _earlier(event_id: str) -> MessageRow | None:
    """Return the row that a record of ours refers to, None if the record is another service's."""
    try:
        found = IdempotencyRecord.get(event_id, consistent_read=True)
    except NotFound:
        return None
    if found.mode != MODE or (found.reference or "").count("\n") != 2:
        return None
    conversation, _, position = (found.reference or "").rpartition("\n")
    try:
        return MessageRow.get(conversation, position, consistent_read=True)
    except NotFound:
        # Its row has expired: the message was handled long ago.
        return MessageRow(conversation, position, on_item=True)


def expiry(now: datetime) -> int:
    """Return when a row written now expires, in epoch seconds."""
    return clock.to_epoch(now + timedelta(days=settings.MESSAGE_RETENTION_DAYS))
