"""Appending messages to their conversation's item, so that the platform's record stays complete.

With the schema's four indexes an item may be about 80 KB large. Nothing is appended beyond half of that: the platform's
next write has to fit, and pages join the item with our rows anyway.
"""

import json
from collections.abc import Collection
from contextlib import suppress

from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.errors import Throttled
from console.store.calls import ConditionFailed, TransactionRefused, table_name
from console.store.connection import call, transaction
from console.store.models import plain
from conversations.handoff.protocol import retry_on_collision
from conversations.handoff.stored import (
    ANSWERED_AT,
    ATTENTION,
    HEARD_AT,
    QUEUE,
    REPLY_FAILED_AT,
    UNANSWERED_AT,
    Conditions,
    Expression,
    Raw,
    has_people,
    text,
    text_in,
    update_item,
)
from conversations.models import Conversation
from conversations.receiving.rows import MessageRow, entry_of, key_in

# Half of an item's maximum size, in bytes of its DynamoDB JSON, which is slightly larger than DynamoDB's own count.
ROOM = 40_000
IDS = "hand_off_message_ids"
INCOMPLETE = "hand_off_messages_apart"
# DynamoDB's limit for one transaction.
MOST_WRITES = 100


def append(row: MessageRow, item: Conversation) -> bool:
    """Append a message to its item once; return whether the item has it now.

    `item` is the complete conversation, just read. Raises the store's errors; safe to repeat.
    """
    if has_message(item.raw, row.message_id or ""):
        return True
    if _fits(item.raw, row):
        return _appended(row, item)
    _mark_incomplete(row, item)
    return False


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
    size = len(json.dumps(stored, ensure_ascii=False, default=str).encode("utf-8", "replace"))
    return size + len((row.content or "").encode("utf-8", "replace")) <= ROOM


def _appended(row: MessageRow, item: Conversation) -> bool:
    message_id = row.message_id or ""
    entry = {"M": {name: text(value) for name, value in entry_of(row).items()}}
    marks = _marks(row, item.raw)
    sets = "".join(f", {name} = :{name}" for name in marks.values)
    removed = f" REMOVE {', '.join(marks.removed)}" if marks.removed else ""
    update = {
        "TableName": table_name("CONVERSATIONS"),
        "Key": {"primary_channel": text(item.primary_channel), "conversation_id": text(item.conversation_id)},
        "UpdateExpression": (
            f"SET messages = list_append(if_not_exists(messages, :none), :new), updated_at = :now{sets}{removed}"
            f" ADD {IDS} :ids"
        ),
        "ConditionExpression": (
            f"attribute_exists(primary_channel) AND NOT contains({IDS}, :id)"
            " AND (attribute_not_exists(messages) OR attribute_type(messages, :list))"
        ),
        "ExpressionAttributeValues": {
            ":none": {"L": []},
            ":new": {"L": [entry]},
            ":now": text(clock.to_iso(clock.now())),
            ":ids": {"SS": [message_id]},
            ":id": text(message_id),
            ":list": text("L"),
        }
        | {f":{name}": value for name, value in marks.values.items()},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    try:
        retry_on_collision(lambda: call("UpdateItem", **update))
    except ConditionFailed as failed:
        return has_message(failed.item or {}, message_id)
    return True


def _marks(row: MessageRow, stored: Raw) -> Expression:
    """Return the marks of who wrote last: the customer waits again, or, if people have the item, has an answer."""
    at = row.received_at or ""
    if row.author is not None:
        if not has_people(stored):
            return Expression()
        return Expression({ANSWERED_AT: text(max(at, text_in(stored, ANSWERED_AT)))}, removed=(REPLY_FAILED_AT,))
    heard, answered = text_in(stored, HEARD_AT), text_in(stored, ANSWERED_AT)
    marks = Expression({HEARD_AT: text(max(at, heard))})
    if text_in(stored, UNANSWERED_AT) <= answered:
        # The writer of the previous message may not have known of the answer.
        marks.values[UNANSWERED_AT] = text(heard if heard > answered else at)
    return marks


def note_not_delivered(row: MessageRow) -> None:
    """Note on the conversation that a reply did not reach the customer, if people still have it.

    Raises the store's errors.
    """
    change = Expression({REPLY_FAILED_AT: text(clock.to_iso(clock.now()))})
    update = update_item(*key_in(row.conversation), change, Conditions(), returns="NONE")
    update["ConditionExpression"] += f" AND attribute_exists({QUEUE}) AND attribute_not_exists({ATTENTION})"
    del update["ReturnValuesOnConditionCheckFailure"]
    with suppress(ConditionFailed):
        retry_on_collision(lambda: call("UpdateItem", **update))


def _mark_incomplete(row: MessageRow, item: Conversation) -> None:
    """Mark the item as incomplete: pages then read our rows too, and open pages notice the change."""
    change = _marks(row, item.raw)
    change.values |= {INCOMPLETE: {"BOOL": True}, "updated_at": text(clock.to_iso(clock.now()))}
    update = update_item(item.primary_channel, item.conversation_id, change, Conditions(), returns="NONE")
    with suppress(ConditionFailed):
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
