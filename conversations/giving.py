"""Telling people what others did with their conversations: who got one, and from whom one was taken."""

import json
from typing import Any

from console.errors import NotFound
from console.staff.colleagues import name_of
from console.trail.actions import Action
from console.trail.models import AuditEntry
from console.trees import isolated
from conversations import groups
from conversations.companies import company_named
from conversations.telling import Told, tell

# What the one who held a conversation is told, by what somebody else did. A service has no name: it gives a reason.
_LOST = {
    Action.HAND_OFF_ASSIGN.value: "gave this conversation to {to}",
    Action.HAND_OFF_HAND_OVER.value: "handed this conversation over to {to}",
    Action.HAND_OFF_TAKE_OVER.value: "took this conversation from you",
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE.value: "took this conversation from you",
    Action.HAND_OFF_RELEASE.value: "released your conversation",
}
_SERVICE = "service"


def concerns_others(action_type: str) -> bool:
    """Whether somebody may have to be told of an action."""
    return action_type in _LOST


def tell_of(entry_key: tuple[str, str], reference: str) -> None:
    """Tell whoever got a conversation, or lost it, by the action of that entry of the trail.

    May be repeated: the same is told once. `reference` is the conversation's. Raises the store's errors.
    """
    try:
        entry = AuditEntry.get(*entry_key, consistent_read=True)
    except NotFound:
        return
    payload, company_id = _payload_of(entry), entry.company_id or ""
    reason, colleague, group_id = (str(payload.get(name) or "") for name in ("reason", "colleague", "group"))
    group = groups.find(company_id, group_id) if group_id else None
    why, actor = f": {reason}" if reason else ".", entry.actor or ""
    who = isolated(name_of(actor))
    to = isolated(group.name if group else name_of(colleague)) or "your group"
    words = dict.fromkeys(group.members if group else (), f"{who} handed this conversation over to {to}{why}")
    if loser := str(payload.get("held by") or ""):
        lost = f"{who} {_LOST[entry.action_type or ''].format(to=to)}{why}"
        words[loser] = f"This conversation waits for a human again. {reason}" if entry.actor_role == _SERVICE else lost
    if colleague:
        words[colleague] = f"{who} gave you this conversation{why}"
    words.pop(actor, None)
    if words:
        company = company_named(company_id)
        for username, each in words.items():
            tell(username, Told.of(entry.action_id or "", each, reference, company.name if company else company_id))


def _payload_of(entry: AuditEntry) -> dict[str, Any]:
    try:
        found = json.loads(entry.action_payload_redacted or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
