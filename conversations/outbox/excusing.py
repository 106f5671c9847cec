"""*No answer needed*: the holder stops a customer's clock without a reply, and can undo it.

What the customer wrote until then counts as answered. A later message restarts the clock as ever.
"""

from typing import Any

from console import clock
from console.errors import Conflict, Forbidden, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.store.calls import TransactionRefused, put_new
from console.trail.actions import Action
from console.trail.recording import Actor, NoTrail, TrailEntry, build, conversation_trail
from conversations.converting import hand_off_of, is_gone
from conversations.handoff.partitions import announce_news
from conversations.handoff.protocol import write_together
from conversations.handoff.stored import (
    ANSWERED_AT,
    ANSWERED_BEFORE,
    HEARD_AT,
    MESSAGES,
    NO_ANSWER_AT,
    NO_ANSWER_BY,
    REQUESTED_AT,
    Expression,
    as_seen,
    text,
    text_in,
    update_item,
)
from conversations.models import Conversation
from conversations.outbox.rows import messages_of, note_answered, note_excused, partition_of
from conversations.records import HandOffState

NEWER = "The customer has written again. Nothing was changed. Read it, then decide."


def excuse(primary_channel: str, conversation_id: str, staff: Staff, shown: str) -> None:
    """Note that what the customer wrote needs no answer. `shown`: the `unanswered_mark` of what the form showed.

    Raises `Forbidden` (not the holder), `NotFound` (out of scope), `Conflict` (something changed since), `NoTrail` and
    the store's errors.
    """
    item = _load(primary_channel, conversation_id, staff)
    stored = messages_of(item, item.raw.get(MESSAGES))
    unanswered = stored.unanswered()
    if not unanswered or shown != stored.unanswered_mark:
        raise Conflict(NEWER if unanswered else "Nothing is waiting for an answer.")
    said = [clock.to_iso(at) for number in unanswered if (at := stored.at(number)) is not None]
    until = text(max((*said, text_in(item.raw, HEARD_AT), text_in(item.raw, REQUESTED_AT))))
    before: list[Any] = [item.raw[ANSWERED_AT]] if ANSWERED_AT in item.raw else []
    change = Expression(
        {NO_ANSWER_AT: until, NO_ANSWER_BY: text(staff.username), ANSWERED_AT: until, ANSWERED_BEFORE: {"L": before}}
    )
    _write(item, staff, change, Action.NO_ANSWER_NEEDED, {"messages": len(unanswered)})
    note_excused(partition_of(primary_channel, conversation_id), staff.username, until["S"])


def undo(primary_channel: str, conversation_id: str, staff: Staff) -> None:
    """Let the customer's clock go on as before. Raises as `excuse`; `Conflict` too if somebody answered since."""
    item = _load(primary_channel, conversation_id, staff)
    if not is_excused(item):
        raise Conflict("It is too late to undo: the conversation has gone on.")
    before = item.raw.get(ANSWERED_BEFORE, {}).get("L") or []
    change = Expression(
        {ANSWERED_AT: before[0]} if before else {}, removed=(NO_ANSWER_AT, NO_ANSWER_BY, ANSWERED_BEFORE)
    )
    change.removed += () if before else (ANSWERED_AT,)
    _write(item, staff, change, Action.ANSWER_NEEDED, {})
    stored = messages_of(item, item.raw.get(MESSAGES)).excused(None)
    note_answered(partition_of(primary_channel, conversation_id), len(stored.unanswered()))


def is_excused(item: Conversation) -> bool:
    """Return whether the last thing that stopped the customer's clock was that no answer is needed."""
    return bool(item.hand_off_no_answer_at) and item.hand_off_no_answer_at == item.hand_off_answered_at


def _load(primary_channel: str, conversation_id: str, staff: Staff) -> Conversation:
    staff.require(Permission.HAND_OFF)
    item = Conversation.get(primary_channel, conversation_id, consistent_read=True)
    if is_gone(item, clock.now()) or not staff.scope.covers_company(item.company_id):
        raise NotFound
    hand_off = hand_off_of(item)
    if hand_off.state is not HandOffState.HELD or hand_off.agent != staff.username:
        raise Forbidden("Only the person who has this conversation can say that.")
    return item


def _write(item: Conversation, staff: Staff, change: Expression, action: Action, payload: dict[str, Any]) -> None:
    """Write a change and its entry together, if nobody has written or acted since the item was read."""
    conditions = as_seen(True, staff.username, hand_off_of(item).action_id, item.raw)
    for attribute in (HEARD_AT, ANSWERED_AT, NO_ANSWER_AT):
        conditions.as_read(attribute, item.raw)
    conditions.as_long_as_read(MESSAGES, item.raw)
    change.values["updated_at"] = text(clock.to_iso(clock.now()))
    update = update_item(item.primary_channel, item.conversation_id, change, conditions, returns="")
    trail, company_id = conversation_trail(item.conversation_id), item.company_id or ""
    entry = TrailEntry(trail, action, Actor.of(staff), company_id, payload=payload)
    written = build(entry, clock.now())
    writes = [{"Update": update}, put_new("AUDIT", written.serialize(), "conversation_id")]
    try:
        write_together(writes)
    except TransactionRefused as refused:
        raise Conflict(NEWER) from refused
    except TableMissing as missing:
        raise NoTrail("Changes are made", "nothing was changed") from missing
    announce_news()
