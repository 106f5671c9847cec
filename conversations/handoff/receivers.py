"""Who may be given a conversation: an enabled colleague whose scope covers it, or a group of its company."""

from collections.abc import Iterable

from console.errors import Invalid
from console.permissions import Permission, Staff
from console.staff import accounts
from console.staff.colleagues import Colleague, colleagues_of
from conversations import groups
from conversations.groups import Group
from conversations.handoff.actions import HandOffAction, Intent

_CANNOT = "This colleague cannot be given conversations of this company. Choose somebody else."


def check_receiver(intent: Intent, to: str) -> None:
    """Raise `Invalid` unless `to` may be given the conversation. Raises the store's errors."""
    if not to:
        raise Invalid("Choose a colleague or a group.")
    if intent.action is HandOffAction.HAND_OVER:
        if groups.find(intent.company_id, to) is None:
            raise Invalid("This group no longer exists. Choose another one.")
        return
    if to == intent.agent_seen:
        raise Invalid("Your colleague already has it.")
    account = accounts.find(to)
    if account is None or account.username != to or account.disabled:
        raise Invalid(_CANNOT)
    staff = Staff.of(account)
    if not staff.can(Permission.HAND_OFF) or not staff.scope.covers_company(intent.company_id):
        raise Invalid(_CANNOT)


def offered(company_ids: Iterable[str], staff: Staff, holder: str) -> tuple[list[Colleague], list[Group]]:
    """Return the colleagues and groups that a person may give conversations of all these companies to.

    `holder` holds all of them ("" for nobody). Groups are only offered for a single company. Raises the store's errors.
    """
    first, *others = dict.fromkeys(company_ids)
    colleagues = [
        each
        for each in colleagues_of(first)
        if each.username not in (staff.username, holder) and all(map(each.scope.covers_company, others))
    ]
    return colleagues, [] if others else groups.of_company(first)
