"""Signing in and out. Unknown names, wrong passwords and disabled accounts look the same and take the same time."""

import logging

from django.utils.crypto import salted_hmac
from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction

from console import clock
from console.audit.actions import SYSTEM_TRAIL, Action, Result, staff_trail
from console.audit.recording import Actor, Entry, build, record, record_where_possible
from console.errors import ConsoleError
from console.refs import as_letters
from console.staff import passwords, services, sessions
from console.staff.models import StaffAccount
from console.staff.permissions import Staff

logger = logging.getLogger(__name__)

# Whoever tried to sign in and did not: not the person whose name was typed.
VISITOR = Actor("unknown", "visitor")


@sensitive_variables()
def sign_in(username: str, password: str, *, user_agent: str = "", previous_token: str = "") -> str | None:
    """The token of a new session, or None if name and password do not open an account. Either way it is in the trail.

    `user_agent` is a short label of the browser; `previous_token` what the browser's cookie held: that session ends.
    Raises the store's errors: then nobody was signed in.
    """
    account = services.find(username)
    correct, outdated = passwords.verify(password, account.password_hash if account else None)
    if account is None or not correct or account.disabled:
        _record_failure(username, account, "disabled account" if correct else "wrong password")
        return None
    staff = account.as_staff()
    entry = Entry(staff_trail(staff.username), Action.SIGN_IN, Actor.of(staff), payload={"browser": user_agent})
    token = sessions.start(account, build(entry, clock.now()), user_agent=user_agent, previous_token=previous_token)
    _note_sign_in(account, passwords.hash_password(password) if outdated else "")
    return token


def sign_out(staff: Staff) -> None:
    """End the session that the person asked with. Raises the store's errors: then it still holds."""
    entry = Entry(staff_trail(staff.username), Action.SIGN_OUT, Actor.of(staff))
    sessions.end(staff.session_id, build(entry, clock.now()))


def record_denial(staff: Staff, route: str, method: str) -> None:
    """Note in the person's trail that their role was refused a route (its pattern, never the URL). Never raises."""
    payload = {"route": route, "method": method}
    entry = Entry(staff_trail(staff.username), Action.ACCESS_DENIED, Actor.of(staff), payload=payload)
    try:
        record(entry)
    except ConsoleError as error:
        # The refusal stands either way.
        logger.error("A refusal could not be recorded: %s", type(error).__name__)


def _record_failure(typed: str, account: StaffAccount | None, reason: str) -> None:
    if account is not None:
        record_where_possible(
            Entry(staff_trail(account.username), Action.SIGN_IN_FAILED, VISITOR, result=f"{Result.FAILED}: {reason}")
        )
        return
    record_where_possible(
        Entry(
            SYSTEM_TRAIL,
            Action.SIGN_IN_FAILED,
            VISITOR,
            result=f"{Result.FAILED}: unknown name",
            payload={"name_hmac": _name_hmac(typed)},
        )
    )


def _name_hmac(typed: str) -> str:
    """What the trail keeps of a name that does not exist: enough to tell repeated ones apart, and no more.

    People type passwords into the name field.
    """
    digest = salted_hmac("console.staff.unknown-name", typed.strip().lower(), algorithm="sha256").digest()
    return as_letters(digest[:16])


def _note_sign_in(account: StaffAccount, new_hash: str) -> None:
    """When the account last signed in, and its password's hash at today's cost; the sign-in stands without it."""
    actions: list[UpdateAction] = [StaffAccount.last_sign_in_at.set(clock.to_iso(clock.now()))]
    if new_hash:
        actions.append(StaffAccount.password_hash.set(new_hash))
    try:
        account.update(
            actions=actions, condition=StaffAccount.username.exists() & (StaffAccount.epoch == account.epoch)
        )
    except ConsoleError as error:
        logger.warning("Could not note a sign-in on the account: %s", type(error).__name__)
