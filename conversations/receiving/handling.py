"""Handling of one message from any source, in an order in which a crash at any point neither loses nor doubles it.

A message is parsed and placed; recorded once; appended to the item; and, if nobody has requested a human yet, one is
requested, so that the conversation is in the queue. Only then may its source delete it. A message that cannot be placed
is stored as such.
"""

import hashlib
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from console import clock
from console.errors import ItemFull
from console.store.models import plain
from console.store.queues import QueueMessage
from conversations.converting import appended_ids, hand_off_of
from conversations.handoff.actions import HandOffAction, intent_for
from conversations.handoff.outcomes import LostRace
from conversations.handoff.partitions import announce_news
from conversations.handoff.service import perform_as
from conversations.handoff.stored import (
    BY_RULE,
    FROM_EMAILS,
    FROM_NUMBERS,
    RULE,
    Raw,
    goes_to_people,
    is_set_by_console,
)
from conversations.messages import bodies
from conversations.messages.bodies import InboundMessage, Key, NotUnderstood, address
from conversations.messages.older_messages import stored_messages
from conversations.models import Conversation
from conversations.outbox import appending, placing
from conversations.outbox.merged import AwaitedWords, held_by_platform
from conversations.outbox.routing import Side
from conversations.outbox.rows import MessageRow, awaited_in, doubtful_rows
from conversations.receiving import approvals, opt_outs, recording, unplaced
from conversations.receiving.recording import Placed
from conversations.records import HandOffState

logger = logging.getLogger(__name__)

TRIES = 3


class Handled(StrEnum):
    """Outcome of handling a message."""

    RECEIVED = "received"
    HELD = "held for approval"
    AGAIN = "received before"
    NOT_PLACED = "not placed"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A message that has a row. `is_new`: written now, not left by an earlier delivery."""

    message: InboundMessage
    item: Conversation
    row: MessageRow
    is_new: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """Shared work for several messages.

    `ahead` are conversations just read, `recorded` are messages by the name of their delivery, and `done` are rows to
    finish together, each with whether its item has the message.
    """

    ahead: dict[Key, Conversation]
    recorded: dict[str, Recorded] = field(default_factory=dict)
    done: list[tuple[MessageRow, bool]] = field(default_factory=list)


def handle(body: str, sent_at: datetime, source: str, name: str, batch: Batch | None = None) -> Handled:
    """Take in one message, or store it as not placed.

    `sent_at` and `name` are the delivery's time and id, the same on each delivery. With a `batch`, its row is left to
    be finished with others. Raises the store's errors: the message must then be delivered again.
    """
    try:
        return take_in(body, sent_at, source, name, batch)
    except NotUnderstood as reason:
        unplaced.note_not_placed(body, str(reason), sent_at, source, name)
        return Handled.NOT_PLACED


def take_in(body: str, sent_at: datetime, source: str, name: str, batch: Batch | None = None) -> Handled:
    """Take in one message as `handle` does, but raise `NotUnderstood` if it cannot be placed."""
    found = batch.recorded.pop(name, None) if batch else None
    if found is not None:
        return _complete_new(found, batch)
    content = bodies.parsed(body)
    if bodies.is_first_message(content):
        return Handled.HELD if approvals.hold(content, body, sent_at, name) else Handled.AGAIN
    message = bodies.inbound_message(content)
    item = placing.place(message, batch.ahead if batch else {})
    return take_in_placed(message, item, written_at(message.received_at, sent_at), source, name, batch=batch)


def take_in_placed(
    message: InboundMessage,
    item: Conversation,
    at: datetime,
    source: str,
    name: str,
    *,
    side: Side = Side.PEOPLE,
    batch: Batch | None = None,
) -> Handled:
    """Take in a message of a conversation, said at that time. `side`: for whom it is; a doubt does not ask for people.

    Raises the store's errors: it must then be delivered again.
    """
    row, is_new = recording.record(message, item, at, source, name, side)
    if is_new:
        announce_news()
    return _complete_new(Recorded(message, item, row, is_new), batch)


def _complete_new(found: Recorded, batch: Batch | None) -> Handled:
    if found.row.gsi_due is not None:
        # A full item takes nothing. Its message is recorded, and the sweep does the rest once there is room.
        with suppress(ItemFull):
            complete(found.row, found.item, found.message.sender, batch)
    return Handled.RECEIVED if found.is_new else Handled.AGAIN


def record_together(deliveries: Iterable[QueueMessage], source: str, batch: Batch) -> None:
    """Record the messages of several conversations, one of each, with one write. Never raises.

    `handle` records the messages that are left: all of them if one exists already, or anything fails.
    """
    try:
        placed = dict(_placed(deliveries, batch))
        rows = recording.record_all(list(placed.values()), source)
    except Exception as error:
        # The error occurs again, and is reported, when the message at fault is handled.
        logger.info("Messages are recorded one by one: %s", type(error).__name__)
        return
    for (name, (message, item, _)), row in zip(placed.items(), rows, strict=True):
        batch.recorded[name] = Recorded(message, item, row, is_new=True)


def _placed(deliveries: Iterable[QueueMessage], batch: Batch) -> Iterator[tuple[str, Placed]]:
    """Yield the messages whose conversations were read ahead, by the name of their delivery."""
    for each in deliveries:
        with suppress(NotUnderstood):
            content = bodies.parsed(each.body)
            if bodies.is_first_message(content):
                continue
            message = bodies.inbound_message(content)
            # Without an id of the provider's, it is compared with what is there.
            if message.message_id and (message.primary_channel, message.conversation_id) in batch.ahead:
                item = placing.place(message, batch.ahead)
                yield each.name, (message, item, written_at(message.received_at, each.sent_at))


def complete(row: MessageRow, item: Conversation, sender: str = "", batch: Batch | None = None) -> None:
    """Do what is left to do for a recorded message. Safe to repeat. Raises the store's errors.

    The row is finished last, in a `batch` with others: before that, a repeated delivery and the sweep do the rest. A
    message that the AI may answer is only shown: `finish_awaited` follows.
    """
    if row.opt_out:
        opt_outs.note_said(row.opt_out, clock.parse_instant(row.received_at) or clock.now(), item)
    if row.doubt:
        appending.mark_apart(row, item)
        return
    on_item = appending.append(row, item)
    if row.state == recording.RECEIVED:
        # Unless people have left it to the AI meanwhile.
        ask_for_human(item, row, sender)
    if batch is None:
        appending.finish(row, on_item)
    else:
        batch.done.append((row, on_item))


def finish_awaited(row: MessageRow, item: Conversation | None) -> None:
    """Append a message that the AI may have answered, but has not in time. Raises the store's errors."""
    if item is None or row.message_id in held_on(item, map(awaited_in, doubtful_rows(item))):
        appending.finish(row, False)
        return
    appending.finish(row, appending.append(row, item))


def held_on(item: Conversation, awaited: Iterable[AwaitedWords]) -> set[str]:
    """Return the ids of those messages whose words the platform has written to the item. Raises the store's errors."""
    return held_by_platform(awaited, stored_messages(item.raw), appended_ids(item))


def written_at(received_at: Any, sent_at: datetime) -> datetime:
    """Return when the customer wrote: the message's own time, unless it is invalid or later than the delivery."""
    stated = clock.parse_instant(received_at)
    return stated if stated is not None and stated <= sent_at else sent_at


def ask_for_human(item: Conversation, row: MessageRow, sender: str) -> None:
    """Put a conversation that a rule routed to people into the queue; do nothing if people have it already.

    The request's id derives from the message and the previous action: a repeated delivery makes the same request. The
    customer waits since the message. Raises the store's errors.
    """
    since = clock.parse_instant(row.received_at) or clock.now()
    for attempt in range(1, TRIES + 1):
        hand_off = hand_off_of(item)
        if hand_off.state is not HandOffState.AI:
            return
        action_id = _request_id(row, hand_off.action_id)
        intent = intent_for(HandOffAction.REQUEST, item, hand_off, action_id)
        try:
            perform_as(BY_RULE, intent, item, reason=rule_of(item.raw, sender), since=since)
        except LostRace:
            if attempt == TRIES:
                raise
            item = Conversation.get(item.primary_channel, item.conversation_id, consistent_read=True)
        else:
            return


def rule_of(stored: Raw, sender: str) -> str:
    """Return in words which of the conversation's rules sends the customer's replies to people."""
    if goes_to_people(stored) and not is_set_by_console(stored):
        return f"{RULE}all replies in this conversation go to people."
    if is_listed(stored, sender):
        return f"{RULE}replies from this sender go to people."
    return "The platform routed a reply to people."


def is_listed(stored: Raw, sender: str) -> bool:
    """Return whether the conversation's rules send replies of that normalised sender to people."""
    lists = (plain(stored[attribute]) for attribute in (FROM_NUMBERS, FROM_EMAILS) if attribute in stored)
    return bool(sender) and any(
        sender in {address(str(each)) for each in listed} for listed in lists if isinstance(listed, list | set)
    )


def _request_id(row: MessageRow, previous: str) -> str:
    named = "\n".join(("asked for by", row.conversation, row.message_id or "", previous))
    return hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]
