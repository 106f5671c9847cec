"""The outcomes of an action: done, or lost to somebody else, with a message that says to whom and when."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from console import clock, instrumentation
from console.errors import Conflict
from console.trail.actions import Action
from conversations.converting import hand_off_of
from conversations.handoff.actions import HandOffAction, Intent
from conversations.handoff.resolution import ChainLink
from conversations.models import Conversation
from conversations.records import HandOff, name_shown

PLATFORM = "the platform"
AI = "the AI"

_DID: dict[str, str] = {
    Action.HAND_OFF_REQUEST: "asked for a human",
    Action.HAND_OFF_TAKE_OVER: "took over this conversation",
    Action.HAND_OFF_TAKE: "took this conversation",
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE: "took this conversation from a colleague",
    Action.HAND_OFF_RELEASE: "returned this conversation to the queue",
    Action.HAND_OFF_HAND_BACK: "returned this conversation to the AI",
    Action.HAND_OFF_ACKNOWLEDGE: "returned this conversation to the AI",
    Action.HAND_OFF_LEAVE_TO_AI: "let the AI answer",
    Action.HAND_OFF_ASSIGN: "transferred this conversation to a colleague",
    Action.HAND_OFF_HAND_OVER: "transferred this conversation to a group",
    Action.HAND_OFF_MARK_URGENT: "marked this conversation as urgent",
    Action.HAND_OFF_MARK_NOT_URGENT: "marked this conversation as not urgent",
    Action.HAND_OFF_LEAVE: "dismissed this conversation",
    Action.HAND_OFF_REASSERT: "restored a person's decision",
}


@dataclass(frozen=True, slots=True)
class HandOffOutcome:
    """An action that took effect. `item` is the conversation now; `replayed`: the form was submitted before.

    `routing_left`: the routing was not restored, because somebody else had changed it meanwhile.
    """

    action: HandOffAction
    item: Conversation
    replayed: bool
    routing_left: bool = False

    @property
    def hand_off(self) -> HandOff:
        """The hand-off now."""
        return hand_off_of(self.item)


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """The result of releasing what a person held, as (primary_channel, conversation_id).

    `unread` counts the companies that were not searched to the end, where the person may hold more. `routing_left`
    counts the conversations whose routing was not restored, because somebody else had changed it meanwhile.
    """

    released: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]
    unread: int = 0
    routing_left: int = 0


def describe_routing_left(count: int) -> str:
    """Say that somebody else's changes to the routing of this many conversations were kept."""
    whose = "1 conversation" if count == 1 else f"{count} conversations"
    return f"In the meantime, somebody else changed where the messages of {whose} go. Their change was kept."


class LostRace(Conflict):
    """Raised if nothing was written, because the conversation is no longer as it was seen.

    `winner` is a username, "the platform" or "the AI"; `since` is when they acted (None if unknown); `hand_off` is the
    state now.
    """

    def __init__(self, message: str, winner: str, since: datetime | None, hand_off: HandOff) -> None:
        self.winner = winner
        self.since = since
        self.hand_off = hand_off
        super().__init__(message)


def lost_race(
    intent: Intent, item: Conversation, links: Mapping[str, ChainLink], *, loser: str = "", time_zone: str = "UTC"
) -> LostRace:
    """Build the error that says who was first, and count it.

    `item` is as stored now, `links` the actions of its trail by id ({} if nobody acted). `loser` is the username of the
    person who lost, whose message names colleagues by their display name; "" for a service.
    """
    instrumentation.LOST_RACES.labels(intent.action.value).inc()
    hand_off = hand_off_of(item)
    winner = _latest_action(hand_off.action_id, intent.last_action_seen, links)
    if winner is None:
        return _lost_to_the_platform(intent, item, hand_off, time_zone, by_name=bool(loser))
    when = _when(winner.at, time_zone)
    did = _DID[winner.action_type]
    who = "You" if winner.actor == loser else name_shown(winner.actor) if loser else winner.actor
    again = " already, in another window or with an earlier click" if winner.actor == loser else " first"
    message = f"{who} {did}{again}{when}."
    return LostRace(message, winner.actor, winner.at, hand_off)


def _latest_action(last_action: str, seen: str, links: Mapping[str, ChainLink]) -> ChainLink | None:
    """Return the latest action since the one seen, or None; skip fences, which change nothing that people see."""
    visited = set()
    while last_action and last_action != seen and last_action in links and last_action not in visited:
        visited.add(last_action)
        link = links[last_action]
        if link.action_type in _DID:
            return link
        last_action = link.previous
    return None


def _lost_to_the_platform(
    intent: Intent, item: Conversation, hand_off: HandOff, time_zone: str, *, by_name: bool
) -> LostRace:
    changed = clock.parse_instant(item.plain("updated_at"))
    if hand_off.flag == intent.flag_seen and hand_off.agent == intent.agent_seen:
        if hand_off.action_id == intent.last_action_seen:
            message = "The conversation changed at the same moment. Nothing was changed. Look at it and decide again."
            return LostRace(message, PLATFORM, None, hand_off)
        message = "This form was too old. Nothing was changed. Check the current state and decide again."
        return LostRace(message, PLATFORM, None, hand_off)
    if hand_off.agent and hand_off.agent != intent.agent_seen:
        when, agent = _when(hand_off.taken_at, time_zone), hand_off.agent_shown if by_name else hand_off.agent
        return LostRace(f"{agent} took this conversation first{when}.", agent, hand_off.taken_at, hand_off)
    when = _when(changed, time_zone)
    if hand_off.flag:
        return LostRace(f"The platform asked for a human in the meantime{when}.", PLATFORM, changed, hand_off)
    return LostRace(f"The AI has this conversation again{when}.", AI, changed, hand_off)


def _when(at: datetime | None, time_zone: str) -> str:
    if at is None:
        return ""
    local = at.astimezone(clock.zone_of(time_zone))
    return f" at {local:%H:%M} on {local.day} {local:%B} ({local.tzname()})"
