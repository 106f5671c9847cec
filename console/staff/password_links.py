"""One-time links with which a person sets their own password: for a new account, and after a reset.

The code follows the `#` of the link, which browsers never send: no server, proxy, log or link preview sees it. The
account stores only a hash of it. The code contains the username, sealed, so that one read finds the account.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings
from django.utils.crypto import constant_time_compare
from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction

from console import clock, refs
from console.errors import BadReference, Conflict, Invalid
from console.permissions import Staff
from console.staff import accounts, passwords
from console.staff.models import StaffAccount
from console.trail.actions import Action
from console.trail.recording import Actor

KIND = "password-link"
# One text for every reason, so that it does not reveal which accounts exist.
REFUSED = "This link has expired or was already used. Ask an administrator for a new one."


@dataclass(frozen=True, slots=True)
class PasswordLink:
    """A new code, and the digest and expiry that the account stores."""

    code: str = field(repr=False)
    digest: str
    expires_at: str


def make(username: str) -> PasswordLink:
    """Return a new code for that account, valid for `PASSWORD_LINK_HOURS`."""
    code = refs.seal(KIND, username, secrets.token_urlsafe(24))
    expires_at = clock.to_iso(clock.now() + timedelta(hours=settings.PASSWORD_LINK_HOURS))
    return PasswordLink(code, _digest(code), expires_at)


def username_of(code: str) -> str:
    """Return the username in a code, without a read; "" for what this console did not seal."""
    try:
        username, _random = refs.unseal(KIND, code.strip(), 2)
    except BadReference:
        return ""
    return username


@sensitive_variables()
def new_password(password: str) -> list[UpdateAction]:
    """Return the update actions that set another password and end a link to set one."""
    return [StaffAccount.password_hash.set(passwords.hash_password(password)), *link_removal_actions()]


def link_actions(link: PasswordLink) -> list[UpdateAction]:
    """Return the update actions that replace the password, and any earlier link, by this link."""
    return [
        StaffAccount.password_hash.set(passwords.unusable()),
        StaffAccount.password_link_hash.set(link.digest),
        StaffAccount.password_link_expires_at.set(link.expires_at),
    ]


def link_removal_actions() -> list[UpdateAction]:
    """Return the update actions that end an account's link."""
    return [StaffAccount.password_link_hash.remove(), StaffAccount.password_link_expires_at.remove()]


@sensitive_variables()
def redeem(code: str, password: str) -> StaffAccount:
    """Set the password of the account that the code names. The code cannot be used again; all sessions end.

    Raises `Invalid` for a code that does not work (see `REFUSED`) or a password against the rules.
    """
    account = accounts.find(username_of(code))
    if account is None or not _opens(account, code.strip()):
        raise Invalid(REFUSED)
    passwords.check_rules(password, account.username, account.display_name or "")
    actions = new_password(password)
    try:
        return accounts.apply(account, actions, Action.PASSWORD_CHANGED, {"by": "link"}, Actor.of(Staff.of(account)))
    except Conflict as error:
        raise Invalid(REFUSED) from error


def _opens(account: StaffAccount, code: str) -> bool:
    expires = clock.parse_instant(account.password_link_expires_at)
    return (
        not account.disabled
        and bool(account.password_link_hash)
        and constant_time_compare(account.password_link_hash or "", _digest(code))
        and expires is not None
        and clock.now() < expires
    )


def _digest(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()
