"""Giving conversations to colleagues and groups, who are told."""

import logging

from console.errors import ConsoleError
from console.permissions import Staff
from console.trees import isolated
from conversations import groups
from conversations.handoff import HandOffAction, HandOffOutcome, Intent, perform
from conversations.models import Conversation
from conversations.telling import Told, tell

logger = logging.getLogger(__name__)


def give(intent: Intent, item: Conversation, staff: Staff, to: str, reason: str) -> HandOffOutcome:
    """Assign a conversation to a colleague, or hand it over to a group, and tell them why.

    `item` is the conversation as read for the form. Raises as `perform`; that somebody cannot be told is no failure.
    """
    outcome = perform(intent, staff, reason=reason, to=to)
    why = f": {reason}" if reason else "."
    if intent.action is HandOffAction.ASSIGN:
        receivers, words = [to], f"{isolated(staff.display_name)} gave you this conversation{why}"
    else:
        group = groups.find(intent.company_id, to)
        receivers = [each for each in (group.members if group else ()) if each != staff.username]
        name = isolated(group.name) if group else "your group"
        words = f"{isolated(staff.display_name)} handed this conversation over to {name}{why}"
    for username in receivers:
        try:
            tell(username, Told.of(item, words, intent.action_id))
        except ConsoleError as error:
            logger.warning("A colleague could not be told of a conversation: %s", type(error).__name__)
    return outcome
