"""A person's own account, for its page."""

from dataclasses import dataclass, replace
from datetime import datetime

from console import clock
from console.permissions import Staff, has_password
from console.staff import accounts, known_companies, second_factor, session_list
from console.staff.account_record import scope_words

# A scope may contain hundreds of ids: only this many are listed.
SCOPE_SHOWN = 20


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """A person's own account.

    `scope`: companies and tenants by name or id; empty for all and for none. `needs_second_factor`: the role requires
    one. `flaw`: why the second factor no longer works, in words.
    """

    scope: tuple[str, ...]
    has_password: bool
    has_second_factor: bool
    needs_second_factor: bool
    second_factor_at: datetime | None
    codes_left: int
    flaw: str
    sessions: session_list.SessionList


def load(staff: Staff) -> OwnAccount:
    """Load the person's account. Raises the store's errors; sessions that cannot be listed become a notice."""
    account = accounts.get(staff.username)
    return OwnAccount(
        scope=_describe_scope(staff),
        has_password=has_password(account),
        has_second_factor=second_factor.is_on(account),
        needs_second_factor=second_factor.is_required(staff.role.value),
        second_factor_at=clock.parse_instant(account.second_factor_at),
        codes_left=second_factor.codes_left(account),
        flaw=second_factor.flaw(account),
        sessions=session_list.load(account, staff.session_id),
    )


def _describe_scope(staff: Staff) -> tuple[str, ...]:
    if staff.scope.everything or staff.scope.is_empty:
        return ()
    # Few roles may read tenants' names, so do not mark ids without a name as unknown.
    known = replace(known_companies.known_to(staff), failed=True)
    return tuple(scope_words(staff.scope, known, SCOPE_SHOWN))
