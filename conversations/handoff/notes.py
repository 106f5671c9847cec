"""The holder's note for the next person, which can be saved at any time."""

from console import clock
from console.errors import Forbidden, Invalid, ItemFull, NotFound
from console.permissions import Permission, Staff
from console.store.connection import call
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, conversation_trail, write_with_pending_entry
from conversations.converting import hand_off_of, is_gone
from conversations.handoff.full_items import note_full
from conversations.handoff.service import MAX_TEXT
from conversations.handoff.stored import ATTRIBUTES, NOTE, NOTE_AT, NOTE_BY, Expression, as_seen, text, update_item
from conversations.models import Conversation
from conversations.records import HandOffState


def save_note(primary_channel: str, conversation_id: str, staff: Staff, note: str) -> None:
    """Save the holder's note; "" removes it. The trail records its length, never its text.

    Raises `Forbidden` (not the holder), `Invalid` (too long), `NotFound` (out of scope), `Conflict` (changed since it
    was read), `NoTrail`, `ItemFull` and the store's errors.
    """
    staff.require(Permission.HAND_OFF)
    if (over := len(note) - MAX_TEXT) > 0:
        raise Invalid(f"{over:,} too many: a note can have up to {MAX_TEXT:,} characters.")
    item = Conversation.get(primary_channel, conversation_id, consistent_read=True, attributes_to_get=list(ATTRIBUTES))
    if is_gone(item, clock.now()) or not staff.scope.covers_company(item.company_id):
        raise NotFound
    hand_off = hand_off_of(item)
    if hand_off.state is not HandOffState.HELD or hand_off.agent != staff.username:
        raise Forbidden("Only the person who has this conversation can write its note.")
    now = text(clock.to_iso(clock.now()))
    change = Expression({"updated_at": now})
    if note:
        change.values |= {NOTE: text(note), NOTE_BY: text(staff.username), NOTE_AT: now}
    else:
        change.removed = (NOTE, NOTE_BY, NOTE_AT)
    conditions = as_seen(True, staff.username, hand_off.action_id, item.raw)
    update = update_item(primary_channel, conversation_id, change, conditions, returns="NONE")
    entry = TrailEntry(
        conversation_trail(conversation_id),
        Action.NOTE_SAVED,
        Actor.of(staff),
        item.company_id or "",
        payload={"characters": len(note)},
    )
    try:
        write_with_pending_entry(entry, lambda: _send(update))
    except ItemFull:
        note_full(item.raw)
        raise


def _send(update: dict[str, object]) -> None:
    call("UpdateItem", **update)
