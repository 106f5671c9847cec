"""Disabling accounts again from the trail, after their table was restored to an earlier time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from console import clock
from console.staff import services
from console.trail.actions import Action
from console.trail.models import AuditEntry
from console.trail.recording import COMMAND_LINE, staff_trail

_MOVES = {Action.STAFF_DISABLED.value: True, Action.STAFF_ENABLED.value: False}
# Changes of what an account may do.
_CHANGES = frozenset({Action.STAFF_CHANGED.value, *_MOVES})


@dataclass(frozen=True, slots=True)
class RestoredAccount:
    """An account changed after the time it was restored to, and whether it was disabled again."""

    username: str
    changes: Sequence[AuditEntry]
    is_disabled_again: bool


def disable_again(since: datetime) -> Iterator[RestoredAccount]:
    """Disable accounts again that were disabled since then, sign out all that were changed, and yield these.

    The restore reset the epochs that end sessions, so ended ones may be valid again. Raises the store's errors.
    """
    is_since = AuditEntry.ts_action_id >= clock.to_iso(since)
    for account in services.list_accounts():
        entries = AuditEntry.query(staff_trail(account.username), is_since, consistent_read=True)
        changes = [each for each in entries if each.action_type in _CHANGES]
        if not changes:
            continue
        moves = [_MOVES[each.action_type] for each in changes if each.action_type in _MOVES]
        is_missing = moves[-1:] == [True] and not account.disabled
        if is_missing:
            services.disable(account, actor=COMMAND_LINE)
        services.end_sessions(account.username, actor=COMMAND_LINE)
        yield RestoredAccount(account.username, changes, is_missing)
