"""The second factor: one-time codes of an authenticator app (TOTP, RFC 6238), and recovery codes for a lost phone.

The secret is stored sealed (AES-SIV under SECRET_KEY and the environment's name, bound to the account), so that the
table alone, or another environment's, yields no codes. Recovery codes are stored as hashes. No code works twice: a
conditional write uses it up.
"""

import binascii
import hashlib
import unicodedata
from collections.abc import Iterable
from datetime import datetime

import pyotp
import segno
from django.conf import settings
from django.utils.crypto import constant_time_compare
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_variables
from pynamodb.expressions.update import Action as UpdateAction

from console import clock, refs
from console.errors import BadReference, StoreUnavailable
from console.permissions import Staff
from console.staff.codes import ALPHABET, GROUP_LENGTH, new_code
from console.staff.models import StaffAccount
from console.store.calls import ConditionFailed, TransactionRefused
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail, write_with_entry

# Results of `verify`; "" for an invalid code.
CODE, RECOVERY_CODE = "code", "recovery code"
# The defaults of authenticator apps: SHA-1, 6 digits, 30 seconds.
STEP_SECONDS, DIGITS = 30, 6
# Clocks differ, and typing takes a while: the previous and the next code are valid too.
STEPS_AROUND = 1
RECOVERY_CODES = 10
# 3 × 5 of 31 characters: 74 bits.
_GROUPS = 3
_MAX_TYPED = 100
UNREADABLE = (
    "The second factor of this account cannot be read. Use a recovery code, or ask an administrator to remove "
    "the second factor."
)


class SecretUnreadable(StoreUnavailable):
    """The secret cannot be unsealed, as after a change of SECRET_KEY; recovery codes still work."""

    def __init__(self) -> None:
        super().__init__(UNREADABLE)


def is_on(account: StaffAccount) -> bool:
    """Return whether sign-in needs a code. Any remains of a second factor count: better locked than open."""
    return bool(account.totp_secret or account.second_factor_at)


def is_required(role: str) -> bool:
    """Return whether people of that role must have a second factor, by the setting."""
    return settings.REQUIRE_SECOND_FACTOR == ["all"] or role in settings.REQUIRE_SECOND_FACTOR


def codes_left(account: StaffAccount) -> int:
    """Return the number of unused recovery codes."""
    return len(account.recovery_codes or ())


def flaw(account: StaffAccount) -> str:
    """Return why an account's second factor accepts no codes of an app, in words; "" if it does."""
    try:
        if is_on(account):
            _secret_of(account)
    except StoreUnavailable as error:
        return str(error)
    return ""


@sensitive_variables()
def verify(account: StaffAccount, typed: str) -> str:
    """Use up a typed code; return `CODE`, `RECOVERY_CODE`, or "" if it is wrong or was already used, even concurrently.

    Spaces and dashes do not matter. Raises `SecretUnreadable`, in words, for a secret that cannot be unsealed, and the
    store's errors: then the code may be used up without effect.
    """
    code = _normal(typed)
    if _is_one_time_code(code):
        return CODE if _use_code(account, code) else ""
    if _is_recovery_code(code):
        return RECOVERY_CODE if _use_recovery_code(account, code) else ""
    return ""


def new_secret() -> str:
    """Return a new secret: 160 random bits in base32, 32 characters."""
    return pyotp.random_base32(length=32)


@sensitive_variables()
def sealed_secret(username: str, secret: str) -> str:
    """Return the secret as stored."""
    return refs.seal_data(_kind(username), secret)


@sensitive_variables()
def seal_again(account: StaffAccount) -> bool:
    """Reseal a secret that was sealed with an earlier SECRET_KEY; return whether that was needed.

    Raises `SecretUnreadable`, `ConditionFailed` if it was changed meanwhile, and the store's errors.
    """
    if (fresh := sealed_secret(account.username, _secret_of(account))) == account.totp_secret:
        return False
    account.update(
        actions=[StaffAccount.totp_secret.set(fresh)], condition=StaffAccount.totp_secret == account.totp_secret
    )
    return True


@sensitive_variables()
def matching_step(secret: str, typed: str, at: datetime) -> int | None:
    """Return the newest 30-second step around `at` whose code was typed, or None."""
    code = _normal(typed)
    if not _is_one_time_code(code):
        return None
    now, totp = clock.to_epoch(at) // STEP_SECONDS, pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    found = None
    for step in range(now - STEPS_AROUND, now + STEPS_AROUND + 1):
        # Compare every step, so that the time taken does not reveal which one matched.
        if constant_time_compare(totp.generate_otp(step), code):
            found = step
    return found


@sensitive_variables()
def provisioning_uri(username: str, secret: str) -> str:
    """Return the QR code's URI (`otpauth://totp/…`): the app lists it under the console's and the account's name."""
    totp = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    return totp.provisioning_uri(name=username, issuer_name=f"Conversation Console ({settings.CONSOLE_ENV})")


@sensitive_variables()
def qr_code(uri: str) -> SafeString:
    """Return the QR code of a provisioning URI as an inline SVG, with the white margin that scanners need."""
    code = segno.make_qr(uri, error="m")
    svg = code.svg_inline(border=4, dark="#000", light="#fff", svgclass=None, lineclass=None, omitsize=True)
    # The markup contains shapes and numbers only, none of the URI's text.
    return SafeString(svg)  # nosec B308 B703


def new_recovery_codes() -> tuple[str, ...]:
    """Return new recovery codes in the form that people see: `k7m2p-x9qrt-4hvwd`."""
    return tuple(new_code(_GROUPS) for _ in range(RECOVERY_CODES))


@sensitive_variables()
def hashed(username: str, codes: Iterable[str]) -> set[str]:
    """Return recovery codes as stored."""
    return {_digest(username, _normal(code)) for code in codes}


def removal() -> list[UpdateAction]:
    """Return the update actions that remove a second factor completely."""
    return [
        StaffAccount.totp_secret.remove(),
        StaffAccount.totp_last_step.remove(),
        StaffAccount.recovery_codes.remove(),
        StaffAccount.second_factor_at.remove(),
    ]


def _normal(typed: str) -> str:
    """Normalize a typed code: no spaces or dashes, lower case, ASCII digits."""
    text = unicodedata.normalize("NFKC", typed[:_MAX_TYPED]).lower()
    kept = (each for each in text if not each.isspace() and unicodedata.category(each) not in ("Pd", "Cf"))
    return "".join(each if each.isascii() else str(unicodedata.decimal(each, each)) for each in kept)


def _is_one_time_code(code: str) -> bool:
    return len(code) == DIGITS and code.isascii() and code.isdigit()


def _is_recovery_code(code: str) -> bool:
    return len(code) == _GROUPS * GROUP_LENGTH and set(code) <= set(ALPHABET)


@sensitive_variables()
def _use_code(account: StaffAccount, code: str) -> bool:
    if not is_on(account):
        return False
    secret = _secret_of(account)
    step = matching_step(secret, code, clock.now())
    if step is None:
        return False
    actions: list[UpdateAction] = [StaffAccount.totp_last_step.set(step)]
    # If the secret is sealed with a key that is being rotated out, reseal it now that a code has proved it correct.
    if account.totp_secret != (fresh := sealed_secret(account.username, secret)):
        actions.append(StaffAccount.totp_secret.set(fresh))
    is_newer = StaffAccount.totp_last_step.does_not_exist() | (StaffAccount.totp_last_step < step)
    exists = StaffAccount.username.exists() & (StaffAccount.totp_secret == account.totp_secret)
    try:
        account.update(actions=actions, condition=exists & is_newer)
    except ConditionFailed:
        return False
    return True


@sensitive_variables()
def _use_recovery_code(account: StaffAccount, code: str) -> bool:
    digest = _digest(account.username, code)
    # A wrong code costs no write. Compare all, so that the time taken does not reveal which one matched.
    if not sum(constant_time_compare(digest, each) for each in account.recovery_codes or ()):
        return False
    left = codes_left(account) - 1
    actor = Actor.of(Staff.of(account))
    entry = TrailEntry(staff_trail(account.username), Action.RECOVERY_CODE_USED, actor, payload={"codes_left": left})
    actions: list[UpdateAction] = [StaffAccount.recovery_codes.delete({digest})]
    is_unused = StaffAccount.username.exists() & StaffAccount.recovery_codes.contains(digest)
    try:
        write_with_entry(
            build(entry, clock.now()), lambda writes: writes.update(account, actions=actions, condition=is_unused)
        )
    except TransactionRefused:
        return False
    return True


@sensitive_variables()
def _secret_of(account: StaffAccount) -> str:
    try:
        secret = refs.unseal_data(_kind(account.username), account.totp_secret or "")
        pyotp.TOTP(secret).byte_secret()
    except (BadReference, binascii.Error, AttributeError, TypeError, ValueError) as error:
        raise SecretUnreadable from error
    return str(secret)


def _kind(username: str) -> str:
    return f"totp-secret {username}"


def _digest(username: str, code: str) -> str:
    return hashlib.sha256(f"{username} {code}".encode()).hexdigest()
