"""Giving conversations to colleagues and groups, who are told."""

import hashlib
import logging
from collections.abc import Callable, Sequence

from console.errors import ConsoleError
from console.permissions import Staff
from console.trees import isolated
from conversations import groups
from conversations.handoff import HandOffAction, HandOffOutcome, Intent, perform
from conversations.models import Conversation
from conversations.queue.selection import SelectionReport, perform_each
from conversations.telling import Told, tell

logger = logging.getLogger(__name__)


def give(intent: Intent, item: Conversation, staff: Staff, to: str, reason: str) -> HandOffOutcome:
    """Assign a conversation to a colleague, or hand it over to a group, and tell them why.

    `item` is the conversation as read for the form. Raises as `perform`; that somebody cannot be told is no failure.
    """
    outcome = perform(intent, staff, reason=reason, to=to)
    _tell(intent, staff, to, "this conversation", reason, lambda words: Told.of(item, words, intent.action_id))
    return outcome


def give_all(intents: Sequence[Intent], staff: Staff, to: str, reason: str, company: str) -> SelectionReport:
    """Assign several conversations to a colleague, or hand them over to a group, who are told once.

    All are given in the same way; `company` names whose they are. Acts and reports as `perform_each`.
    """
    report = perform_each(intents, staff, reason=reason, to=to)
    if report.done:
        count = len(report.done)
        what = "1 conversation" if count == 1 else f"{count} conversations"
        # The form sent again, for what was not done the first time, tells the sum in the place of what it told before.
        told_id = hashlib.sha256("\n".join([*(each.action_id for each in intents), to]).encode()).hexdigest()[:32]
        given = report.done[0]
        group = to if given.action is HandOffAction.HAND_OVER else ""
        _tell(given, staff, to, what, reason, lambda words: Told.of_several(words, told_id, company, group))
    return report


def _tell(intent: Intent, staff: Staff, to: str, what: str, reason: str, told: Callable[[str], Told]) -> None:
    """Tell the colleague, or the group's members, what they got and why."""
    why = f": {reason}" if reason else "."
    if intent.action is HandOffAction.ASSIGN:
        receivers, words = [to], f"{isolated(staff.display_name)} gave you {what}{why}"
    else:
        group = groups.find(intent.company_id, to)
        receivers = [each for each in (group.members if group else ()) if each != staff.username]
        name = isolated(group.name) if group else "your group"
        words = f"{isolated(staff.display_name)} handed {what} over to {name}{why}"
    for username in receivers:
        try:
            tell(username, told(words))
        except ConsoleError as error:
            logger.warning("A colleague could not be told of a conversation: %s", type(error).__name__)
