"""Signing in and out. Unknown names, wrong passwords and disabled accounts look the same and take the same time.

Each attempt is counted before any secret is checked (`console.staff.throttling`). An account with a second factor is
asked for it after the password; before that, there is no session and no attempt is forgiven.
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta

from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction

from console import clock, instrumentation, refs
from console.errors import BadReference, ConsoleError, Invalid, NotFound, TableMissing
from console.permissions import PASSWORD, Staff
from console.refs import as_letters
from console.staff import oidc, password_links, passwords, second_factor, sessions, throttling
from console.staff.accounts import find
from console.staff.models import StaffAccount, StaffSession
from console.staff.throttling import QUARTER, TooManyAttempts
from console.store.calls import submit
from console.trail import recording
from console.trail.actions import Action, Result
from console.trail.recording import (
    SYSTEM_TRAIL,
    Actor,
    TrailEntry,
    build,
    record_counted,
    record_where_possible,
    staff_trail,
)

logger = logging.getLogger(__name__)

# The actor of failed attempts, who need not be the person whose name was typed.
VISITOR = Actor("unknown", "visitor")
SECOND_STEP = "second-step"
SECOND_STEP_FOR = timedelta(minutes=5)
# Unknown names share this many trail entries in a quarter of an hour, so that they cannot flood the trail.
UNKNOWN_NAMES_KEPT = 32
# The metrics' label for attempts over the limit.
TOO_MANY_ATTEMPTS = "too_many_attempts"


@dataclass(frozen=True, slots=True)
class Visit:
    """The browser used to sign in: its address, its kind, and the contents of its cookies.

    `address` is for counting attempts only. `forwarded_address`, "" unless a trusted proxy gives it, is stored with the
    session and in the trail. Both and `label` come from `console.staff.clients`, `known_as` from
    `console.staff.devices`; `previous_token` is the token of the session that this sign-in ends.
    """

    address: str
    label: str = ""
    known_as: str = ""
    previous_token: str = field(default="", repr=False)
    forwarded_address: str = ""

    @property
    def recorded(self) -> dict[str, str]:
        """What entries of the trail say about where an attempt came from."""
        return {"ip": self.forwarded_address} if self.forwarded_address else {}


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A new session and its token for the cookie. `recovery_codes_left` is set only if one was used."""

    username: str
    token: str = field(repr=False)
    recovery_codes_left: int | None = None


@dataclass(frozen=True, slots=True)
class CodeNeeded:
    """Name and password are correct; a code is still needed: pass it with `pending` to `finish_second_step`."""

    pending: str = field(repr=False)


class SecondStepExpired(Invalid):
    """Raised if the second step comes too late, or the account has changed meanwhile."""

    def __init__(self) -> None:
        super().__init__("The sign-in took too long, or the account was changed. Start again.")


@sensitive_variables()
def sign_in(username: str, password: str, visit: Visit) -> SignedIn | CodeNeeded | None:
    """Start a session, ask for a code, or return None if name and password open no account; each is in the trail.

    Raises `TooManyAttempts`, `TooManySignIns`, and the store's errors: then no session was started.
    """
    passwords.refuse_if_busy()
    _count(username, visit)
    account = find(username)
    correct, outdated = passwords.verify(password, account.password_hash if account else None)
    if account is None or (refusal := _refusal(account, correct)):
        _record_failure(username, account, refusal if account else "unknown name", visit)
        return None
    if outdated:
        # Store the hash at today's cost or method.
        _update_if_unchanged(account, StaffAccount.password_hash.set(passwords.hash_password(password)))
    if second_factor.is_on(account):
        # Record the use of a possibly stolen password, even if it goes no further.
        asked = TrailEntry(staff_trail(account.username), Action.CODE_ASKED, VISITOR, payload=visit.recorded)
        record_once(asked, VISITOR.name)
        return CodeNeeded(_pending(account))
    return SignedIn(account.username, start_session(account, visit, sessions.PASSWORD))


@sensitive_variables()
def finish_second_step(pending: str, typed: str, visit: Visit) -> SignedIn | None:
    """Finish the second step: start a session for a correct code; return None for a wrong one.

    A correct code is used up even if this then fails. Raises `SecondStepExpired`, `TooManyAttempts`, and the store's
    errors: then no session was started, and the next code works.
    """
    username, epoch = _read_pending(pending)
    _count(username, visit)
    account = find(username)
    if account is None or account.disabled or account.epoch != epoch or not second_factor.is_on(account):
        raise SecondStepExpired
    codes_left = second_factor.codes_left(account)
    # Use the code up first: if starting the session then fails, nothing was opened, and the next code works.
    used = second_factor.verify(account, typed)
    if not used:
        _record_failure(username, account, "wrong code", visit)
        return None
    if used == second_factor.RECOVERY_CODE:
        token = start_session(account, visit, sessions.PASSWORD_AND_RECOVERY_CODE)
        return SignedIn(account.username, token, codes_left - 1)
    return SignedIn(account.username, start_session(account, visit, sessions.PASSWORD_AND_CODE))


def pending_username(pending: str) -> str:
    """Return the username of a second step, even of an expired one; "" for what this console did not seal."""
    try:
        return refs.unseal(SECOND_STEP, pending, 3)[0]
    except BadReference:
        return ""


@sensitive_variables()
def set_password(code: str, password: str, visit: Visit) -> None:
    """Set the password with a link's code, without signing in. Raises `Invalid`, in words, and `TooManyAttempts`."""
    passwords.refuse_if_busy()
    try:
        throttling.count("", visit.address)
    except TooManyAttempts:
        _record_throttled(password_links.username_of(code), visit)
        raise
    password_links.redeem(code, password)
    throttling.forgive("", visit.address)


def sign_out(staff: Staff) -> str:
    """End the request's session; return how it began if the company's own sign-in is configured, else "".

    Raises the store's errors: then the session is still valid.
    """
    method = _method_of(staff.session_id) if oidc.is_configured() else ""
    entry = TrailEntry(staff_trail(staff.username), Action.SIGN_OUT, Actor.of(staff))
    sessions.end(staff.session_id, build(entry, clock.now()))
    return method


def start_session(account: StaffAccount, visit: Visit, method: str, *, second_factor_stated: bool = False) -> str:
    """Start a session together with its trail entry, and return its token. Parameters as of `sessions.start`.

    Forgives the counted attempts. Raises the store's errors: then there is no session.
    """
    staff = Staff.of(account)
    payload = {"browser": visit.label, "with": method, **visit.recorded}
    entry = TrailEntry(staff_trail(staff.username), Action.SIGN_IN, Actor.of(staff), payload=payload)
    token = sessions.start(
        account,
        build(entry, clock.now()),
        user_agent=visit.label,
        address=visit.forwarded_address,
        previous_token=visit.previous_token,
        method=method,
        second_factor_stated=second_factor_stated,
    )
    noting = submit(_update_if_unchanged, account, StaffAccount.last_sign_in_at.set(clock.to_iso(clock.now())))
    # Not `account.username`: the parallel update briefly empties the account while reading its result.
    throttling.forgive(staff.username, visit.address, browser=visit.known_as)
    noting.result()
    return token


def record_denial(staff: Staff, route: str, method: str, lacking: Collection[str] = ()) -> None:
    """Record in the person's trail that their role was refused a route (its pattern, not the URL). Never raises.

    Refusals of one route and method within a minute share one entry, which counts them. `lacking` are the permissions
    of which the route needs one, if known.
    """
    payload = {"route": route, "method": method}
    lacks = f" lacks {' or '.join(sorted(lacking))}" if lacking else " may not"
    result = f"{Result.FAILED}: the role {staff.role.value}{lacks}"
    entry = TrailEntry(
        staff_trail(staff.username), Action.ACCESS_DENIED, Actor.of(staff), result=result, payload=payload
    )
    try:
        record_counted(entry, f"{method} {route}")
    except ConsoleError as error:
        # The request is refused either way.
        logger.error("A refusal could not be recorded: %s", type(error).__name__)


def record_once(entry: TrailEntry, about: str) -> None:
    """Write an entry unless this quarter of an hour already has one with its action and `about`."""
    try:
        recording.record_once(entry, about, QUARTER)
    except TableMissing:
        logger.warning("Not recorded, because there is no trail in this environment: %s", entry.action.value)


def _refusal(account: StaffAccount, correct: bool) -> str:
    """Return why the sign-in is refused, for the trail; "" if it is not."""
    if not correct:
        return "wrong password"
    if account.disabled:
        return "disabled account"
    return "" if account.signs_in_with == PASSWORD else "account of the company sign-in"


def _pending(account: StaffAccount) -> str:
    return refs.seal(SECOND_STEP, account.username, str(account.epoch), str(clock.to_epoch(clock.now())))


def _read_pending(pending: str) -> tuple[str, int]:
    """Return username and epoch of a second step. Raises `SecondStepExpired` if it has expired or is not sealed."""
    try:
        username, epoch, began = refs.unseal(SECOND_STEP, pending, 3)
    except BadReference as error:
        raise SecondStepExpired from error
    if not 0 <= clock.to_epoch(clock.now()) - int(began) < SECOND_STEP_FOR.total_seconds():
        raise SecondStepExpired
    return username, int(epoch)


def _update_if_unchanged(account: StaffAccount, action: UpdateAction) -> None:
    """Update the account if it has not changed meanwhile. Never raises the store's errors: sign-in works without."""
    unchanged = StaffAccount.username.exists() & (StaffAccount.epoch == account.epoch)
    try:
        account.update(actions=[action], condition=unchanged)
    except ConsoleError as error:
        logger.warning("Could not note a sign-in on the account: %s", type(error).__name__)


def _method_of(session_id: str) -> str:
    try:
        return StaffSession.get(session_id).method or ""
    except NotFound:
        return ""


# --- Recording failed attempts ----------------------------------------------------------------------------------------


def _count(username: str, visit: Visit) -> None:
    try:
        throttling.count(username, visit.address, browser=visit.known_as)
    except TooManyAttempts:
        _record_throttled(username, visit)
        raise


def _record_failure(typed: str, account: StaffAccount | None, reason: str, visit: Visit) -> None:
    instrumentation.count(instrumentation.SIGN_IN_FAILURES, reason)
    result = f"{Result.FAILED}: {reason}"
    entry = TrailEntry(SYSTEM_TRAIL, Action.SIGN_IN_FAILED, VISITOR, result=result, payload=visit.recorded)
    if account is not None:
        record_where_possible(replace(entry, trail=staff_trail(account.username)))
        return
    _record_unknown(typed, entry)


def _record_throttled(typed: str, visit: Visit) -> None:
    """Record it once in a quarter of an hour: in the account's trail, or among the unknown names."""
    instrumentation.SIGN_IN_FAILURES.labels(TOO_MANY_ATTEMPTS).inc()
    account = find(typed)
    result = f"{Result.FAILED}: too many attempts"
    entry = TrailEntry(SYSTEM_TRAIL, Action.SIGN_IN_THROTTLED, VISITOR, result=result, payload=visit.recorded)
    if account is not None:
        record_once(replace(entry, trail=staff_trail(account.username)), VISITOR.name)
        return
    _record_unknown(typed, entry)


def _record_unknown(typed: str, entry: TrailEntry) -> None:
    """Record an attempt under an unknown name by its keyed hash, which only shows whether names repeat.

    People type passwords into the name field, so the name itself is not stored.
    """
    name = typed.strip().lower()
    digest = salted_hmac("console.staff.unknown-name", name, algorithm="sha256").digest()
    payload = {**entry.payload, "name_hmac": as_letters(digest[:16])}
    record_once(replace(entry, payload=payload), f"{VISITOR.name}-{digest[-1] % UNKNOWN_NAMES_KEPT}")
