"""Notices to people about what colleagues did with their conversations: who got one, and who lost one."""

import json
from typing import Any

from console.trail.actions import Action
from console.trail.models import AuditEntry
from conversations import groups
from conversations.notices import Notice, post_notice

# What the previous holder reads, by the action of a colleague.
_LOST = {
    Action.HAND_OFF_ASSIGN.value: "{by} transferred this conversation to {to}",
    Action.HAND_OFF_HAND_OVER.value: "{by} transferred this conversation to {to}",
    Action.HAND_OFF_TAKE_OVER.value: "{by} took this conversation from you",
    Action.HAND_OFF_TAKE_FROM_COLLEAGUE.value: "{by} took this conversation from you",
    Action.HAND_OFF_RELEASE.value: "{by} returned your conversation to the queue",
}
_GOT = "{by} transferred this conversation to you"
# Who gets a conversation, and who loses it, as the payload of an action names them.
CONCERNED = ("colleague", "group", "held by")
# A service has no name to show, but gives a reason.
_BACK, _SERVICE = "This conversation waits for a human again. ", "service"


def concerns_others(action_type: str) -> bool:
    """Return whether an action may concern somebody other than its actor."""
    return action_type in _LOST


def post_notices(trail: str, sort_key: str, reference: str) -> None:
    """Notify the people who got or lost a conversation by the action of a trail entry.

    Idempotent. `reference` is the conversation's. Raises the store's errors.
    """
    entry = next(iter(AuditEntry.query(trail, AuditEntry.ts_action_id == sort_key, consistent_read=True)), None)
    if entry is None:
        return
    payload, company_id, lost = _payload_of(entry), entry.company_id or "", _LOST[entry.action_type or ""]
    reason, colleague, group_id, loser = (str(payload.get(name) or "") for name in ("reason", *CONCERNED))
    groups_there = groups.of_company(company_id) if group_id else []
    group = next((each for each in groups_there if each.id == group_id), None)
    words = dict.fromkeys(group.members if group else (), lost) | ({loser: lost} if loser else {})
    if colleague:
        words[colleague] = _GOT
    why = f": {reason}" if reason else "."
    for username in words.keys() - {entry.actor}:
        said = f"{_BACK}{reason}" if entry.actor_role == _SERVICE else f"{words[username]}{why}"
        to = colleague or (group.name if group else "a group")
        notice = Notice(entry.action_id or "", said, reference, company_id, by=entry.actor or "", to=to, group=group_id)
        post_notice(username, notice)


def _payload_of(entry: AuditEntry) -> dict[str, Any]:
    try:
        found = json.loads(entry.action_payload_redacted or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
