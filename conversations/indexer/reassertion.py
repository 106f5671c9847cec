"""Restores a person's decision after a service wrote back stale values (docs/hand-off.md).

A reply service reads flag and reason, asks the AI, and writes both back seconds later. This undoes a person's action in
between, although nobody decided so: the flag differs from what the last action wanted. If the conversation was being
processed at the time of the action, and the flag changed within the time that such a service can run, the action is
restored: once, as a recorded action of its own, through the same protocol. A later difference is shown to people as
overridden, or waits for a human like any other.
"""

import hashlib
from datetime import timedelta

from console import clock
from console.errors import ConsoleError, ItemFull
from console.store.models import plain
from console.trail.actions import Action, Result
from console.trail.models import IdempotencyRecord
from console.trail.recording import PLATFORM
from conversations.handoff.partitions import note_arrival
from conversations.handoff.protocol import (
    HandOffAct,
    RecordedAction,
    Sent,
    announce_resend,
    begin,
    close_quietly,
    event_key,
    recorded_of,
    send,
)
from conversations.handoff.reconciliation import settle
from conversations.handoff.stored import (
    ATTENTION,
    FLAG,
    GONE_WITH_THE_AI,
    LAST_ACTION,
    QUEUE,
    REASON,
    REQUESTED_AT,
    Expression,
    Raw,
    as_seen,
    held_in,
    is_same_reason,
    last_action_of,
    text,
    update_item,
    waiting_key,
)
from conversations.queue_index.states import hand_off_marks, platform_time
from conversations.records import is_processing

# The longest that a Lambda runs: it writes back what it read within this time.
WINDOW = timedelta(minutes=15)
# None of these decides who has the conversation, so no write-back can undo it.
NOT_AGAIN = frozenset({Action.HAND_OFF_REASSERT.value, Action.HAND_OFF_FENCE.value, Action.HAND_OFF_LEAVE.value})


def differs(stored: Raw) -> bool:
    """Return whether the flag differs from what the console's last action wanted."""
    marks = hand_off_marks(stored)
    return bool(marks.last_action) and marks.wanted is not None and marks.wanted != marks.flag


def record_of_last_action(stored: Raw) -> IdempotencyRecord | None:
    """Return the idempotency record of an item's last action, None if it no longer exists. Strongly consistent."""
    marks = hand_off_marks(stored)
    if not marks.last_action:
        return None
    return IdempotencyRecord.find(event_key(stored["conversation_id"]["S"], marks.last_action))


def is_written_back(record: IdempotencyRecord | None, stored: Raw) -> bool:
    """Return whether the flag of an item, or of an image of it, was written back stale, across the action of `record`.

    This may be so even if the flag is what the action wanted. A reason other than the old one is a new decision of the
    platform.
    """
    if record is None or record.intent in NOT_AGAIN or not is_processing(record.during_status):
        return False
    acted = clock.parse_instant(record.created_at)
    changed = clock.parse_instant(plain(stored["updated_at"])) if "updated_at" in stored else None
    if acted is None or changed is None or changed - acted > WINDOW:
        return False
    marks = hand_off_marks(stored)
    if marks.flag and marks.wanted is False:
        return is_same_reason(record.during_reason, stored["conversation_id"]["S"], stored)
    return True


def reassertion_id(last_action: str) -> str:
    """Return the id of the action that restores another: the same in all workers."""
    return hashlib.sha256(f"hand-off restored {last_action}".encode(errors="replace")).hexdigest()[:32]


def reassert(stored: Raw) -> bool:
    """Restore the last action on a just-read item if that is due; return whether this call restored it.

    Raises the store's errors; safe to repeat.
    """
    record = record_of_last_action(stored) if differs(stored) else None
    if record is None or not is_written_back(record, stored):
        return False
    marks = hand_off_marks(stored)
    act = HandOffAct(
        action=Action.HAND_OFF_REASSERT,
        actor=PLATFORM,
        primary_channel=stored["primary_channel"]["S"],
        conversation_id=stored["conversation_id"]["S"],
        company_id=marks.company_id,
        action_id=reassertion_id(marks.last_action),
        previous=marks.last_action,
        seen={"stamp": marks.last_action, "flag": marks.flag},
        payload={"to": "human" if marks.wanted else "ai"},
    )
    change = _change(act, stored)
    note_arrival(stored, change)
    recorded, is_new = begin(act, clock.now())
    if not is_new:
        resumed = announce_resend(recorded, clock.now()) if recorded.is_pending else None
        if resumed is None:
            return False
        recorded = resumed
    # Provided nobody acted since.
    conditions = as_seen(marks.flag, marks.agent, marks.last_action, stored)
    update = update_item(act.primary_channel, act.conversation_id, change, conditions)
    return _conclude(act, recorded, send(update), recorded_of(record.raw))


def _change(act: HandOffAct, stored: Raw) -> Expression:
    """Return what is written: the flag as the action wanted it. Never sets `updated_at`."""
    marks = hand_off_marks(stored)
    change = Expression({FLAG: {"BOOL": bool(marks.wanted)}, LAST_ACTION: text(act.action_id)})
    if marks.wanted:
        key = held_in(marks.company_id) if marks.agent else waiting_key(stored, marks.company_id)
        if marks.company_id:
            change.values[QUEUE] = text(key)
        if not marks.requested_at:
            change.values[REQUESTED_AT] = text(platform_time(stored, clock.now()))
        change.removed = (ATTENTION,)
    else:
        change.values[REASON] = {"NULL": True}
        change.removed = (*GONE_WITH_THE_AI, ATTENTION)
    return change


def _conclude(act: HandOffAct, recorded: RecordedAction, sent: Sent, restored: RecordedAction) -> bool:
    """Close the action if its result is certain, else settle it by the general rules; return whether it took effect."""
    if sent.item is not None and last_action_of(sent.item) == act.action_id:
        close_quietly(recorded, Result.SUCCESS)
        if restored.is_pending:
            # The restored action was the item's last one, so it took effect, even if its result was never recorded.
            close_quietly(restored, Result.SUCCESS)
        return True
    if sent.accepted is None or isinstance(sent.error, ItemFull):
        # It stays pending, and is done once the store answers, or has room.
        raise sent.error or ConsoleError()
    if sent.only_write and recorded.attempts == 1:
        close_quietly(recorded, f"{Result.CONFLICT}: somebody acted first", only_write=True)
    else:
        settle(act.conversation_id, actor=PLATFORM)
    return False
