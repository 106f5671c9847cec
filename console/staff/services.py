"""Accounts of members of staff: making, changing and disabling them. Each change and its trail entry are one write.

Changes of password, role and scope, and disabling, bump the account's epoch, which ends all its sessions.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from zoneinfo import available_timezones

from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.audit.actions import Action, staff_trail
from console.audit.recording import Actor, Entry, build, write_with_entry
from console.dynamodb.translation import TransactionRefused
from console.errors import Conflict, ConsoleError, Invalid, NotFound, StoreUnavailable
from console.staff import passwords, sessions
from console.staff.models import StaffAccount
from console.staff.permissions import Role, Scope

logger = logging.getLogger(__name__)

USERNAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?", re.ASCII)
MAX_SCOPE = 500
# Called with the username after an account was disabled: the apps release what the person holds.
on_disabled: list[Callable[[str], None]] = []


def normal_username(typed: str) -> str:
    """A username as stored, from what was typed; empty if it cannot be one."""
    name = typed.strip().lower()
    return name if USERNAME.fullmatch(name) else ""


def find(typed: str) -> StaffAccount | None:
    """The account of that username, strongly consistent, or None."""
    name = normal_username(typed)
    if not name:
        return None
    try:
        return StaffAccount.get(name, consistent_read=True)
    except NotFound:
        return None


def get(username: str) -> StaffAccount:
    """The account of that username. Raises `NotFound`, in words."""
    account = find(username)
    if account is None:
        raise NotFound(f"There is no account named {username!r}.")
    return account


def list_accounts() -> list[StaffAccount]:
    """Every account by username, read in a walk over the whole table: for commands, never in a request."""
    return sorted(StaffAccount.scan(consistent_read=True), key=lambda account: str(account.username))


@sensitive_variables()
def create(
    username: str,
    password: str,
    *,
    role: Role,
    scope: Iterable[str] = (),
    display_name: str = "",
    time_zone: str = "UTC",
    actor: Actor,
) -> StaffAccount:
    """Make an account. Raises `Invalid` for what cannot be and `Conflict` if the username is taken."""
    name = normal_username(username)
    if not name:
        raise Invalid(
            "A username has 1 to 64 lower-case letters, digits, dots, dashes or underscores; it is no email address."
        )
    stored_scope = checked_scope(scope)
    _check_time_zone(time_zone)
    passwords.check_rules(password, name)
    at = clock.now()
    account = StaffAccount(
        username=name,
        password_hash=passwords.hash_password(password),
        display_name=_checked_display_name(display_name) or name,
        role=role.value,
        scope=stored_scope,
        time_zone=time_zone,
        created_at=clock.to_iso(at),
        updated_at=clock.to_iso(at),
    )
    entry = Entry(
        staff_trail(name),
        Action.STAFF_CREATED,
        actor,
        payload={"role": role.value, "scope": stored_scope, "time_zone": time_zone},
    )
    try:
        is_new = StaffAccount.username.does_not_exist()
        write_with_entry(build(entry, at), lambda writes: writes.save(account, condition=is_new))
    except TransactionRefused as error:
        raise Conflict(f"There is already an account named {name!r}.") from error
    return account


def change_role(username: str, role: Role, *, actor: Actor) -> StaffAccount:
    """Give an account another role; its sessions end. Raises `NotFound`, `Conflict`."""
    account = get(username)
    if account.role == role.value:
        return account
    payload = {"changed": "role", "from": account.role, "to": role.value}
    return _change(account, [StaffAccount.role.set(role.value)], Action.STAFF_CHANGED, payload, actor)


def change_scope(username: str, scope: Iterable[str], *, actor: Actor) -> StaffAccount:
    """Give an account another scope; its sessions end. Raises `NotFound`, `Invalid`, `Conflict`."""
    account = get(username)
    wanted = checked_scope(scope)
    if sorted(account.scope or []) == wanted:
        return account
    payload = {"changed": "scope", "from": account.scope or [], "to": wanted}
    return _change(account, [StaffAccount.scope.set(wanted)], Action.STAFF_CHANGED, payload, actor)


def change_time_zone(username: str, time_zone: str, *, actor: Actor) -> StaffAccount:
    """Set the zone in which the person sees times; sessions go on. Raises `NotFound`, `Invalid`, `Conflict`."""
    _check_time_zone(time_zone)
    account = get(username)
    if account.time_zone == time_zone:
        return account
    payload = {"changed": "time_zone", "from": account.time_zone, "to": time_zone}
    actions = [StaffAccount.time_zone.set(time_zone)]
    return _change(account, actions, Action.STAFF_CHANGED, payload, actor, ends_sessions=False)


@sensitive_variables()
def reset_password(username: str, password: str, *, actor: Actor) -> StaffAccount:
    """Set a new password; all sessions end. Raises `NotFound`, `Invalid`, `Conflict`."""
    account = get(username)
    passwords.check_rules(password, account.username)
    actions = [StaffAccount.password_hash.set(passwords.hash_password(password))]
    return _change(account, actions, Action.PASSWORD_RESET, {}, actor)


def disable(username: str, *, actor: Actor) -> StaffAccount:
    """Disable an account: its sessions end, what the person holds is released. Again is harmless and releases anew.

    Raises `NotFound`, `Conflict`, and `StoreUnavailable` if the account is disabled but not everything was released.
    """
    account = get(username)
    if not account.disabled:
        actions = [
            StaffAccount.disabled.set(True),
            StaffAccount.disabled_at.set(clock.to_iso(clock.now())),
        ]
        account = _change(account, actions, Action.STAFF_DISABLED, {"disabled": True}, actor)
    _release(account.username)
    return account


def enable(username: str, *, actor: Actor) -> StaffAccount:
    """Let a disabled account sign in again, with the password it had. Raises `NotFound`, `Conflict`."""
    account = get(username)
    if not account.disabled:
        return account
    actions = [StaffAccount.disabled.set(False), StaffAccount.disabled_at.remove()]
    payload = {"changed": "disabled", "from": True, "to": False}
    return _change(account, actions, Action.STAFF_CHANGED, payload, actor)


def end_sessions(username: str, *, actor: Actor) -> None:
    """Sign an account out everywhere. Raises `NotFound`."""
    account = get(username)
    payload = {"changed": "sessions", "to": "ended"}
    entry = Entry(staff_trail(account.username), Action.STAFF_CHANGED, actor, payload=payload)
    sessions.end_all(account.username, build(entry, clock.now()))


def checked_scope(ids: Iterable[str]) -> list[str]:
    """Company and tenant ids as stored: sorted, or `*` for all (also said as "all"). Raises `Invalid`."""
    cleaned = [each.strip() for each in ids]
    if any(each.lower() == "all" for each in cleaned):
        cleaned.append("*")
    for each in cleaned:
        if "#" in each or len(each) > 200 or not each.isprintable():
            raise Invalid(f"{each[:50]!r} is not a company or tenant id.")
    stored = Scope.of(cleaned).stored()
    if len(stored) > MAX_SCOPE:
        raise Invalid(f"A scope has at most {MAX_SCOPE} ids; give scope all instead.")
    return stored


def _change(
    account: StaffAccount,
    actions: Sequence[UpdateAction],
    action: Action,
    payload: dict[str, Any],
    actor: Actor,
    *,
    ends_sessions: bool = True,
) -> StaffAccount:
    """One conditional update of what was read, together with its trail entry; the account as it is now."""
    at = clock.now()
    changes = [*actions, StaffAccount.updated_at.set(clock.to_iso(at))]
    if ends_sessions:
        changes.append(StaffAccount.epoch.add(1))
    as_seen = (StaffAccount.epoch == account.epoch) & (StaffAccount.updated_at == account.updated_at)
    try:
        condition = StaffAccount.username.exists() & as_seen
        entry = build(Entry(staff_trail(account.username), action, actor, payload=payload), at)
        write_with_entry(entry, lambda writes: writes.update(account, actions=changes, condition=condition))
    except TransactionRefused as error:
        raise Conflict("Someone else changed this account meanwhile. Look again, then repeat.") from error
    return get(account.username)


def _release(username: str) -> None:
    failed = False
    for release in on_disabled:
        try:
            release(username)
        except ConsoleError as error:
            failed = True
            logger.error("Releasing what a disabled account holds failed: %s", type(error).__name__)
    if failed:
        raise StoreUnavailable(
            "The account is disabled, but not everything it holds could be released. Disable it again to retry."
        )


def _check_time_zone(name: str) -> None:
    # A machine without a time zone database knows none, and UTC needs none.
    if name != "UTC" and name not in available_timezones():
        raise Invalid(f"{name[:50]!r} is not a time zone. Use a name such as Europe/London or UTC.")


def _checked_display_name(name: str) -> str:
    cleaned = " ".join(name.split())
    if len(cleaned) > 80 or not cleaned.isprintable():
        raise Invalid("A display name has at most 80 printable characters.")
    return cleaned
