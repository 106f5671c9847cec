"""What follows when an answer is late: it stands in the trail, once, and a silent holder's conversation waits again."""

import hashlib
from datetime import datetime

from console import clock
from console.errors import NotFound
from console.trail.actions import Action, Result, conversation_trail
from console.trail.recording import Actor, TrailEntry, build, save_once
from conversations.attention.causes import Answer, answer_in, return_at
from conversations.attention.levels import ServiceLevels
from conversations.handoff.effects import AGENT, Raw, last_action_of, text_in
from conversations.handoff.intents import HandOffAction, intent_for
from conversations.handoff.outcomes import LostRace
from conversations.handoff.service import perform_as
from conversations.models import Conversation
from conversations.reading import hand_off_of
from conversations.telling import Told, tell

TIMER = Actor("timer", "service")


def note_missed(stored: Raw, levels: ServiceLevels, now: datetime) -> bool:
    """Record that an answer is overdue, once for each; whether it was recorded by this. Raises the store's errors."""
    answer = answer_in(stored, levels)
    if answer.due_at is None or answer.since is None or not answer.is_missed(now):
        return False
    return _record(stored, answer, answer.due_at)


def _record(stored: Raw, answer: Answer, due_at: datetime) -> bool:
    conversation_id, since = stored["conversation_id"]["S"], "" if answer.since is None else clock.to_iso(answer.since)
    named = "\n".join(("overdue", stored["primary_channel"]["S"], conversation_id, since, clock.to_iso(due_at)))
    told = TrailEntry(
        trail=conversation_trail(conversation_id),
        action=Action.TARGET_MISSED,
        actor=TIMER,
        company_id=text_in(stored, "company_id"),
        payload={"since": since, "answer": "first" if answer.is_first else "next"},
        action_id=hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32],
        result=Result.SUCCESS,
    )
    return save_once(build(told, due_at))


def give_back(stored: Raw, levels: ServiceLevels, now: datetime) -> bool:
    """Let a conversation wait again whose holder is silent for too long; whether it does by this.

    The holder is told. Somebody who acts at the same moment comes first. Raises the store's errors.
    """
    at = return_at(stored, levels)
    if at is None or at > now or levels.return_after is None:
        return False
    item = Conversation.from_raw_data(stored)
    hand_off, holder = hand_off_of(item), text_in(stored, AGENT)
    named = "\n".join(("returned", item.primary_channel, item.conversation_id, last_action_of(stored)))
    action_id = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]
    reason = f"No answer for {clock.format_span(levels.return_after)} after the customer wrote."
    try:
        perform_as(TIMER, intent_for(HandOffAction.RELEASE, item, hand_off, action_id), item, reason=reason)
    except (LostRace, NotFound):
        return False
    told = Told.of(item, f"This conversation waits for a human again. {reason}", action_id)
    tell(holder, told)
    return True
