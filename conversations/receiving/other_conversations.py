"""A customer's other conversations with the same number of a company.

The platform puts a message into the first of them that it finds. So a customer whose conversation a person holds may be
answered by the AI in another one: what they say there is shown to the holder, and who takes one is offered all.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from console import clock
from console.caching import cached_for
from console.errors import ConsoleError
from console.store.calls import ConditionFailed
from console.store.models import plain_item
from console.store.presence import index_ready
from conversations.converting import channel_of, hand_off_of, is_gone, names_of, reference_of
from conversations.handoff.stored import AGENT, Raw, has_stage, held_in, text_in
from conversations.messages.bodies import InboundMessage, address, staged_message
from conversations.messages.message import StoredMessages
from conversations.models import SUMMARY_ATTRIBUTES, Conversation, HandOffQueueIndex, read_conversations
from conversations.numbers import forms_on
from conversations.outbox.placing import with_sender
from conversations.outbox.replying import BETWEEN
from conversations.outbox.rows import OTHER, MessageRow, entry_of, expiry, key_in, partition_of, position_of
from conversations.outbox.staging import read_staged
from conversations.receiving.handling import written_at
from conversations.receiving.opt_outs import Pair
from conversations.records import HandOffState, Message

logger = logging.getLogger(__name__)

# How long a process remembers what people hold in a company, and how many of these conversations it reads.
HELD_SECONDS, HELD_AT_MOST = 5, 2_000


def others_of(item: Conversation) -> list[Conversation]:
    """Return a customer's other conversations with the same number, as rows of a list, the latest active first.

    A Query for each spelling of the two. Raises the store's errors.
    """
    pair = Pair.of(item)
    if pair is None or not item.company_id:
        return []
    found = {
        (each.primary_channel, each.conversation_id): each
        for form in forms_on(pair.channel, pair.recipient)
        for each in with_sender(pair.channel, form, pair.ours, item.company_id, SUMMARY_ATTRIBUTES)
    }
    found.pop((item.primary_channel, item.conversation_id), None)
    return sorted(found.values(), key=lambda each: str(each.plain("updated_at") or ""), reverse=True)


def note_words(message: InboundMessage, item: Conversation, at: datetime) -> None:
    """Show what a customer wrote to the AI, at that time, on those of their other conversations that people hold.

    One Query at most every `HELD_SECONDS`, and another read if one of them has this customer. Raises the store's
    errors; safe to repeat.
    """
    for each in _held_beside(item):
        _note(message, item, at, each)


def note_taken(new: Raw, old: Raw) -> None:
    """Show on a conversation that somebody has just got what is staged for the customer's other ones.

    A failure is logged: the platform's copies may be gone before it could be repeated.
    """
    if not has_stage() or not text_in(new, AGENT) or text_in(new, AGENT) == text_in(old, AGENT):
        return
    item = Conversation.from_raw_data(new)
    try:
        for other in others_of(item):
            _note_staged(other, item)
    except ConsoleError as error:
        logger.warning("The customer's other conversations could not be read: %s", type(error).__name__)


def _note_staged(other: Conversation, item: Conversation) -> None:
    if hand_off_of(other).state is not HandOffState.AI:
        return
    for fragment in map(plain_item, read_staged(other)):
        key = other.primary_channel, other.conversation_id
        message = staged_message(fragment, key, channel_of(other), "")
        _note(message, other, written_at(message.received_at, clock.now()), item)


def _held_beside(item: Conversation) -> list[Conversation]:
    """Return the conversations that people hold between the same two as another one."""
    pair = Pair.of(item)
    if pair is None or not item.company_id or not index_ready("CONVERSATIONS", HandOffQueueIndex.Meta.index_name):
        return []
    forms, own = forms_on(pair.channel, address(item.primary_channel)), (item.primary_channel, item.conversation_id)
    keys = [key for key in _held_keys(item.company_id) if address(key[0]) in forms and key != own]
    found = read_conversations(keys, BETWEEN)
    same = [replace(pair, recipient=form) for form in forms_on(pair.channel, pair.recipient)]
    return [each for each in found if not is_gone(each, clock.now()) and Pair.of(each) in same]


@cached_for(HELD_SECONDS)
def _held_keys(company_id: str) -> tuple[tuple[str, str], ...]:
    """Return the keys of the conversations that people hold in a company."""
    found = Conversation.hand_off_queue_index.query(
        held_in(company_id), limit=HELD_AT_MOST, attributes_to_get=["primary_channel", "conversation_id"]
    )
    return tuple((each.primary_channel, each.conversation_id) for each in found)


def _note(message: InboundMessage, said_in: Conversation, at: datetime, item: Conversation) -> None:
    """Write a row for what was said in one conversation beside the messages of another one."""
    received_at = clock.to_iso(at)
    row = MessageRow(
        partition_of(item.primary_channel, item.conversation_id),
        position_of(received_at, f"{OTHER}:{message.message_id}"),
        company_id=item.company_id,
        direction=OTHER,
        message_id=message.message_id,
        channel=message.channel or None,
        content=message.content,
        said_in=partition_of(said_in.primary_channel, said_in.conversation_id),
        on_item=False,
        received_at=received_at,
        expires_at=expiry(clock.now()),
    )
    with suppress(ConditionFailed):
        row.save(condition=MessageRow.conversation.does_not_exist())


def words_in(rows: Iterable[MessageRow], item: Conversation, *, raw: bool) -> list[Message]:
    """Return what a customer said in their other conversations, as messages, oldest first; redacted unless `raw`."""
    said = sorted((row for row in rows if row.direction == OTHER), key=lambda row: row.position)
    stored = StoredMessages([entry_of(row) for row in said], names=names_of(item))
    return [
        replace(stored.message(number, raw=raw, whole=False), said_in=reference_of(*key_in(row.said_in or "")))
        for number, row in enumerate(said, 1)
    ]
