"""The hand-off actions: who may do which, the intent that a rendered form carries, and what each action writes."""

from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any

from console import clock
from console.errors import BadReference, Forbidden, Invalid
from console.permissions import Permission, Role, Staff
from console.refs import seal_data, unseal_data
from console.trail.actions import Action
from console.trail.recording import new_action_id
from conversations import records
from conversations.handoff.stored import (
    AGENT,
    ATTENTION,
    BY_HAND,
    FLAG,
    GONE_WITH_THE_AI,
    GROUP,
    LAST_ACTION,
    LEFT_AT,
    MESSAGES,
    NOTE,
    NOTE_AT,
    NOTE_BY,
    OF_LAST_TIME,
    OWED_AT,
    QUEUE,
    REASON,
    REQUESTED_AT,
    ROUTING_BEFORE,
    STATUS,
    SWITCH,
    TAKEN_AT,
    TO_AI_AT,
    URGENT,
    WANTED,
    Expression,
    Raw,
    as_seen,
    held_in,
    involves_routing,
    is_for_people,
    leads_back_to_ai,
    routing_change,
    status_in,
    text,
    text_in,
    update_item,
    urgent_in,
    waiting_in,
    waiting_key,
)
from conversations.models import NOT_URGENT, Conversation
from conversations.records import HandOff, HandOffState


class HandOffAction(StrEnum):
    """An action on a hand-off (docs/hand-off.md)."""

    REQUEST = "request"
    TAKE_OVER = "take_over"
    TAKE = "take"
    TAKE_FROM_COLLEAGUE = "take_from_colleague"
    RELEASE = "release"
    HAND_BACK = "hand_back"
    ACKNOWLEDGE = "acknowledge"
    LEAVE_TO_AI = "leave_to_ai"
    ASSIGN = "assign"
    HAND_OVER = "hand_over"
    MARK_URGENT = "mark_urgent"
    MARK_NOT_URGENT = "mark_not_urgent"
    LEAVE = "leave"

    @property
    def audited_as(self) -> Action:
        """Its name in the trail."""
        return Action(f"hand_off.{self.value}")


# Actions that give a conversation back to the AI.
TO_AI = (HandOffAction.HAND_BACK, HandOffAction.ACKNOWLEDGE, HandOffAction.LEAVE_TO_AI)
# Actions that bring a conversation from the AI to people.
BEGINS = (HandOffAction.REQUEST, HandOffAction.TAKE_OVER, HandOffAction.ASSIGN)
URGENCY = (HandOffAction.MARK_URGENT, HandOffAction.MARK_NOT_URGENT)
# Actions that name a receiver: a colleague or a group.
GIVES = (HandOffAction.ASSIGN, HandOffAction.HAND_OVER)
# Actions that want the flag to be false. ACKNOWLEDGE wants it as it is.
ENDS_WITH_AI = (HandOffAction.HAND_BACK, HandOffAction.LEAVE_TO_AI, HandOffAction.LEAVE)


@dataclass(frozen=True, slots=True)
class Intent:
    """The intent of a rendered form: what the person saw, and the id by which a second submission finds the first.

    `requested_seen` is when a human was requested, as shown (ISO 8601, "" for unknown); `last_action_seen` is the id of
    the console's last action on the conversation ("" for none).
    """

    action: HandOffAction
    primary_channel: str
    conversation_id: str
    company_id: str
    action_id: str
    flag_seen: bool
    agent_seen: str
    last_action_seen: str
    requested_seen: str

    @property
    def returns(self) -> bool:
        """Whether people give the conversation back to the AI."""
        return self.action in TO_AI and not self.asks_again

    @property
    def asks_again(self) -> bool:
        """Whether the AI already has the conversation and is asked again to answer."""
        return self.action is HandOffAction.LEAVE_TO_AI and not self.flag_seen and not self.agent_seen


# A page seals many intents, and `dataclasses.astuple` would copy each value.
_SEALED = attrgetter(*(field.name for field in fields(Intent)))


def allowed_actions(hand_off: HandOff, staff: Staff) -> tuple[HandOffAction, ...]:
    """Return what this person may do now, the usual action first; () without the permission."""
    if not staff.can(Permission.HAND_OFF):
        return ()
    # An admin may act for the holder, who may have gone home or whose account may be disabled.
    may_act = hand_off.agent == staff.username or staff.role is Role.ADMIN
    leave = (HandOffAction.LEAVE_TO_AI,) if leads_back_to_ai() else ()
    match hand_off.state:
        case HandOffState.AI:
            usual = (HandOffAction.TAKE_OVER, HandOffAction.REQUEST)
            return (*usual, *leave, HandOffAction.ASSIGN, HandOffAction.LEAVE)
        case HandOffState.WAITING:
            return (HandOffAction.TAKE, *leave, HandOffAction.HAND_BACK, *GIVES, *URGENCY)
        case HandOffState.HELD:
            given = GIVES if may_act or staff.can(Permission.TEAM_LEAD) else ()
            mine = (HandOffAction.HAND_BACK, HandOffAction.RELEASE, *leave) if may_act else ()
            others = () if hand_off.agent == staff.username else (HandOffAction.TAKE_FROM_COLLEAGUE,)
            return others + mine + given + (URGENCY if given else ())
        case HandOffState.OVERRIDDEN:
            return (HandOffAction.TAKE_OVER, *((HandOffAction.ACKNOWLEDGE, *leave) if may_act else ()))


def intent_for(action: HandOffAction, item: Conversation, hand_off: HandOff, action_id: str = "") -> Intent:
    """Build the intent of a form for an item in this state, with a new action id unless one is given."""
    return Intent(
        action=action,
        primary_channel=item.primary_channel,
        conversation_id=item.conversation_id,
        company_id=item.company_id or "",
        action_id=action_id or new_action_id(),
        flag_seen=hand_off.flag,
        agent_seen=hand_off.agent,
        last_action_seen=hand_off.action_id,
        requested_seen="" if hand_off.requested_at is None else clock.to_iso(hand_off.requested_at),
    )


def check_allowed(intent: Intent, staff: Staff) -> None:
    """Check that a person may carry out an intent in the state that they saw.

    Raises `Forbidden` for the wrong role or holder, and `Invalid` if the state does not allow the action.
    """
    staff.require(Permission.HAND_OFF)
    if intent.action in allowed_actions(seen_in(intent), staff):
        return
    owned = (HandOffAction.RELEASE, *TO_AI, *GIVES)
    if intent.agent_seen not in ("", staff.username) and intent.action in owned:
        raise Forbidden("A colleague has this conversation. Only an administrator can do that for them.")
    raise Invalid("You cannot do that while the conversation is in this state.")


def seen_in(intent: Intent) -> HandOff:
    """Return the state that the person saw, with the attributes that an intent carries."""
    state = HandOffState.of(intent.flag_seen, intent.agent_seen)
    return HandOff(state, flag=intent.flag_seen, agent=intent.agent_seen)


def seal_intent(intent: Intent, staff: Staff) -> str:
    """Seal an intent for a form, so that only this person can use it."""
    return seal_data("action", [staff.username, *_SEALED(intent)])


def unseal_intent(token: str, staff: Staff) -> Intent:
    """Open the intent of a form. Raises `BadReference` for anything not sealed for this person."""
    data = unseal_data("action", token)
    kinds = [str, str, str, str, str, str, bool, str, str, str]
    if not isinstance(data, list) or [type(each) for each in data] != kinds or data[0] != staff.username:
        raise BadReference
    try:
        return Intent(HandOffAction(data[1]), *data[2:])
    except ValueError as error:
        raise BadReference from error


# --- Effects ----------------------------------------------------------------------------------------------------------


def effect_of(
    intent: Intent,
    by: str,
    at: datetime,
    stored: Raw,
    *,
    reason: str = "",
    note: str = "",
    to: str = "",
    since: datetime | None = None,
    owed_at: str = "",
) -> Expression:
    """Return what an action writes (docs/hand-off.md). `by` is who acts, `stored` the item as read just before.

    `to` is the colleague or group that gets the conversation. `since` is when the customer of a request began to wait;
    by default `at`. `owed_at` (ISO) is when the customer wrote the first message that goes to the AI unanswered.
    """
    now = clock.to_iso(at)
    change = Expression({LAST_ACTION: text(intent.action_id), "updated_at": text(now)})
    change.values[WANTED] = {"BOOL": intent.action not in ENDS_WITH_AI}
    begins = intent.action in BEGINS and not intent.flag_seen and not intent.agent_seen
    held, waiting = text(held_in(intent.company_id)), text(waiting_key({} if begins else stored, intent.company_id))
    if note:
        change.values |= {NOTE: text(note), NOTE_BY: text(by), NOTE_AT: text(now)}
    match intent.action:
        case HandOffAction.REQUEST | HandOffAction.TAKE_OVER:
            _raise_flag(change, intent, now if since is None else clock.to_iso(since), stored, reason)
            if intent.action is HandOffAction.TAKE_OVER:
                change.values |= {AGENT: text(by), TAKEN_AT: text(now), QUEUE: held}
            else:
                change.values[QUEUE] = waiting
                change.removed = (AGENT, TAKEN_AT)
        case HandOffAction.TAKE | HandOffAction.TAKE_FROM_COLLEAGUE:
            change.values |= {AGENT: text(by), TAKEN_AT: text(now), QUEUE: held}
            change.removed = (GROUP,)
            _keep_timer(change, intent, now, stored)
        case HandOffAction.ASSIGN:
            if intent.flag_seen:
                _keep_timer(change, intent, now, stored)
            else:
                _raise_flag(change, intent, now, stored, reason)
            change.values |= {AGENT: text(to), TAKEN_AT: text(now), QUEUE: held}
            change.removed = (GROUP,)
        case HandOffAction.RELEASE | HandOffAction.HAND_OVER:
            change.values[QUEUE] = waiting
            change.removed = (AGENT, TAKEN_AT)
            if intent.action is HandOffAction.HAND_OVER:
                change.values[GROUP] = text(to)
            _keep_timer(change, intent, now, stored)
        case HandOffAction.MARK_URGENT | HandOffAction.MARK_NOT_URGENT:
            _mark_urgency(change, intent, now, stored)
        case _:
            _leave_with_ai(change, intent, now, stored, owed_at)
    values, removed = routing_change(stored, for_people=ends_for_people(intent))
    change.values |= values
    change.removed += (ATTENTION, *removed)
    if begins:
        change.removed = tuple(dict.fromkeys((*change.removed, *OF_LAST_TIME, OWED_AT)))
    return change


def _mark_urgency(change: Expression, intent: Intent, now: str, stored: Raw) -> None:
    is_urgent = intent.action is HandOffAction.MARK_URGENT
    key = held_in if intent.agent_seen else urgent_in if is_urgent else waiting_in
    change.values |= {URGENT: text(BY_HAND if is_urgent else NOT_URGENT), QUEUE: text(key(intent.company_id))}
    _keep_timer(change, intent, now, stored)


def _leave_with_ai(change: Expression, intent: Intent, now: str, stored: Raw, owed_at: str) -> None:
    """Add the effect of leaving it with the AI: earlier failures then need no attention, unless the AI is to answer.

    What nobody has answered is forgotten only by a dismissal.
    """
    has_it = intent.asks_again or intent.action is HandOffAction.LEAVE
    change.removed = (QUEUE, REQUESTED_AT) if has_it else GONE_WITH_THE_AI
    if intent.action is not HandOffAction.LEAVE:
        change.values[TO_AI_AT] = text(now)
    if intent.action is HandOffAction.LEAVE_TO_AI:
        change.removed += (LEFT_AT,)
    else:
        change.values[LEFT_AT] = text(now)
    if owed_at:
        change.values[OWED_AT] = text(owed_at)
    else:
        change.removed += (OWED_AT,)
    if intent.action is HandOffAction.ACKNOWLEDGE:
        change.values[WANTED] = {"BOOL": intent.flag_seen}
    elif intent.asks_again and records.is_abandoned(status_in(stored), text_in(stored, ATTENTION)):
        # The status of a service that gave up or died keeps other services from answering until it changes.
        change.values[STATUS] = text(records.RETRY)
    elif not has_it:
        change.values |= {FLAG: {"BOOL": False}, REASON: {"NULL": True}}


def ends_for_people(intent: Intent) -> bool:
    """Return whether the console routes the state after an action to people."""
    action = intent.action
    if action in URGENCY:
        return is_for_people(flag=True, agent=intent.agent_seen)
    to_ai = action in ENDS_WITH_AI or action is HandOffAction.ACKNOWLEDGE
    waits = action in (HandOffAction.REQUEST, HandOffAction.RELEASE, HandOffAction.HAND_OVER)
    return is_for_people(flag=not to_ai, agent="" if to_ai or waits else "somebody")


def _raise_flag(change: Expression, intent: Intent, now: str, stored: Raw, reason: str) -> None:
    change.values[FLAG] = {"BOOL": True}
    if intent.agent_seen:
        # Taken again after the platform cleared the flag, so the customer has waited since the first request.
        _keep_timer(change, intent, now, stored)
        if reason:
            change.values[REASON] = text(reason)
    else:
        # A customer who needed attention goes on waiting, and so does one whom the AI was to answer and has not.
        waited = [text_in(stored, REQUESTED_AT)] if ATTENTION in stored else []
        waited += [text_in(stored, OWED_AT)] if not _has_ai_written(stored) else []
        change.values[REQUESTED_AT] = text(min(filter(None, (now, *waited))))
        change.values[REASON] = text(reason) if reason else {"NULL": True}


def _has_ai_written(stored: Raw) -> bool:
    """Return whether the platform has written since it was asked to answer, other than that it failed."""
    wrote, asked = (clock.parse_instant(text_in(stored, name)) for name in ("updated_at", TO_AI_AT))
    has_failed = records.family_of(status_in(stored)) is records.Family.FAILED
    return wrote is not None and asked is not None and wrote > asked and not has_failed


def _keep_timer(change: Expression, intent: Intent, now: str, stored: Raw) -> None:
    """Keep the time of the request; if none is stored, write the time that was seen."""
    since = text(intent.requested_seen or now)
    if set(stored.get(REQUESTED_AT, {"S": ""})) == {"S"} and ATTENTION not in stored:
        change.if_absent[REQUESTED_AT] = since
    else:
        # It is not text, which a sort key must be, or it is the time since when attention was needed.
        change.values[REQUESTED_AT] = since


def update_of(intent: Intent, change: Expression, stored: Raw, as_read: tuple[str, ...] = ()) -> dict[str, Any]:
    """Build the UpdateItem of an action, which writes named attributes on condition that nothing changed since.

    `as_read` are further attributes to compare, `MESSAGES` by its length.
    """
    conditions = as_seen(intent.flag_seen, intent.agent_seen, intent.last_action_seen, stored)
    for attribute in as_read:
        compare = conditions.as_long_as_read if attribute == MESSAGES else conditions.as_read
        compare(attribute, stored)
    if intent.asks_again:
        conditions.as_read(ATTENTION, stored)
        conditions.as_read(STATUS, stored)
    if involves_routing(stored):
        conditions.as_read(SWITCH, stored)
        conditions.as_read(ROUTING_BEFORE, stored)
    return update_item(intent.primary_channel, intent.conversation_id, change, conditions)
