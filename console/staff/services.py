"""Creating, changing and disabling accounts of staff. Each change and its trail entry are one transaction.

Changes of password, role and scope, and disabling, increment the account's epoch, which ends all its sessions.

An `account` parameter is a username, or the account as somebody read it: then the change happens only if it has not
changed since (`Conflict` otherwise).
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, ConsoleError, Invalid, StoreUnavailable
from console.permissions import ALL, OPENID_CONNECT, PASSWORD, Role, Scope, has_password
from console.staff import password_links, passwords, second_factor, sessions
from console.staff.accounts import apply, get
from console.staff.checks import check_time_zone, checked_display_name, checked_scope, checked_username
from console.staff.models import StaffAccount
from console.store.calls import TransactionRefused
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail, write_with_entry

logger = logging.getLogger(__name__)

# Called after an account was disabled, with its username and the actor in whose name the apps release what the
# person holds.
on_disabled: list[Callable[[str, Actor], None]] = []


class NotAllReleased(StoreUnavailable):
    """`account` is disabled, but not everything it holds could be released: retry."""

    def __init__(self, account: StaffAccount) -> None:
        self.account = account
        super().__init__(
            "The account is disabled, but some of what it holds could not be returned to the queue. Disable it again "
            "to retry."
        )


def list_accounts() -> list[StaffAccount]:
    """Return every account, sorted by username, with a Scan of the whole table: for commands, never in a request."""
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
    """Create an account with a password. Raises `Invalid` for invalid values, `Conflict` if the username is taken."""
    account = _new(username, role, scope, display_name, time_zone)
    passwords.check_rules(password, account.username, account.display_name)
    account.password_hash = passwords.hash_password(password)
    _save_new(account, actor)
    return account


def invite(
    username: str,
    *,
    role: Role,
    scope: Iterable[str] = (),
    display_name: str = "",
    time_zone: str = "UTC",
    actor: Actor,
) -> tuple[StaffAccount, str]:
    """Create an account whose owner sets the password; return it and the code of the link, which is shown only once.

    Raises as `create`.
    """
    account = _new(username, role, scope, display_name, time_zone)
    link = password_links.make(account.username)
    account.password_link_hash, account.password_link_expires_at = link.digest, link.expires_at
    _save_new(account, actor)
    return account, link.code


def create_for_company_sign_in(
    username: str,
    *,
    role: Role,
    scope: Iterable[str] = (),
    display_name: str = "",
    time_zone: str = "UTC",
    subject: str = "",
    actor: Actor,
    also: Callable[[TransactWrite], None] | None = None,
) -> StaffAccount:
    """Create an account that signs in by OpenID Connect only; `subject` links it to one person of the provider.

    Without `subject`, the first sign-in under that username does. `also` adds writes to the transaction. Raises as
    `create`.
    """
    account = _new(username, role, scope, display_name, time_zone)
    account.signs_in_with, account.oidc_subject = OPENID_CONNECT, subject or None
    _save_new(account, actor, also)
    return account


def _new(username: str, role: Role, scope: Iterable[str], display_name: str, time_zone: str) -> StaffAccount:
    """Return a new account that nobody can sign in to yet, not stored. Raises `Invalid`."""
    name = checked_username(username)
    check_time_zone(time_zone)
    at = clock.to_iso(clock.now())
    return StaffAccount(
        username=name,
        password_hash=passwords.unusable(),
        display_name=checked_display_name(display_name) or name,
        role=role.value,
        scope=checked_scope(scope),
        time_zone=time_zone,
        signs_in_with=PASSWORD,
        created_at=at,
        updated_at=at,
    )


def _save_new(account: StaffAccount, actor: Actor, also: Callable[[TransactWrite], None] | None = None) -> None:
    payload = {"role": account.role, "scope": account.scope, "time_zone": account.time_zone}
    if account.signs_in_with != PASSWORD:
        payload["signs_in_with"] = account.signs_in_with
    entry = build(TrailEntry(staff_trail(account.username), Action.STAFF_CREATED, actor, payload=payload), clock.now())

    def add(writes: TransactWrite) -> None:
        writes.save(account, condition=StaffAccount.username.does_not_exist())
        if also is not None:
            also(writes)

    try:
        write_with_entry(entry, add)
    except TransactionRefused as error:
        raise Conflict(f"There is already an account named {account.username!r}.") from error


def change(
    account: str | StaffAccount,
    *,
    role: Role | None = None,
    scope: Iterable[str] | None = None,
    display_name: str | None = None,
    time_zone: str | None = None,
    actor: Actor,
) -> StaffAccount:
    """Change the given attributes in one transaction with one entry, which has old and new values except of the name.

    If role or scope changed, sessions end and a link to set a password stops working: a link made for the old access
    must not open the new one. Nothing is written if nothing changes. Raises `NotFound`, `Invalid`, `Conflict`.
    """
    account = _current(account)
    stored = {
        "role": account.role,
        "scope": sorted(account.scope or []),
        "display_name": account.display_name,
        "time_zone": account.time_zone,
    }
    wanted: dict[str, Any] = {
        "role": None if role is None else role.value,
        "scope": None if scope is None else checked_scope(scope, kept=account.scope or ()),
        "display_name": None if display_name is None else checked_display_name(display_name) or account.username,
        "time_zone": time_zone,
    }
    changed = {name: value for name, value in wanted.items() if value is not None and value != stored[name]}
    if not changed:
        return account
    if "time_zone" in changed:
        check_time_zone(changed["time_zone"])
    recorded = [name for name in changed if name != "display_name"]
    actions: list[UpdateAction] = [getattr(StaffAccount, name).set(value) for name, value in changed.items()]
    of_access = not changed.keys().isdisjoint({"role", "scope"})
    ends_link = of_access and bool(account.password_link_hash)
    if ends_link:
        actions += password_links.link_removal_actions()
    payload: dict[str, Any] = {"changed": ", ".join([*changed, *(["password link ended"] if ends_link else [])])}
    if recorded:
        payload |= {"from": {name: stored[name] for name in recorded}, "to": {name: changed[name] for name in recorded}}
    after = stored | changed
    return apply(
        account,
        actions,
        Action.STAFF_CHANGED,
        payload,
        actor,
        ends_sessions=of_access,
        keeps_full_admin=after["role"] == Role.ADMIN.value and ALL in after["scope"],
    )


def confirm_scope(account: str | StaffAccount, meant: Mapping[str, Iterable[str]], *, actor: Actor) -> StaffAccount:
    """Set whether ids of old entries mean company, tenant, both or neither (`Scope.confirmed`). Raises as `change`."""
    account = _current(account)
    return change(account, scope=Scope.of(account.scope or []).confirmed(meant).stored(), actor=actor)


@sensitive_variables()
def reset_password(account: str | StaffAccount, password: str, *, actor: Actor) -> StaffAccount:
    """Set a new password; all sessions and password links end. Raises `NotFound`, `Invalid`, `Conflict`."""
    account = _current(account)
    _check_has_password(account)
    passwords.check_rules(password, account.username, account.display_name or "")
    return apply(account, password_links.new_password(password), Action.PASSWORD_RESET, {}, actor)


def issue_password_link(account: str | StaffAccount, *, actor: Actor) -> tuple[StaffAccount, str]:
    """Void the password; return the account and the code of a link to set another one, which is shown only once.

    All sessions end, and an earlier link stops working. Raises `NotFound`, `Invalid`, `Conflict`.
    """
    account = _current(account)
    _check_has_password(account)
    link = password_links.make(account.username)
    payload = {"expires_at": link.expires_at}
    return apply(account, password_links.link_actions(link), Action.PASSWORD_LINK, payload, actor), link.code


def remove_second_factor(account: str | StaffAccount, *, actor: Actor) -> StaffAccount:
    """Remove the second factor, such as after a lost phone; all sessions end.

    Raises `NotFound`, `Conflict`.
    """
    account = _current(account)
    if not second_factor.is_on(account):
        return account
    return apply(account, second_factor.removal(), Action.SECOND_FACTOR_REMOVED, {}, actor)


def disable(account: str | StaffAccount, *, actor: Actor) -> StaffAccount:
    """Disable an account: its sessions end and what it holds is released. Repeating it only releases again.

    Raises `NotFound`, `Conflict`, and `NotAllReleased`.
    """
    account = _current(account)
    if not account.disabled:
        actions = [
            StaffAccount.disabled.set(True),
            StaffAccount.disabled_at.set(clock.to_iso(clock.now())),
        ]
        account = apply(account, actions, Action.STAFF_DISABLED, {"disabled": True}, actor, keeps_full_admin=False)
    _release(account, actor)
    return account


def enable(account: str | StaffAccount, *, actor: Actor) -> StaffAccount:
    """Enable a disabled account, with the password it had. Raises `NotFound`, `Conflict`."""
    account = _current(account)
    if not account.disabled:
        return account
    actions = [StaffAccount.disabled.set(False), StaffAccount.disabled_at.remove()]
    return apply(account, actions, Action.STAFF_ENABLED, {}, actor)


def end_sessions(account: str | StaffAccount, *, actor: Actor) -> None:
    """Sign an account out everywhere. Raises `NotFound`."""
    account = _current(account)
    entry = TrailEntry(staff_trail(account.username), Action.SESSIONS_ENDED, actor)
    sessions.end_all(account.username, build(entry, clock.now()))


def end_session(account: str | StaffAccount, session_id: str, *, actor: Actor) -> None:
    """Sign an account out of one browser. Raises `NotFound`, in words, if that session has ended."""
    account = _current(account)
    entry = TrailEntry(staff_trail(account.username), Action.SESSION_ENDED, actor)
    sessions.end_of(account.username, session_id, build(entry, clock.now()))


def _current(account: str | StaffAccount) -> StaffAccount:
    return get(account) if isinstance(account, str) else account


def _check_has_password(account: StaffAccount) -> None:
    if not has_password(account):
        raise Invalid("This account uses company sign-in and has no password here.")


def _release(account: StaffAccount, actor: Actor) -> None:
    failed = False
    for release in on_disabled:
        try:
            release(account.username, actor)
        except ConsoleError as error:
            failed = True
            logger.error("Releasing what a disabled account holds failed: %s", type(error).__name__)
    if failed:
        raise NotAllReleased(account)
