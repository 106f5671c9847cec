"""Making room in a full item: its oldest messages move to MESSAGES, in steps that lose and double nothing.

Each step first writes the messages as rows, then removes them from the item and moves the count on in one write, on
condition that the list is as read. Shrinking needs no room. A process that dies in between leaves rows that nobody
reads, and the next attempt writes them again.
"""

from functools import partial
from typing import Any

from console import clock
from console.errors import Conflict, Invalid, NotFound
from console.permissions import Permission, Staff
from console.schema.sizes import size_of
from console.store.connection import call
from console.store.models import sendable
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, conversation_trail, write_with_pending_entry
from conversations.converting import is_gone
from conversations.handoff.full_items import forget_full, room_in
from conversations.handoff.stored import MESSAGES, Conditions, Expression, Raw, update_item
from conversations.messages.older_messages import OLDER, count_older, save_older
from conversations.models import Conversation

# Bytes to have afterwards.
WANTED_ROOM = 40_000
# The latest messages always stay on the item: services and lists read those.
STAY = 20
# Messages that one write removes: DynamoDB bounds the length of an expression.
AT_ONCE = 200
TRIES = 3
NOTHING_TO_MOVE = (
    "Nothing was moved: the conversation's latest messages and its other data fill it. Tell an administrator, because "
    "only the platform can change these."
)


def make_room(primary_channel: str, conversation_id: str, staff: Staff) -> int:
    """Move the oldest messages out of an item until it has `WANTED_ROOM`; return how many were moved.

    Each step has its entry in the trail. Safe to repeat, also concurrently. Raises `Forbidden`, `NotFound` (absent, or
    out of scope), `Invalid` if nothing can be moved, `Conflict` if others write all the time, `NoTrail`, and the
    store's errors.
    """
    staff.require(Permission.HAND_OFF)
    moved = failed = 0
    while True:
        item = Conversation.get(primary_channel, conversation_id, consistent_read=True)
        if is_gone(item, clock.now()) or not staff.scope.covers_company(item.company_id):
            raise NotFound
        entries, freed = _next_entries(item.raw)
        if not entries:
            break
        save_older(item.raw, entries)
        payload, trail = {"messages": len(entries), "bytes": freed}, conversation_trail(conversation_id)
        entry = TrailEntry(trail, Action.ROOM_MADE, Actor.of(staff), item.company_id or "", payload=payload)
        try:
            write_with_pending_entry(entry, partial(_send, _removal_of(item, entries)))
        except Conflict:
            failed += 1
            if failed == TRIES:
                raise
        else:
            moved += len(entries)
    if not moved and room_in(item.raw) < WANTED_ROOM:
        raise Invalid(NOTHING_TO_MOVE)
    forget_full(item.raw)
    return moved


def _next_entries(stored: Raw) -> tuple[list[dict[str, Any]], int]:
    """Return the oldest entries to move in one step, and their size in bytes."""
    entries, room = stored.get(MESSAGES, {}).get("L") or [], room_in(stored)
    chosen: list[dict[str, Any]] = []
    freed = 0
    for entry in entries[:-STAY][:AT_ONCE]:
        if room + freed >= WANTED_ROOM:
            break
        chosen.append(entry)
        # Each entry of a list takes one byte more.
        freed += size_of({"": entry}) + 1
    return chosen, freed


def _removal_of(item: Conversation, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the write that removes entries from the beginning of the item's list, if that is still as read.

    From then on pages also look for messages apart from the item: a full one could not hold the mark for them.
    """
    stored, conditions = item.raw, Conditions()
    conditions.as_long_as_read(MESSAGES, stored)
    conditions.as_read(OLDER, stored)
    change = Expression(
        {OLDER: {"N": str(count_older(stored) + len(entries))}, "hand_off_messages_apart": {"BOOL": True}}
    )
    update = update_item(item.primary_channel, item.conversation_id, change, conditions, returns="")
    places = ", ".join(f"#{MESSAGES}[{number}]" for number in range(len(entries)))
    update["UpdateExpression"] += f" REMOVE {places}"
    update["ConditionExpression"] += f" AND #{MESSAGES}[0] = :first AND #{MESSAGES}[{len(entries) - 1}] = :last"
    update["ExpressionAttributeValues"] |= {":first": sendable(entries[0]), ":last": sendable(entries[-1])}
    return update


def _send(update: dict[str, Any]) -> None:
    call("UpdateItem", **update)
