"""Appending messages to their conversation's item, so that the platform's record stays complete.

With the schema's four indexes an item may be about 80 KB large. Nothing is appended beyond half of that: the platform's
next write has to fit, and pages join the item with our rows anyway.
"""

import json
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import Any

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.errors import ItemFull, Throttled
from console.store.calls import ConditionFailed, TransactionRefused
from console.store.connection import call, transaction
from console.store.models import plain
from conversations.handoff.full_items import note_full
from conversations.handoff.partitions import note_arrival
from conversations.handoff.protocol import retry_on_collision
from conversations.handoff.stored import (
    AGENT,
    ANSWERED_AT,
    ATTENTION,
    FLAG,
    HEARD_AT,
    QUEUE,
    REPLY_FAILED_AT,
    REQUESTED_AT,
    UNANSWERED_AT,
    WANTED,
    Conditions,
    Expression,
    Raw,
    has_people,
    text,
    text_in,
    update_item,
)
from conversations.messages.older_messages import with_older
from conversations.models import Conversation
from conversations.outbox.rows import MessageRow, entry_of, key_in

# Half of an item's maximum size, in bytes of its DynamoDB JSON, which is slightly larger than DynamoDB's own count.
ROOM = 40_000
IDS = "hand_off_message_ids"
INCOMPLETE = "hand_off_messages_apart"
# What a message's marks depend on: they are unchanged since the item was read.
_JUDGED_BY = (HEARD_AT, ANSWERED_AT, UNANSWERED_AT, REQUESTED_AT)
TRIES = 8
# DynamoDB's limit for one transaction.
MOST_WRITES = 100


def append(row: MessageRow, item: Conversation) -> bool:
    """Append a message to its item once; return whether the item has it now.

    `item` is the complete conversation, just read. Raises `ItemFull` if it has no room for a mark either, and the
    store's errors; safe to repeat.
    """
    if has_message(with_older(item.raw), row.message_id or ""):
        return True
    fits = _fits(item.raw, row)
    change = Expression({} if fits else {INCOMPLETE: {"BOOL": True}})
    return _write(row, item, change, as_entry=fits) and fits


def mark_apart(row: MessageRow, item: Conversation) -> None:
    """Mark an item as incomplete: pages then read our rows too, and open pages notice the change.

    Raises the store's errors; safe to repeat.
    """
    _write(row, item, Expression({INCOMPLETE: {"BOOL": True}}), as_entry=False)


def mark_incomplete(item: Conversation) -> None:
    """Mark an item as incomplete because of an answer of the AI, which changes no marks. Raises the store's errors."""
    change = Expression({INCOMPLETE: {"BOOL": True}, "updated_at": text(clock.to_iso(clock.now()))})
    with suppress(ConditionFailed):
        update = update_item(item.primary_channel, item.conversation_id, change, Conditions(), returns="NONE")
        retry_on_collision(partial(call, "UpdateItem", **update))


def has_message(stored: Raw, message_id: str) -> bool:
    """Return whether the item has a message already, from us or from the platform, which uses the same id."""
    if message_id in stored.get(IDS, {}).get("SS", ()):
        return True
    entries = stored.get("messages", {}).get("L", ())
    return any(
        plain(value) == message_id
        for entry in entries
        for name in ("message_id", "entry_id")
        if (value := entry.get("M", {}).get(name)) is not None
    )


def is_of_platform(stored: Raw, message_id: str) -> bool:
    """Return whether the platform itself put a message on the item: its AI has dealt with it."""
    return has_message(stored, message_id) and message_id not in stored.get(IDS, {}).get("SS", ())


def _fits(stored: Raw, row: MessageRow) -> bool:
    """Return whether the item can take a message: `messages` is a list or absent, and room is left for other writes."""
    if "messages" in stored and "L" not in stored["messages"]:
        return False
    size = len(json.dumps(stored, ensure_ascii=False).encode("utf-8", "replace"))
    return size + len((row.content or "").encode("utf-8", "replace")) <= ROOM


def _write(row: MessageRow, item: Conversation, change: Expression, *, as_entry: bool) -> bool:
    """Write what a message changes on its item; return whether the item still exists.

    The marks of who wrote last follow the messages' own times, so they are written as long as they are as read. Raises
    `Throttled` if they never are.
    """
    stored, message_id = item.raw, row.message_id or ""
    for _ in range(TRIES):
        marks, conditions = _marks(row, stored), Conditions()
        marks.values |= change.values | {"updated_at": text(clock.to_iso(clock.now()))}
        for attribute in (*_JUDGED_BY, *((FLAG, AGENT) if REQUESTED_AT in marks.values else ())):
            conditions.as_read(attribute, stored)
        note_arrival(stored, marks)
        update = update_item(item.primary_channel, item.conversation_id, marks, conditions, returns="NONE")
        if as_entry:
            _add_entry(update, row)
        try:
            retry_on_collision(partial(call, "UpdateItem", **update))
        except ConditionFailed as failed:
            if not failed.item or has_message(failed.item, message_id):
                return bool(failed.item)
            if as_entry and "messages" in failed.item and "L" not in failed.item["messages"]:
                return False
            stored = failed.item
        except ItemFull:
            note_full(item.raw)
            raise
        else:
            return True
    raise Throttled("The conversation changes too often.")


def _add_entry(update: dict[str, Any], row: MessageRow) -> None:
    """Add to an update that appends the message, once."""
    entry = {"M": {name: text(value) for name, value in entry_of(row).items()}}
    update["UpdateExpression"] = (
        update["UpdateExpression"].replace(
            "SET ", "SET messages = list_append(if_not_exists(messages, :none), :new), ", 1
        )
        + f" ADD {IDS} :ids"
    )
    update["ConditionExpression"] += (
        f" AND NOT contains({IDS}, :id) AND (attribute_not_exists(messages) OR attribute_type(messages, :list))"
    )
    update["ExpressionAttributeValues"] |= {
        ":none": {"L": []},
        ":new": {"L": [entry]},
        ":ids": {"SS": [row.message_id or ""]},
        ":id": text(row.message_id or ""),
        ":list": text("L"),
    }


def _marks(row: MessageRow, stored: Raw) -> Expression:
    """Return the marks of who wrote last: the customer waits again, or, if people have the item, has an answer.

    A wait begins with the earliest message after the last answer, whichever order they come in.
    """
    at = row.received_at or ""
    if row.author is not None:
        if not has_people(stored):
            return Expression()
        return Expression({ANSWERED_AT: text(max(at, text_in(stored, ANSWERED_AT)))}, removed=(REPLY_FAILED_AT,))
    # A reaction that needs no answer starts no wait.
    if row.kind or (row.doubt and not has_people(stored)):
        return Expression()
    heard, answered = text_in(stored, HEARD_AT), text_in(stored, ANSWERED_AT)
    waits = [each for each in (at, heard, text_in(stored, UNANSWERED_AT)) if each > answered]
    marks = Expression({HEARD_AT: text(max(at, heard)), UNANSWERED_AT: text(min(waits, default=at))})
    asked, is_ours = text_in(stored, REQUESTED_AT), stored.get(WANTED) == {"BOOL": True}
    if at < asked and answered < asked and is_ours and has_people(stored) and ATTENTION not in stored:
        # Asked for because of a later message: the customer has waited since this one.
        marks.values[REQUESTED_AT] = text(at)
    return marks


def note_not_delivered(row: MessageRow) -> None:
    """Note on the conversation that a reply did not reach the customer, if people still have it, and it has room.

    Raises the store's errors.
    """
    change = Expression({REPLY_FAILED_AT: text(clock.to_iso(clock.now()))})
    update = update_item(*key_in(row.conversation), change, Conditions(), returns="")
    update["ConditionExpression"] += f" AND attribute_exists({QUEUE}) AND attribute_not_exists({ATTENTION})"
    # The reply's own status says the same.
    with suppress(ConditionFailed, ItemFull):
        retry_on_collision(lambda: call("UpdateItem", **update))


def finish(row: MessageRow, on_item: bool) -> None:
    """Mark a row as finished. Raises the store's errors; the sweep repeats it then."""
    with suppress(ConditionFailed):
        row.update(actions=_finished(on_item), condition=MessageRow.conversation.exists())


def finish_all(done: Collection[tuple[MessageRow, bool]]) -> None:
    """Mark rows as finished, each with whether its item has the message. Raises as `finish`.

    One write per `MOST_WRITES` rows; one by one if a row of them is gone or being written.
    """
    rows = {(row.conversation, row.position): (row, on_item) for row, on_item in done}
    for start in range(0, len(rows), MOST_WRITES):
        several = list(rows.values())[start : start + MOST_WRITES]
        try:
            with transaction() as writes:
                for row, on_item in several:
                    writes.update(row, _finished(on_item), condition=MessageRow.conversation.exists())
        except (TransactionRefused, Throttled):
            for row, on_item in several:
                finish(row, on_item)


def _finished(on_item: bool) -> list[UpdateAction]:
    return [MessageRow.on_item.set(on_item), MessageRow.gsi_due.remove(), MessageRow.due_at.remove()]
