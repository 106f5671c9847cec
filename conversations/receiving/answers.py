"""Answers of the AI that the customer got and no transcript has: its worker died before it wrote them to the item."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime

from console import clock
from console.store.calls import TransactionRefused, put_new
from console.trail.actions import Action, Result
from console.trail.recording import PLATFORM, TrailEntry, build, conversation_trail
from conversations.handoff.protocol import write_together
from conversations.messages.content import first_of
from conversations.messages.message import IDENTITY, StoredMessages
from conversations.messages.repetitions import lines_of
from conversations.models import Conversation
from conversations.outbox import appending
from conversations.outbox.rows import ANSWER, PROVIDER, MessageRow, expiry, partition_of, position_of
from conversations.outbox.states import OUTBOUND
from conversations.receiving import recording

FOUND = "found"
# Entries and rows of a conversation to compare with.
LOOKED_BACK = 200


def find_missing(sent: Sequence[tuple[str, str]], items: Iterable[Conversation]) -> set[str]:
    """Return the ids of those messages that a provider sent (id and text, oldest first) and no transcript has.

    A writer may have noted another id than the provider's: the same words are then the same message, once each. What
    people sent is never missing, even if its outcome is not known yet. Raises the store's errors.
    """
    names = {name for name, _ in sent}
    has = [each for item in items for each in (*_written(item), *_recorded(item))]
    lacking, words = names - {name for name, _ in has}, [lines for name, lines in has if name not in names]
    for name, text in sent:
        if name in lacking and (lines := lines_of(text)) in words:
            words.remove(lines)
            lacking.remove(name)
    return lacking


def _written(item: Conversation) -> Iterator[tuple[str, list[str]]]:
    """Yield the ids and words of an item's latest entries that are not the customer's."""
    stored = StoredMessages.of(item.raw.get("messages"))
    for number in range(max(1, len(stored) - LOOKED_BACK), len(stored) + 1):
        entry = stored.entry(number)
        if isinstance(entry, dict) and stored.customer_id(number) is None:
            yield str(first_of(entry, *IDENTITY)), lines_of(stored.text(number))


def _recorded(item: Conversation) -> Iterator[tuple[str, list[str]]]:
    """Yield the provider's ids and the words of people's replies, and of answers found before."""
    rows = MessageRow.query(
        partition_of(item.primary_channel, item.conversation_id),
        filter_condition=MessageRow.direction.is_in(OUTBOUND, ANSWER),
        scan_index_forward=False,
        limit=LOOKED_BACK,
        consistent_read=True,
    )
    for row in rows:
        yield row.provider_id or row.message_id or "", lines_of(row.content or "")


def record_answer(item: Conversation, message_id: str, content: str, at: datetime) -> None:
    """Record an answer of the AI beside its item, once. Raises the store's errors; safe to repeat."""
    now, received_at = clock.now(), clock.to_iso(at)
    row = MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        position_of(received_at, message_id),
        company_id=item.company_id,
        direction=ANSWER,
        message_id=message_id,
        content=content,
        state=FOUND,
        source=PROVIDER,
        on_item=False,
        received_at=received_at,
        expires_at=expiry(now),
    )
    event = recording.record_of(row, recording.event_key(item.conversation_id, message_id), now, Result.SUCCESS)
    entry = TrailEntry(
        conversation_trail(item.conversation_id),
        Action.ANSWER_FOUND,
        PLATFORM,
        item.company_id or "",
        payload={"characters": len(content), "from": PROVIDER},
        idempotency_key=event.event_id,
    )
    writes = [
        put_new("IDEMPOTENCY", event.serialize(), "event_id"),
        put_new("MESSAGES", row.serialize(), "conversation"),
        put_new("AUDIT", build(entry, now).serialize(), "conversation_id"),
    ]
    with suppress(TransactionRefused):
        write_together(writes)
    appending.mark_incomplete(item)
