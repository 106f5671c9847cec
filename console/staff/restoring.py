"""Making the table of accounts safe again after it was restored to an earlier time, with what the trail knows."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from console import clock
from console.errors import Invalid
from console.permissions import has_password
from console.staff import accounts, password_links, second_factor, services
from console.staff.models import StaffAccount
from console.trail.actions import Action
from console.trail.models import AuditEntry
from console.trail.recording import COMMAND_LINE, staff_trail

_MOVES = {Action.STAFF_DISABLED.value: True, Action.STAFF_ENABLED.value: False}
# The restore brought back what these had ended: passwords, links, lost phones, used recovery codes, stolen sessions.
_SECRETS = frozenset(
    {
        Action.PASSWORD_RESET.value,
        Action.PASSWORD_LINK.value,
        Action.PASSWORD_CHANGED.value,
        Action.SECOND_FACTOR_ADDED.value,
        Action.SECOND_FACTOR_REMOVED.value,
        Action.RECOVERY_CODES_MADE.value,
        Action.RECOVERY_CODE_USED.value,
        Action.SESSION_ENDED.value,
        Action.SESSIONS_ENDED.value,
    }
)
_CHANGES = frozenset({Action.STAFF_CHANGED.value, *_MOVES, *_SECRETS})
# Marks this module's own entries, so that a second run does not take them for somebody's changes.
_AFTER_RESTORE = {"after": "restore"}


@dataclass(frozen=True, slots=True)
class RestoredAccount:
    """An account after the restore, signed out: its changes since then, and what was done about them.

    `link_code` is of a new link to set a password, shown only once; "" if none was needed. `still_enabled`: it should
    have been disabled again, but no other administrator would be left.
    """

    username: str
    changes: Sequence[AuditEntry]
    is_disabled_again: bool = False
    still_enabled: bool = False
    link_code: str = field(default="", repr=False)


def make_safe(since: datetime) -> Iterator[RestoredAccount]:
    """End every session, then yield each account after its changes since then were dealt with.

    Who was disabled is disabled again. Whose password, second factor, link or sessions changed gets a new link instead
    of the old password; the old second factor is removed if it was replaced or its recovery codes were used. Raises the
    store's errors; may be run again.
    """
    everybody = [_signed_out(account) for account in services.list_accounts()]
    for account in everybody:
        yield _made_safe(account, _changes(account.username, since))


def _signed_out(account: StaffAccount) -> StaffAccount:
    """End all sessions, those since the restored time too: the new epoch is later than any number they can have."""
    epoch = StaffAccount.epoch.set(max(clock.to_epoch(clock.now()), int(account.epoch) + 1))
    return accounts.apply(account, [epoch], Action.SESSIONS_ENDED, _AFTER_RESTORE, COMMAND_LINE, ends_sessions=False)


def _changes(username: str, since: datetime) -> list[AuditEntry]:
    """Return the account's changes since then that this module has not dealt with."""
    is_since = AuditEntry.ts_action_id >= clock.to_iso(since)
    found: list[AuditEntry] = []
    for entry in AuditEntry.query(staff_trail(username), is_since, consistent_read=True):
        if entry.action_type == Action.PASSWORD_LINK and _is_own(entry):
            # An earlier run issued this link for all changes until then.
            found = [each for each in found if each.action_type not in _SECRETS]
        elif entry.action_type in _CHANGES and not _is_own(entry):
            found.append(entry)
    return found


def _is_own(entry: AuditEntry) -> bool:
    return json.dumps(_AFTER_RESTORE).strip("{}") in (entry.action_payload_redacted or "")


def _made_safe(account: StaffAccount, changes: Sequence[AuditEntry]) -> RestoredAccount:
    moves = [_MOVES[each.action_type] for each in changes if each.action_type in _MOVES]
    if moves[-1:] == [True] and not account.disabled:
        try:
            services.disable(account, actor=COMMAND_LINE)
        except Invalid:
            return RestoredAccount(account.username, changes, still_enabled=True, link_code=_new_link(account, changes))
        return RestoredAccount(account.username, changes, is_disabled_again=True)
    return RestoredAccount(account.username, changes, link_code=_new_link(account, changes))


def _new_link(account: StaffAccount, changes: Sequence[AuditEntry]) -> str:
    """Replace the restored password by a new link, if any of the changes needs that; return its code."""
    events = _SECRETS.intersection(each.action_type for each in changes)
    if not events or account.disabled or not has_password(account):
        return ""
    link = password_links.make(account.username)
    actions = password_links.link_actions(link)
    if Action.SECOND_FACTOR_REMOVED in events:
        actions += second_factor.removal()
    elif events & {Action.RECOVERY_CODE_USED, Action.RECOVERY_CODES_MADE}:
        actions.append(StaffAccount.recovery_codes.remove())
    payload = {"expires_at": link.expires_at} | _AFTER_RESTORE
    accounts.apply(account, actions, Action.PASSWORD_LINK, payload, COMMAND_LINE)
    return link.code
