"""Reading and updating accounts: one conditional write of named attributes, together with its trail entry."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, ConsoleError, Invalid, NotFound
from console.permissions import ALL, Role
from console.staff.models import RoleIndex, StaffAccount
from console.store.calls import TransactionRefused
from console.store.presence import index_ready
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail, write_with_entry

logger = logging.getLogger(__name__)

USERNAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?", re.ASCII)
# How many administrators are read, and tried, to find another one.
ADMINS_READ, ADMINS_TRIED = 200, 5
CHANGED_MEANWHILE = "Somebody else changed this account in the meantime. Check it, then try again."


def normal_username(typed: str) -> str:
    """Return a typed username as stored; "" if it cannot be one."""
    name = typed.strip().lower()
    return name if USERNAME.fullmatch(name) else ""


def find(typed: str) -> StaffAccount | None:
    """Read the account of that username, strongly consistent; None if there is none."""
    name = normal_username(typed)
    return StaffAccount.find(name) if name else None


def get(username: str) -> StaffAccount:
    """Read the account of that username, strongly consistent. Raises `NotFound`, in words."""
    account = find(username)
    if account is None:
        raise NotFound(f"There is no account named {username!r}.")
    return account


def apply(
    account: StaffAccount,
    actions: Sequence[UpdateAction],
    action: Action,
    payload: Mapping[str, Any],
    actor: Actor,
    *,
    ends_sessions: bool = True,
    keeps_full_admin: bool = True,
    also: Callable[[TransactWrite], None] | None = None,
) -> StaffAccount:
    """Update an account in one transaction with its trail entry, and return it as stored now.

    The update is conditional on the account as it was read; if reading it again fails, that is returned.
    `ends_sessions` increments the epoch. `keeps_full_admin=False`: the change may remove an administrator, so another
    must remain. `also` adds writes to the transaction. Raises `Conflict` if someone else changed the account since,
    `Invalid` if no one would be left to manage the accounts.
    """
    at = clock.now()
    changes = [*actions, StaffAccount.updated_at.set(clock.to_iso(at))]
    if ends_sessions:
        changes.append(StaffAccount.epoch.add(1))
    as_seen = (StaffAccount.epoch == account.epoch) & (StaffAccount.updated_at == account.updated_at)
    condition = StaffAccount.username.exists() & as_seen
    entry = build(TrailEntry(staff_trail(account.username), action, actor, payload=dict(payload)), at)

    def write(other_admin: str = "") -> None:
        def add(writes: TransactWrite) -> None:
            if other_admin:
                writes.condition_check(StaffAccount, other_admin, condition=_is_full_admin_condition())
            writes.update(account, actions=changes, condition=condition)
            if also is not None:
                also(writes)

        write_with_entry(entry, add)

    try:
        if keeps_full_admin or not is_full_admin(account):
            write()
        else:
            _write_keeping_an_admin(account, write)
    except TransactionRefused as error:
        raise Conflict(CHANGED_MEANWHILE) from error
    return _as_stored(account)


def _as_stored(account: StaffAccount) -> StaffAccount:
    """Read the account after a change. If that fails, return it as it was read before: the change is stored anyway."""
    try:
        return get(account.username)
    except ConsoleError as error:
        logger.warning("A changed account could not be read again: %s", type(error).__name__)
        return account


def is_full_admin(account: StaffAccount) -> bool:
    """Return whether the account can manage every other: an enabled administrator with scope all."""
    return account.role == Role.ADMIN.value and not account.disabled and ALL in (account.scope or [])


def _is_full_admin_condition() -> Any:
    return (
        (StaffAccount.role == Role.ADMIN.value)
        & (StaffAccount.disabled == False)  # noqa: E712 a condition expression
        & StaffAccount.scope.contains(ALL)
    )


def _write_keeping_an_admin(account: StaffAccount, write: Callable[[str], None]) -> None:
    """Write the change, in one transaction with a check that another administrator still is one.

    Two administrators who remove each other at the same moment cannot both succeed: each checks what the other writes.
    """
    for other in _other_admins(account):
        try:
            write(other)
        except TransactionRefused as error:
            # The condition check's reason comes first. The index lags: this administrator may be gone, so try the next.
            if error.codes[:1] != ("ConditionalCheckFailed",):
                raise
            continue
        return
    raise Invalid(
        "This is the last administrator who can manage every account. Create another one with scope all first."
    )


def _other_admins(account: StaffAccount) -> Iterator[str]:
    if not index_ready("STAFF", RoleIndex.Meta.index_name):
        raise Invalid(
            "The console cannot tell whether another administrator is left, because the accounts' index is "
            "missing. Create it first: manage.py tables create."
        )
    tried = 0
    for other in StaffAccount.by_role.query(Role.ADMIN.value, limit=ADMINS_READ):
        if other.username != account.username and is_full_admin(other):
            yield str(other.username)
            tried += 1
            if tried == ADMINS_TRIED:
                return
