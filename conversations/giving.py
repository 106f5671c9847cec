"""Telling people what others did with their conversations: who got one, and from whom one was taken."""

import json
from typing import Any

from console.trail.actions import Action
from console.trail.models import AuditEntry
from conversations import groups
from conversations.telling import Told, tell

# What the one who held a conversation is told, by what somebody else did.
_LOST = {
    Action.HAND_OFF_ASSIGN.value: "{by} gave this conversation to {to}",
    Action.HAND_OFF_HAND_OVER.value: "{by} handed this conversation over to {to}",
    Action.HAND_OFF_TAKE_OVER.value: "{by} took this conversation from you",
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE.value: "{by} took this conversation from you",
    Action.HAND_OFF_RELEASE.value: "{by} released your conversation",
}
_GOT = "{by} gave you this conversation"
# A service has no name, and gives a reason.
_BACK, _SERVICE = "This conversation waits for a human again. ", "service"


def concerns_others(action_type: str) -> bool:
    """Whether somebody may have to be told of an action."""
    return action_type in _LOST


def tell_of(trail: str, sort_key: str, reference: str) -> None:
    """Tell whoever got a conversation, or lost it, by the action of that entry of the trail.

    May be repeated: the same is told once. `reference` is the conversation's. Raises the store's errors.
    """
    entry = next(iter(AuditEntry.query(trail, AuditEntry.ts_action_id == sort_key, consistent_read=True)), None)
    if entry is None:
        return
    payload, company_id, lost = _payload_of(entry), entry.company_id or "", _LOST[entry.action_type or ""]
    reason, colleague, group_id, loser = (
        str(payload.get(name) or "") for name in ("reason", "colleague", "group", "held by")
    )
    groups_there = groups.of_company(company_id) if group_id else []
    group = next((each for each in groups_there if each.id == group_id), None)
    words = dict.fromkeys(group.members if group else (), lost) | ({loser: lost} if loser else {})
    if colleague:
        words[colleague] = _GOT
    why = f": {reason}" if reason else "."
    for username in words.keys() - {entry.actor}:
        said = f"{_BACK}{reason}" if entry.actor_role == _SERVICE else f"{words[username]}{why}"
        to = colleague or (group.name if group else "a group")
        told = Told(entry.action_id or "", said, reference, company_id, by=entry.actor or "", to=to, group=group_id)
        tell(username, told)


def _payload_of(entry: AuditEntry) -> dict[str, Any]:
    try:
        found = json.loads(entry.action_payload_redacted or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
