"""Keeping a message that could not be placed: for the company it was sent to, or else for administrators.

If the message names a conversation of the company whose number it was sent to, or its sender has one, those who may
read that conversation put the message where it belongs. Nobody else's company may see it.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from console import clock
from console.errors import ConsoleError
from console.store.calls import ConditionFailed, TransactionRefused, put_new
from console.store.models import SORT_KEY_BYTES, fits
from console.trail.actions import Action
from console.trail.recording import PLATFORM, SYSTEM_TRAIL, TrailEntry, build
from conversations.converting import OWN_ADDRESSES, is_gone
from conversations.handoff.partitions import QueueState, announce_news, enter
from conversations.handoff.protocol import write_together
from conversations.messages.bodies import CHANNELS, NotUnderstood, address, is_first_message, parsed, parties_of
from conversations.models import Conversation
from conversations.notifications.deliveries import announce
from conversations.notifications.notification import Notification, NotificationType, id_of
from conversations.numbers import forms_on
from conversations.outbox import placing
from conversations.outbox.replying import sender_of
from conversations.outbox.rows import (
    NOT_PLACED,
    MessageRow,
    expiry,
    key_in,
    partition_of,
    position_of,
    to_place_partition,
)
from conversations.receiving.first_messages import owner_of
from conversations.receiving.recording import STAGE

logger = logging.getLogger(__name__)

LONGEST_KEPT = 100_000
# Conversations to which a message may belong.
MOST_CANDIDATES = 5


def note_not_placed(body: str, reason: str, received_at: datetime, source: str, name: str) -> None:
    """Store a message that could not be placed, once per `name` (the delivery's id). Raises the store's errors."""
    now, at, kept = clock.now(), clock.to_iso(received_at), _kept(body)
    candidates = candidates_for(kept, source)
    company_id = str(candidates[0].company_id) if candidates else ""
    partition = to_place_partition(company_id) if candidates else NOT_PLACED
    row = MessageRow(
        partition,
        position_of(at, name),
        company_id=company_id or None,
        candidates={partition_of(each.primary_channel, each.conversation_id) for each in candidates} or None,
        state=NOT_PLACED,
        source=source,
        not_placed_because=reason,
        body=kept[:LONGEST_KEPT],
        is_cut=len(kept) > LONGEST_KEPT or None,
        received_at=at,
        expires_at=expiry(now),
    )
    payload = {"reason": reason, "characters": len(body), "from": source}
    entry = build(TrailEntry(SYSTEM_TRAIL, Action.MESSAGE_NOT_PLACED, PLATFORM, company_id, payload=payload), now)
    writes = [
        put_new("MESSAGES", row.serialize(), "conversation"),
        put_new("AUDIT", entry.serialize(), "conversation_id"),
    ]
    if candidates:
        enter(QueueState.PLACE.of(company_id), at)
    with suppress(TransactionRefused):
        write_together(writes)
    # The rest also if it was written before: that process may have died before this.
    for each in candidates:
        _mark(each, now)
    if candidates:
        announce_news()
    announce([Notification(id_of(NOT_PLACED, row.position), NotificationType.NOT_PLACED, now)])


def candidates_for(body: str, source: str) -> list[Conversation]:
    """Return the conversations to which a message may belong: all of the company whose number it was sent to.

    That which the message names comes first. None for a message of which only the beginning was kept. Raises the
    store's errors.
    """
    try:
        content = parsed(body) if len(body) <= LONGEST_KEPT else {}
        owner = owner_of(content)
    except NotUnderstood:
        return []
    if is_first_message(content):
        return []
    found = {(each.primary_channel, each.conversation_id): each for each in _found(content, source)}
    alive = [each for each in found.values() if each.company_id and not is_gone(each, clock.now())]
    companies = {each.company_id for each in alive}
    company_id = next(iter(companies), "") or ""
    # The platform's consoles share no numbers, but a message that several companies could read is shown to none.
    is_clear = len(companies) == 1 and owner in ("", company_id)
    return alive[:MOST_CANDIDATES] if is_clear and fits(QueueState.PLACE.of(company_id), SORT_KEY_BYTES) else []


def _found(content: dict[str, Any], source: str) -> Iterator[Conversation]:
    channel, sender, ours = parties_of(content)
    named, primary_channel = (str(content.get(each) or "") for each in ("conversation_id", "primary_channel"))
    with suppress(NotUnderstood):
        item = placing.by_key(named, primary_channel, sender) if named else None
        # A staged row has no number: the platform has found its conversation by it.
        if item is not None and (source == STAGE or (ours and ours in _own_addresses(item))):
            yield item
    for each in _channels(channel) if sender and ours else ():
        for form in forms_on(each, sender):
            yield from placing.with_sender(each, form, ours)


def _channels(named: str) -> Iterable[str]:
    return (named,) if named in CHANNELS else CHANNELS


def _own_addresses(item: Conversation) -> set[str]:
    return {address(sender_of(item, channel)) for channel in OWN_ADDRESSES} - {""}


def _kept(body: str) -> str:
    """Return what to keep of a body: without its item's messages, if it would have to be cut."""
    if len(body) <= LONGEST_KEPT:
        return body
    try:
        content = parsed(body)
    except NotUnderstood:
        return body
    if is_first_message(content):
        return body
    return json.dumps({name: value for name, value in content.items() if name != "messages"})


def _mark(item: Conversation, now: datetime) -> None:
    """Note on a conversation that a message may belong to it: its page looks for it. Logs the store's errors."""
    row = Conversation(item.primary_channel, item.conversation_id)
    at = Conversation.hand_off_to_place_at.set(clock.to_iso(now))
    try:
        row.update(actions=[at], condition=Conversation.conversation_id.exists())
    except ConditionFailed:
        return
    except ConsoleError as error:
        # It is in the queue too.
        logger.warning("A conversation could not be marked: %s", type(error).__name__)


def unmark(row: MessageRow) -> None:
    """Remove the marks of the conversations of a message that was dealt with, unless they have another one.

    Its row is gone already. A mark that is set meanwhile is newer. Raises the store's errors.
    """
    began, mark = clock.to_iso(clock.now()), Conversation.hand_off_to_place_at
    left = MessageRow.query(row.conversation, consistent_read=True, attributes_to_get=["candidates"])
    named = {each for other in left for each in other.candidates or ()}
    for partition in sorted((row.candidates or set()) - named):
        with suppress(ConditionFailed):
            Conversation(*key_in(partition)).update(actions=[mark.remove()], condition=mark <= began)
