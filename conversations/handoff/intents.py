"""What may be done with a conversation's hand-off, by whom, and what a rendered form carries about it."""

from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter

from console import clock
from console.errors import BadReference, Forbidden, Invalid
from console.permissions import Permission, Role, Staff
from console.refs import seal_data, unseal_data
from console.trail.actions import Action
from console.trail.recording import new_action_id
from conversations.handoff.routing import leads_back_to_ai
from conversations.models import Conversation
from conversations.records import HandOff, HandOffState


class HandOffAction(StrEnum):
    """What a person may do (data model, section 4)."""

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


# What gives a conversation back to the AI.
TO_AI = (HandOffAction.HAND_BACK, HandOffAction.ACKNOWLEDGE, HandOffAction.LEAVE_TO_AI)
# What brings one that the AI has to people.
BEGINS = (HandOffAction.REQUEST, HandOffAction.TAKE_OVER, HandOffAction.ASSIGN)
URGENCY = (HandOffAction.MARK_URGENT, HandOffAction.MARK_NOT_URGENT)
# What names who, or which group, gets it.
GIVES = (HandOffAction.ASSIGN, HandOffAction.HAND_OVER)
# What wants the flag to be down; to acknowledge wants what is there.
ENDS_WITH_AI = (HandOffAction.HAND_BACK, HandOffAction.LEAVE_TO_AI, HandOffAction.LEAVE)


@dataclass(frozen=True, slots=True)
class Intent:
    """One rendered form: what the person saw, and the id by which a second submission finds the first.

    `requested_seen` is since when a human was wanted as shown (ISO, "" for unknown); `last_action_seen` is the id of
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
    def asks_again(self) -> bool:
        """Whether the AI, which has the conversation, is asked once more to answer."""
        return self.action is HandOffAction.LEAVE_TO_AI and not self.flag_seen and not self.agent_seen


# A page of rows seals many, and `dataclasses.astuple` copies each value.
_SEALED = attrgetter(*(field.name for field in fields(Intent)))


def allowed_actions(hand_off: HandOff, staff: Staff) -> tuple[HandOffAction, ...]:
    """What this person may do now, the usual one first; nothing without the permission."""
    if not staff.can(Permission.HAND_OFF):
        return ()
    # An admin may act for whoever holds it: people go home, accounts are disabled.
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
            return (HandOffAction.TAKE_OVER, HandOffAction.ACKNOWLEDGE) if may_act else (HandOffAction.TAKE_OVER,)


def intent_for(action: HandOffAction, item: Conversation, hand_off: HandOff, action_id: str = "") -> Intent:
    """The intent of a form that is being rendered for an item in that state, with a fresh action id unless given."""
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
    """Hold an intent against the table of actions, as of what was seen.

    Raises `Forbidden` where the role or the holder is wrong, `Invalid` where the action makes no sense in that state.
    """
    staff.require(Permission.HAND_OFF)
    if intent.action in allowed_actions(seen_in(intent), staff):
        return
    owned = (HandOffAction.RELEASE, *TO_AI, *GIVES)
    if intent.agent_seen not in ("", staff.username) and intent.action in owned:
        raise Forbidden("A colleague has this conversation. Only an administrator can do that for them.")
    raise Invalid("You cannot do that while the conversation is in this state.")


def seen_in(intent: Intent) -> HandOff:
    """The state that the person saw, as far as an intent carries it."""
    state = state_of(intent.flag_seen, intent.agent_seen)
    return HandOff(state, flag=intent.flag_seen, agent=intent.agent_seen)


def state_of(flag: bool, agent: str) -> HandOffState:
    """The state that a flag and an agent as seen stand for."""
    if flag:
        return HandOffState.HELD if agent else HandOffState.WAITING
    return HandOffState.OVERRIDDEN if agent else HandOffState.AI


def seal_intent(intent: Intent, staff: Staff) -> str:
    """The intent as a form carries it: sealed, and of use to this person only."""
    return seal_data("action", [staff.username, *_SEALED(intent)])


def unseal_intent(token: str, staff: Staff) -> Intent:
    """The intent that a form carried. Raises `BadReference` for anything that this person was not given."""
    data = unseal_data("action", token)
    kinds = [str, str, str, str, str, str, bool, str, str, str]
    if not isinstance(data, list) or [type(each) for each in data] != kinds or data[0] != staff.username:
        raise BadReference
    try:
        return Intent(HandOffAction(data[1]), *data[2:])
    except ValueError as error:
        raise BadReference from error
