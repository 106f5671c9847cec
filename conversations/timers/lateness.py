"""Consequences of a late answer: one entry in the trail, and a silent holder's conversation waits again."""

import hashlib
import json
from datetime import datetime, timedelta

from console import clock
from console.errors import NotFound
from console.trail.actions import Action, Result
from console.trail.recording import Actor, TrailEntry, build, conversation_trail, save_once
from conversations.attention.causes import AwaitedAnswer, answer_in, return_at
from conversations.attention.levels import ServiceLevels
from conversations.attention.timers import set_timer
from conversations.converting import hand_off_of
from conversations.handoff.actions import HandOffAction, intent_for
from conversations.handoff.outcomes import LostRace
from conversations.handoff.service import perform_as
from conversations.handoff.stored import ANSWERED_AT, LAST_ACTION, ROUTING_BEFORE, SWITCH, Raw, key_in, text_in
from conversations.models import Conversation

TIMER = Actor("timer", "service")
# Delay before the next try if a change other than an action was in the way.
AGAIN_AFTER = timedelta(minutes=1)


def note_missed(stored: Raw, levels: ServiceLevels, now: datetime) -> bool:
    """Record an overdue answer once; return whether this call recorded it. Raises the store's errors."""
    answer = answer_in(stored, levels)
    if answer.due_at is None or answer.since is None or not answer.is_missed(now):
        return False
    return _record(stored, answer, answer.due_at)


def _record(stored: Raw, answer: AwaitedAnswer, due_at: datetime) -> bool:
    conversation_id, since = stored["conversation_id"]["S"], "" if answer.since is None else clock.to_iso(answer.since)
    named = "\n".join(("overdue", stored["primary_channel"]["S"], conversation_id, since, clock.to_iso(due_at)))
    entry = TrailEntry(
        trail=conversation_trail(conversation_id),
        action=Action.TARGET_MISSED,
        actor=TIMER,
        company_id=text_in(stored, "company_id"),
        payload={"since": since, "answer": "first" if answer.is_first else "next"},
        action_id=hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32],
        result=Result.SUCCESS,
    )
    return save_once(build(entry, due_at))


def release_if_silent(stored: Raw, levels: ServiceLevels, now: datetime) -> bool:
    """Release a conversation whose holder is silent for too long; return whether this call released it.

    The holder is notified. A person who acts or answers at the same moment takes precedence. Raises the store's errors.
    """
    at = return_at(stored, levels)
    if at is None or at > now or levels.return_after is None:
        return False
    item = Conversation.from_raw_data(stored)
    # Includes what makes this action fail (an answer, a routing change), so that the next try is another action.
    seen = json.dumps([stored.get(name) for name in (LAST_ACTION, SWITCH, ROUTING_BEFORE)], sort_keys=True, default=str)
    named = "\n".join(("returned", item.primary_channel, item.conversation_id, clock.to_iso(at), seen))
    action_id = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]
    intent = intent_for(HandOffAction.RELEASE, item, hand_off_of(item), action_id)
    reason = f"No answer for {clock.format_span(levels.return_after)} after the customer wrote."
    try:
        perform_as(TIMER, intent, item, reason=reason, as_read=(ANSWERED_AT,))
    except NotFound:
        return False
    except LostRace as lost:
        if lost.hand_off.action_id == intent.last_action_seen:
            set_timer(key_in(stored), now + AGAIN_AFTER)
        return False
    return True
