"""The platform's routing switch: whether a customer's next message goes to people or to the AI.

The platform routes replies by `auto_queue_reply_message` and never looks at the flag. So the write that takes a
conversation also sets the switch and keeps what stood there; the write that gives it back restores that. What somebody
else changed in between is left. The indexer puts right what no action of ours did (the platform clears its own flag).
"""

from typing import Any

from django.conf import settings

from console.store.models import sendable
from console.trail.recording import Actor

SWITCH = "auto_queue_reply_message"
FROM_NUMBERS, FROM_EMAILS = f"{SWITCH}_from_number", f"{SWITCH}_from_email"
BEFORE = "hand_off_routing_before"
# Who asks for a human where a rule routed a message to people, and what the reason of such a request begins with.
BY_RULE = Actor("rule", "service")
RULE = "Rule: "
OFF, HELD, WAITING = "off", "held", "waiting"
# What the trail says of an action that routed a conversation to people; of others it says what became of that.
TO_PEOPLE = "to people"
_ON = {"BOOL": True}

Stored = dict[str, dict[str, Any]]


def has_inbound_source() -> bool:
    """Whether messages that the platform routes to people arrive here."""
    return bool(settings.HANDOFF_QUEUE_URL) or has_stage()


def has_stage() -> bool:
    """Whether the table is named in which the platform stages what customers write."""
    return bool(settings.TABLE_NAMES.get("CONVERSATIONS_STAGE"))


def goes_to_people(stored: Stored) -> bool:
    """Whether the platform sends whatever this conversation's customer writes next to people."""
    return stored.get(SWITCH) == _ON


def went_to_people(stored: Stored) -> bool:
    """Whether the platform's own routing sends it to people, whatever the console has set meanwhile."""
    if BEFORE in stored:
        return stored[BEFORE].get("L") == [_ON]
    return goes_to_people(stored)


def is_set_by_console(stored: Stored) -> bool:
    """Whether the console set the switch when people took the conversation, and nobody has changed it since."""
    return BEFORE in stored and not is_left(stored)


def leads_back_to_ai() -> bool:
    """Whether messages that came to people can be brought to the AI: by the stage table and a channel's queue."""
    return has_stage() and any(settings.CHANNEL_QUEUE_URLS.values())


def is_for_people(*, flag: bool, agent: str) -> bool:
    """Whether the console routes a conversation in that state to people; False: the platform's own routing applies."""
    mode = settings.HAND_OFF_ROUTING
    return bool(agent and mode != OFF) or bool(flag and mode == WAITING)


def matters(stored: Stored) -> bool:
    """Whether routing is part of an action on an item: it is switched on, or was when somebody took the item."""
    return settings.HAND_OFF_ROUTING != OFF or BEFORE in stored


def is_left(stored: Stored) -> bool:
    """Whether somebody else changed the switch after the console had set it."""
    return BEFORE in stored and stored.get(SWITCH) != _ON


def what_becomes_of_routing(stored: Stored, *, for_people: bool) -> str:
    """What an action on an item does to its routing, for the trail; "" for nothing."""
    values, removed = routing_change(stored, for_people=for_people)
    if not values and not removed:
        return ""
    if for_people:
        return TO_PEOPLE
    return "left as it was changed meanwhile" if is_left(stored) else "as before"


def routing_change(stored: Stored, *, for_people: bool) -> tuple[Stored, tuple[str, ...]]:
    """The attributes to set, as DynamoDB JSON, and to remove, for an item as stored. Nothing where it is right."""
    if for_people:
        if BEFORE in stored and not is_left(stored):
            return {}, ()
        # A list of what stood there, if anything did: its type is kept, and that there was nothing.
        return {SWITCH: _ON, BEFORE: {"L": [sendable(stored[SWITCH])] if SWITCH in stored else []}}, ()
    if BEFORE not in stored:
        return {}, ()
    if is_left(stored):
        return {}, (BEFORE,)
    stood = stored[BEFORE].get("L")
    if not stood:
        return {}, (SWITCH, BEFORE)
    return {SWITCH: sendable(stood[0])}, (BEFORE,)
