"""Writing a message once, however often it is delivered: its row and idempotency record in one transaction."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console import clock
from console.errors import NotFound, StoreUnavailable
from console.refs import keyed_digest
from console.store.calls import ConditionFailed, TransactionRefused, put_new, table_name
from console.trail.actions import Action, Result
from console.trail.models import AuditEntry, IdempotencyRecord
from console.trail.recording import PLATFORM, TrailEntry, build, conversation_trail
from conversations.attention.levels import levels_of
from conversations.converting import channel_of, hand_off_of
from conversations.handoff.partitions import announce_news
from conversations.handoff.protocol import write_together
from conversations.handoff.stored import text
from conversations.messages.bodies import InboundMessage, digits_of
from conversations.messages.entry_notes import OTHER_FORM, PUT_HERE
from conversations.messages.message import REACTION
from conversations.models import Conversation
from conversations.outbox.latest import latest_write, read_latest
from conversations.outbox.placing import is_written_differently
from conversations.outbox.routing import Side
from conversations.outbox.rows import (
    PROVIDER,
    TO_APPEND,
    TO_AWAIT,
    MessageRow,
    expiry,
    key_in,
    messages_of,
    partition_of,
    position_of,
)
from conversations.receiving.opt_outs import opt_out_in
from conversations.records import HandOffState

MODE = "console"
# States of a customer's message: for people, or the AI may answer it.
RECEIVED, AWAITED = "received", "awaited"
INBOUND = "in"
# Names of the sources.
QUEUE, STAGE = "queue", "stage"
TRIES = 4
# Copies of a message without a common id are this close.
PAIRED_WITHIN = timedelta(minutes=1)
# The process that receives a message appends it immediately; the sweep does so if that process died.
APPEND_AFTER = timedelta(minutes=1)

# A message, its conversation, and when the customer wrote it.
Placed = tuple[InboundMessage, Conversation, datetime]


def event_key(conversation_id: str, message_id: str) -> str:
    """Return the key of a message's idempotency record (schema middleware, section A.1)."""
    return f"evt:rp:{conversation_id}:{message_id}"


def record(
    message: InboundMessage, item: Conversation, received_at: datetime, source: str, name: str, side: Side = Side.PEOPLE
) -> tuple[MessageRow, bool]:
    """Return the message's row, and whether it is news rather than another copy of what has a row. Tells nobody.

    `name` identifies a message without an id of its provider's: each delivery's, or the stage row's. Raises the store's
    errors; nothing or everything is written then, and the message may be delivered again.
    """
    now = clock.now()
    row = _row(message, item, received_at, now, source, name, side)
    begins = hand_off_of(item).state is HandOffState.AI
    for _ in range(TRIES):
        seen: int | None = None
        if row.is_unnamed or source != QUEUE:
            # Its other copy may have another id, or none. No copy may come in between.
            (seen, last), twin = read_latest(row), _same_words(row)
            if twin is not None:
                if _pair(twin, row, now):
                    return twin, False
                continue
            # What the AI has not answered yet is still unanswered.
            begins = begins and (last is None or messages_of(item, item.raw.get("messages")).answers_since(last))
        if _written(row, now, begins=begins, seen=seen):
            return row, True
        if (found := _earlier(_event_of(row))) is not None:
            return _another_copy(found, row, now, begins=begins)
        if _is_of_another_service(_event_of(row)):
            row.event_id = f"{_event_of(row)}:console"
    raise StoreUnavailable("The message could not be recorded.")


def record_all(placed: Sequence[Placed], source: str) -> list[MessageRow]:
    """Return the rows of new messages, one of each conversation: all are written, or none.

    Raises `TransactionRefused` if one exists already, and the store's errors; each may then be delivered again.
    """
    now, rows = clock.now(), list[MessageRow]()
    writes: list[dict[str, Any]] = []
    for message, item, received_at in placed:
        row = _row(message, item, received_at, now, source)
        writes += _writes(row, now, begins=hand_off_of(item).state is HandOffState.AI)
        rows.append(row)
    if writes:
        write_together(writes)
        announce_news()
    return rows


def _another_copy(found: MessageRow, row: MessageRow, now: datetime, *, begins: bool) -> tuple[MessageRow, bool]:
    """Return the row of a message whose id is known: of this copy, or of an edit, and whether that is news.

    The same id with other words is an edit if one source brought both; across sources it is one message.
    """
    copies = found.copies or {found.source or "", _copy(found.source or "", found.content or "")}
    copy = _copy(row.source or "", row.content or "")
    words = copy.partition(":")[2]
    if copy in copies or words == digits_of(found.content or ""):
        _add_copy(found, row)
        return found, False
    edit = MessageRow(**row.attribute_values | _edit(row, words))
    if (known := _earlier(_event_of(edit))) is not None:
        _add_copy(known, row)
        _move_copies(found, known, words)
        return known, False
    if row.source not in copies or row.source == PROVIDER:
        _add_copy(found, row)
        return found, False
    if _written(edit, now, begins=begins):
        _move_copies(found, edit, words)
        return edit, True
    raise StoreUnavailable("The edit could not be recorded.")


def _move_copies(found: MessageRow, edit: MessageRow, words: str) -> None:
    """Move copies with an edit's words, which other sources brought before the edit was known, from its message to it.

    A copy of the message itself may follow: without an id, it pairs only with a row that has none of its source.
    """
    sources = {each.partition(":")[0] for each in found.copies or () if each.partition(":")[2] == words}
    if not sources:
        return
    for source in sources:
        _add_copy(
            edit, MessageRow(edit.conversation, edit.position, source=source, copies={source, f"{source}:{words}"})
        )
    left = {each for source in sources for each in (source, f"{source}:{words}")}
    with suppress(ConditionFailed):
        found.update(actions=[MessageRow.copies.delete(left)], condition=MessageRow.conversation.exists())


def _edit(row: MessageRow, words: str) -> dict[str, Any]:
    message_id = f"{row.message_id}:{words}"
    position = position_of(row.received_at or "", message_id)
    return {"message_id": message_id, "position": position, "edit_of": row.message_id, "event_id": None}


def _same_words(row: MessageRow) -> MessageRow | None:
    """Return the nearest row whose only copy is another source's with the same words, within a minute of this one.

    Two ids of the provider's are two messages: one of the two copies has none. One Query.
    """
    at = clock.parse_instant(row.received_at) or clock.now()
    found = MessageRow.query(
        row.conversation,
        MessageRow.position.between(clock.to_iso(at - PAIRED_WITHIN), f"{clock.to_iso(at + PAIRED_WITHIN)}~"),
        filter_condition=(MessageRow.digest == row.digest) & ~MessageRow.copies.contains(row.source or ""),
        consistent_read=True,
    )
    twins = [each for each in found if each.is_unnamed or row.is_unnamed]
    return min(twins, key=lambda each: abs((clock.parse_instant(each.received_at) or at) - at), default=None)


def _pair(twin: MessageRow, row: MessageRow, now: datetime) -> bool:
    """Note a copy with another id on the row of its message; return False if somebody else wrote in between."""
    event = record_of(twin, _event_of(row), now, Result.SUCCESS, source_message_id=row.message_id)
    update = {
        "TableName": table_name("MESSAGES"),
        "Key": {"conversation": text(twin.conversation), "position": text(twin.position)},
        "UpdateExpression": "ADD copies :copies",
        "ConditionExpression": "attribute_exists(conversation) AND NOT contains(copies, :source)",
        "ExpressionAttributeValues": {
            ":copies": {"SS": sorted(row.copies or ())},
            ":source": text(row.source or ""),
        },
    }
    try:
        write_together([put_new("IDEMPOTENCY", event.serialize(), "event_id"), {"Update": update}])
    except TransactionRefused:
        return False
    _end_doubt(twin, row)
    return True


def _add_copy(found: MessageRow, row: MessageRow) -> None:
    """Note a further copy on the row of its message."""
    if not (row.copies or set()) <= (found.copies or set()):
        with suppress(ConditionFailed):
            found.update(
                actions=[MessageRow.copies.add(row.copies or set())], condition=MessageRow.conversation.exists()
            )
    _end_doubt(found, row)


def _end_doubt(found: MessageRow, row: MessageRow) -> None:
    """End the doubt about a message that the queue brings too: it was for people, and is appended as such."""
    if row.source != QUEUE or not found.doubt:
        return
    with suppress(ConditionFailed):
        found.update(
            actions=[
                MessageRow.doubt.remove(),
                MessageRow.state.set(RECEIVED),
                MessageRow.gsi_due.set(TO_APPEND),
                MessageRow.due_at.set(clock.to_iso(clock.now() + APPEND_AFTER)),
            ],
            condition=MessageRow.doubt.exists(),
        )


def _row(
    message: InboundMessage,
    item: Conversation,
    received_at: datetime,
    now: datetime,
    source: str,
    name: str = "",
    side: Side = Side.PEOPLE,
) -> MessageRow:
    at, message_id, content = clock.to_iso(received_at), message.message_id or name, message.content
    kept = [{"type": each.content_type, "url": each.url} for each in message.parts if each.content_type or each.url]
    return MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        position_of(at, message_id),
        company_id=item.company_id,
        direction=INBOUND,
        message_id=message_id,
        is_unnamed=None if message.message_id else True,
        edit_of=message.edit_of or None,
        channel=message.channel or None,
        content=content,
        digest=digits_of(message.folded),
        kind=_kind(message, item),
        media=json.dumps(kept) if kept else None,
        number_note=_number_note(message, item),
        opt_out=opt_out_in(message, message.channel or channel_of(item)),
        state=RECEIVED if side is Side.PEOPLE else AWAITED,
        doubt=None if side is Side.PEOPLE else side.value,
        source=source,
        copies={source, _copy(source, content)},
        on_item=False,
        received_at=at,
        expires_at=expiry(now),
        gsi_due=TO_APPEND if side is Side.PEOPLE else TO_AWAIT,
        due_at=clock.to_iso(now + APPEND_AFTER if side is Side.PEOPLE else max(now, received_at) + _stuck_after(item)),
    )


def _kind(message: InboundMessage, item: Conversation) -> str | None:
    """Return `REACTION` for a reaction that needs no answer: the last message was no question of a person's."""
    if not any(each.kind == REACTION for each in message.parts):
        return None
    return None if messages_of(item, item.raw.get("messages")).asks_customer else REACTION


def _number_note(message: InboundMessage, item: Conversation) -> str | None:
    """Return why the sender is not the conversation's customer as stored, None if it is."""
    if message.is_put_here:
        return PUT_HERE
    return OTHER_FORM if is_written_differently(message, item) else None


def _stuck_after(item: Conversation) -> timedelta:
    return levels_of(item.company_id or "", item.project_id or "").stuck_after


def _copy(source: str, content: str) -> str:
    return f"{source}:{digits_of(content)}"


def _event_of(row: MessageRow) -> str:
    return row.event_id or event_key(key_in(row.conversation)[1], row.message_id or "")


def record_of(row: MessageRow, event_id: str, now: datetime, status: Result, **more: Any) -> IdempotencyRecord:
    """Return the idempotency record of a message or reply, with a keyed digest of its text; `more`: attributes."""
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
        payload_sha256=keyed_digest(content),
        payload_bytes=len(content.encode("utf-8", "surrogatepass")),
        # The partition and the sort key of its row.
        reference=f"{row.conversation}\n{row.position}",
        **more,
    )


def _writes(
    row: MessageRow, now: datetime, *, begins: bool, is_newest: bool = True, seen: int | None = None
) -> tuple[dict[str, Any], ...]:
    """Return the writes that record a message."""
    more = {"received_at": row.received_at, "source_message_id": row.message_id}
    event = record_of(row, _event_of(row), now, Result.SUCCESS, **more)
    return (
        put_new("IDEMPOTENCY", event.serialize(), "event_id"),
        put_new("MESSAGES", row.serialize(), "conversation"),
        put_new("AUDIT", _entry(event, row).serialize(), "conversation_id"),
        latest_write(row, begins=begins, is_newest=is_newest, seen=seen),
    )


def _written(row: MessageRow, now: datetime, *, begins: bool, seen: int | None = None) -> bool:
    """Record a message, or nothing if it exists, or another was recorded since `seen`; return whether it was."""
    for is_newest in (True, False):
        try:
            write_together(_writes(row, now, begins=begins, is_newest=is_newest, seen=seen))
        except TransactionRefused as refused:
            if any(code == "ConditionalCheckFailed" for code in refused.codes[:-1]):
                return False
        else:
            return True
    return False


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
    found = IdempotencyRecord.find(event_id)
    if found is None or not _refers_to_row(found):
        return None
    conversation, _, position = (found.reference or "").rpartition("\n")
    try:
        return MessageRow.get(conversation, position, consistent_read=True)
    except NotFound:
        # Its row has expired: the message was handled long ago.
        return MessageRow(conversation, position, on_item=True)


def _is_of_another_service(event_id: str) -> bool:
    """Return whether a service of the platform recorded the same message: that record does not refer to our row."""
    try:
        return not _refers_to_row(IdempotencyRecord.get(event_id, consistent_read=True))
    except NotFound:
        return False


def _refers_to_row(record: IdempotencyRecord) -> bool:
    return record.mode == MODE and (record.reference or "").count("\n") == 2
