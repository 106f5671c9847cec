"""Changes that people make to their own account: password, second factor, time zone, sessions.

A change to how a person signs in, and ending a session elsewhere, requires the password, and guesses are counted as at
sign-in: who finds a browser open, or copies its cookie, locks nobody out. A change ends every session;
this browser gets a new one within the old one's limits, so that a copied cookie is worthless.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction
from pynamodb.transactions import TransactWrite

from console import clock, refs
from console.errors import BadReference, Conflict, Invalid, NotFound
from console.permissions import Staff, has_password
from console.staff import (
    accounts,
    authentication,
    password_links,
    passwords,
    second_factor,
    services,
    session_list,
    sessions,
    throttling,
)
from console.staff.authentication import Visit
from console.staff.models import StaffAccount, StaffSession
from console.store.calls import parallel, run_alongside
from console.trail.actions import Action, Result
from console.trail.recording import Actor, TrailEntry, build, record_where_possible, staff_trail

# How long the QR code of an unfinished set-up is valid.
SET_UP_LASTS = timedelta(minutes=15)
SCAN_AGAIN = (
    "The key has expired, so this page shows a new one. Remove the entry from your app, scan again, and enter "
    "the code your app shows."
)
WRONG_CODE = "That is not the code for this key. Check that your phone's clock is right, and enter the next code."
SIGNED_OUT = "You were signed out in the meantime. Nothing was changed."


class NotApplicable(Conflict):
    """The page does not apply to the account, or no longer; the words say why."""


class WrongPassword(Invalid):
    """The current password is wrong."""

    field = "current_password"


class WrongCode(Invalid):
    """The app's code is wrong."""

    field = "code"


class SetUpExpired(Invalid):
    """The key was shown too long ago, or to another account: the set-up starts again with another key."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """A second factor that is not set up yet. `pending` is the key, sealed, for the account and a limited time."""

    key: str = field(repr=False)
    qr_code: SafeString = field(repr=False)
    pending: str = field(repr=False)

    @property
    def groups(self) -> str:
        """The key for typing, in groups of four."""
        return " ".join(self.key[start : start + 4] for start in range(0, len(self.key), 4))


@dataclass(frozen=True, slots=True)
class Ended:
    """An ended session: its browser's label, or "" for this browser's own, whose `method` says how it began."""

    browser: str = ""
    method: str = ""


def check_applicable(staff: Staff, *, second_factor_on: bool | None = None) -> None:
    """Raise `NotApplicable` for an account without a password here, or without (with) a second factor, as required."""
    _check_applicable(accounts.get(staff.username), second_factor_on)


def check_removable(staff: Staff) -> None:
    """Raise `NotApplicable` for an account without a second factor, and for a role that needs one."""
    check_applicable(staff, second_factor_on=True)
    _check_not_required(staff)


def _check_not_required(staff: Staff) -> None:
    if second_factor.is_required(staff.role.value):
        raise NotApplicable(
            "Your role needs a second factor, so you cannot remove yours. To use another phone, ask an "
            "administrator to remove it, then set up the new one when you next sign in."
        )


@sensitive_variables()
def change_password(staff: Staff, current: str, new: str, *, visit: Visit) -> str:
    """Set another password and return this browser's new token. All other sessions and password links end.

    Raises `NotApplicable`, `WrongPassword`, `Invalid` for the new one, `TooManyAttempts`, `Conflict`.
    """
    account, session = _own_applicable(staff)
    _check_password(account, current, visit, Action.PASSWORD_CHANGED)
    passwords.check_rules(new, account.username, account.display_name or "")
    if passwords.verify(new, account.password_hash)[0]:
        raise Invalid("That is your current password. Choose another one.")
    return _apply_here(account, session, password_links.new_password(new), Action.PASSWORD_CHANGED)


@sensitive_variables()
def begin_set_up(staff: Staff, pending: str = "") -> SetUp:
    """Return a new second factor to show, or that of `pending` again. Nothing is stored.

    Raises `SetUpExpired`.
    """
    if pending:
        secret = _secret_of(staff.username, pending)
    else:
        secret = second_factor.new_secret()
        began = clock.to_epoch(clock.now())
        pending = refs.seal_data(_kind(staff.username), {"secret": secret, "began": began})
    uri = second_factor.provisioning_uri(staff.username, secret)
    return SetUp(secret, second_factor.qr_code(uri), pending)


@sensitive_variables()
def finish_set_up(staff: Staff, pending: str, code: str, current: str, *, visit: Visit) -> tuple[str, tuple[str, ...]]:
    """Switch the second factor on; return this browser's new token and the recovery codes, which are shown only once.

    Raises `NotApplicable`, `SetUpExpired`, `WrongPassword`, `WrongCode`, `TooManyAttempts`, `Conflict`.
    """
    account, session = _own_applicable(staff, second_factor_on=False)
    secret = _secret_of(account.username, pending)
    _check_password(account, current, visit, Action.SECOND_FACTOR_ADDED)
    now = clock.now()
    step = second_factor.matching_step(secret, code, now)
    if step is None:
        raise WrongCode(WRONG_CODE)
    codes = second_factor.new_recovery_codes()
    actions: list[UpdateAction] = [
        StaffAccount.totp_secret.set(second_factor.sealed_secret(account.username, secret)),
        StaffAccount.totp_last_step.set(step),
        StaffAccount.recovery_codes.set(second_factor.hashed(account.username, codes)),
        StaffAccount.second_factor_at.set(clock.to_iso(now)),
    ]
    return _apply_here(account, session, actions, Action.SECOND_FACTOR_ADDED), codes


@sensitive_variables()
def renew_recovery_codes(staff: Staff, current: str, *, visit: Visit) -> tuple[str, ...]:
    """Replace the recovery codes and return the new ones, which are shown only once.

    Raises `NotApplicable`, `WrongPassword`, `TooManyAttempts`, `Conflict`.
    """
    account, _session = _own_applicable(staff, second_factor_on=True)
    _check_password(account, current, visit, Action.RECOVERY_CODES_MADE)
    codes = second_factor.new_recovery_codes()
    actions: list[UpdateAction] = [StaffAccount.recovery_codes.set(second_factor.hashed(account.username, codes))]
    accounts.apply(account, actions, Action.RECOVERY_CODES_MADE, {}, Actor.of(staff), ends_sessions=False)
    return codes


@sensitive_variables()
def remove_second_factor(staff: Staff, current: str, *, visit: Visit) -> str:
    """Remove the second factor and return this browser's new token.

    Raises `NotApplicable`, `WrongPassword`, `TooManyAttempts`, `Conflict`.
    """
    account, session = _own_applicable(staff, second_factor_on=True)
    _check_not_required(staff)
    _check_password(account, current, visit, Action.SECOND_FACTOR_REMOVED)
    return _apply_here(account, session, second_factor.removal(), Action.SECOND_FACTOR_REMOVED)


def change_time_zone(staff: Staff, time_zone: str) -> None:
    """Set the person's time zone. Raises `Invalid`, `Conflict`."""
    services.change(staff.username, time_zone=time_zone, actor=Actor.of(staff))


def needs_password_to_end(staff: Staff, reference: str) -> bool:
    """Return whether ending that session (`session_list.ALL`: all others) needs the password.

    Signing out in this browser does not, and an account of the company's sign-in has none. Raises `NotFound` for an
    invalid reference or another account's.
    """
    if reference != session_list.ALL and session_list.session_id_of(staff.username, reference) == staff.session_id:
        return False
    return staff.has_password


def _account_and_session(username: str, session_id: str) -> tuple[StaffAccount, StaffSession]:
    read: list[Any] = parallel(
        partial(accounts.get, username), partial(StaffSession.get, session_id, consistent_read=True)
    )
    return read[0], read[1]


@sensitive_variables()
def end_session(staff: Staff, reference: str, current: str, *, visit: Visit) -> Ended:
    """End one of the person's sessions; ending this browser's signs them out.

    Raises `NotFound` for an invalid reference or another account's, `NotApplicable` for a session that has ended,
    `WrongPassword`, `TooManyAttempts`.
    """
    session_id = session_list.session_id_of(staff.username, reference)
    if session_id == staff.session_id:
        return Ended(method=authentication.sign_out(staff))
    try:
        account, session = _account_and_session(staff.username, session_id)
        _check_password_if_any(account, current, visit, Action.SESSION_ENDED)
        browser = session.user_agent or session_list.UNKNOWN_BROWSER
        entry = TrailEntry(
            staff_trail(staff.username), Action.SESSION_ENDED, Actor.of(staff), payload={"browser": browser}
        )
        sessions.end_of(staff.username, session_id, build(entry, clock.now()))
    except NotFound as error:
        raise NotApplicable("That session has already ended.") from error
    return Ended(browser)


@sensitive_variables()
def end_other_sessions(staff: Staff, current: str, *, visit: Visit) -> str:
    """End every other session and return this browser's new token.

    Raises `WrongPassword`, `TooManyAttempts`, `Conflict`.
    """
    account, session = _own(staff)
    _check_password_if_any(account, current, visit, Action.SESSIONS_ENDED)
    return _apply_here(account, session, [], Action.SESSIONS_ENDED)


def _own(staff: Staff) -> tuple[StaffAccount, StaffSession]:
    """Read account and session of the request again. Raises `Conflict` if the session is no longer valid.

    Both were checked when the request came in. But what follows gives this browser a session of the account's next
    epoch, which must not happen if it was signed out in between.
    """
    with run_alongside(StaffSession.get, staff.session_id, consistent_read=True) as reading:
        account = accounts.get(staff.username)
    try:
        session = reading.result()
    except NotFound as error:
        raise Conflict(SIGNED_OUT) from error
    if not sessions.is_valid(account, session, clock.now()):
        raise Conflict(SIGNED_OUT)
    return account, session


def _own_applicable(staff: Staff, *, second_factor_on: bool | None = None) -> tuple[StaffAccount, StaffSession]:
    account, session = _own(staff)
    _check_applicable(account, second_factor_on)
    return account, session


def _check_applicable(account: StaffAccount, second_factor_on: bool | None) -> None:
    if not has_password(account):
        raise NotApplicable("Your account has no password and no second factor here: you sign in with your company's.")
    if second_factor_on is not None and second_factor.is_on(account) != second_factor_on:
        raise NotApplicable(
            "Your account has no second factor." if second_factor_on else "Your account already has a second factor."
        )


@sensitive_variables()
def _check_password(account: StaffAccount, current: str, visit: Visit, wanted: Action) -> None:
    """Raise `WrongPassword`, after recording it in the trail, or `TooManyAttempts`."""
    passwords.refuse_if_busy()
    throttling.count(account.username, visit.address, browser=visit.known_as)
    correct, _outdated = passwords.verify(current, account.password_hash)
    if not correct:
        actor = Actor.of(Staff.of(account))
        result = f"{Result.FAILED}: wrong password"
        record_where_possible(TrailEntry(staff_trail(account.username), wanted, actor, result=result))
        raise WrongPassword("That is not your current password.")
    throttling.forgive(account.username, visit.address, browser=visit.known_as)


@sensitive_variables()
def _check_password_if_any(account: StaffAccount, current: str, visit: Visit, wanted: Action) -> None:
    if has_password(account):
        _check_password(account, current, visit, wanted)


def _apply_here(account: StaffAccount, session: StaffSession, actions: Sequence[UpdateAction], action: Action) -> str:
    """Apply the change, end all sessions and start this browser's new one, in one transaction; return its token."""
    token, fresh = sessions.prepare(
        account.username,
        int(account.epoch) + 1,
        user_agent=session.user_agent or "",
        address=session.address or "",
        method=session.method or sessions.PASSWORD,
    )
    # Renewing a session must not extend it.
    fresh.created_at, fresh.expires_at = session.created_at, session.expires_at

    def swap(writes: TransactWrite) -> None:
        writes.delete(session, condition=StaffSession.session_id.exists())
        writes.save(fresh)

    accounts.apply(account, actions, action, {}, Actor.of(Staff.of(account)), also=swap)
    return token


@sensitive_variables()
def _secret_of(username: str, pending: str) -> str:
    try:
        data = refs.unseal_data(_kind(username), pending)
        began, secret = data["began"], str(data["secret"])
    except (BadReference, TypeError, KeyError) as error:
        raise SetUpExpired(SCAN_AGAIN) from error
    if clock.is_expired(began + SET_UP_LASTS.total_seconds(), clock.now()):
        raise SetUpExpired(SCAN_AGAIN)
    return secret


def _kind(username: str) -> str:
    return f"second-factor-set-up {username}"
