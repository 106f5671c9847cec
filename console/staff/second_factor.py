"""The second factor: one-time codes of an authenticator app (TOTP, RFC 6238), and recovery codes for a lost phone.

The secret is kept sealed (AES-SIV under SECRET_KEY and the environment's name, bound to the account), so that the table
alone, or another environment's, makes no codes. Recovery codes are kept as hashes. Nothing here opens anything twice:
each code is used up by a conditional write.
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

# What `verify` answers; "" for a code that opens nothing.
CODE, RECOVERY_CODE = "code", "recovery code"
# What authenticator apps agree on without being told: SHA-1, 6 digits, 30 seconds.
STEP_SECONDS, DIGITS = 30, 6
# Clocks differ, and typing takes a while: the code before and the one after are good too.
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
    """The secret cannot be unsealed, as after a change of SECRET_KEY; recovery codes still open."""

    def __init__(self) -> None:
        super().__init__(UNREADABLE)


def is_on(account: StaffAccount) -> bool:
    """Whether signing in asks for a code. Anything that is left of a second factor counts: better locked than open."""
    return bool(account.totp_secret or account.second_factor_at)


def is_required(role: str) -> bool:
    """Whether people of that role must have a second factor, by the setting."""
    return settings.REQUIRE_SECOND_FACTOR == ["all"] or role in settings.REQUIRE_SECOND_FACTOR


def codes_left(account: StaffAccount) -> int:
    """How many recovery codes are not used yet."""
    return len(account.recovery_codes or ())


def flaw(account: StaffAccount) -> str:
    """Why a second factor that is on accepts no app's codes, in words; "" where all is well."""
    try:
        if is_on(account):
            _secret_of(account)
    except StoreUnavailable as error:
        return str(error)
    return ""


@sensitive_variables()
def verify(account: StaffAccount, typed: str) -> str:
    """Use up a typed code: `CODE`, `RECOVERY_CODE`, or "" if it is wrong or was used before, also at the same moment.

    Spaces and dashes do not matter. Raises `SecretUnreadable`, in words, for a secret that cannot be unsealed, and the
    store's errors: then the code may be used up, and opened nothing.
    """
    code = _normal(typed)
    if _is_one_time_code(code):
        return CODE if _use_code(account, code) else ""
    if _is_recovery_code(code):
        return RECOVERY_CODE if _use_recovery_code(account, code) else ""
    return ""


def new_secret() -> str:
    """A fresh secret: 160 random bits in base32, 32 characters."""
    return pyotp.random_base32(length=32)


@sensitive_variables()
def sealed_secret(username: str, secret: str) -> str:
    """The secret as stored."""
    return refs.seal_data(_kind(username), secret)


@sensitive_variables()
def seal_again(account: StaffAccount) -> bool:
    """Seal a secret that an earlier SECRET_KEY sealed with the current one; whether that was needed.

    Raises `SecretUnreadable`, `ConditionFailed` where it was changed meanwhile, and the store's errors.
    """
    if (fresh := sealed_secret(account.username, _secret_of(account))) == account.totp_secret:
        return False
    account.update(
        actions=[StaffAccount.totp_secret.set(fresh)], condition=StaffAccount.totp_secret == account.totp_secret
    )
    return True


@sensitive_variables()
def matching_step(secret: str, typed: str, at: datetime) -> int | None:
    """The newest 30-second step around `at` whose code was typed, or None."""
    code = _normal(typed)
    if not _is_one_time_code(code):
        return None
    now, totp = clock.to_epoch(at) // STEP_SECONDS, pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    found = None
    for step in range(now - STEPS_AROUND, now + STEPS_AROUND + 1):
        # Every step is compared, so that the time taken does not tell which one it was.
        if constant_time_compare(totp.generate_otp(step), code):
            found = step
    return found


@sensitive_variables()
def provisioning_uri(username: str, secret: str, environment: str) -> str:
    """What the QR code says (`otpauth://totp/…`): the app lists it under the console's and the account's name."""
    totp = pyotp.TOTP(secret, digits=DIGITS, interval=STEP_SECONDS)
    return totp.provisioning_uri(name=username, issuer_name=f"Conversation Console ({environment})")


@sensitive_variables()
def qr_code(uri: str) -> SafeString:
    """The QR code of a provisioning URI as an inline SVG element, with its white margin: scanners need one."""
    code = segno.make_qr(uri, error="m")
    svg = code.svg_inline(border=4, dark="#000", light="#fff", svgclass=None, lineclass=None, omitsize=True)
    # Shapes and numbers only: nothing of the URI's text is in the markup.
    return SafeString(svg)  # nosec B308 B703


def new_recovery_codes() -> tuple[str, ...]:
    """Fresh codes, as people see them: `k7m2p-x9qrt-4hvwd`."""
    return tuple(new_code(_GROUPS) for _ in range(RECOVERY_CODES))


@sensitive_variables()
def hashed(username: str, codes: Iterable[str]) -> set[str]:
    """Recovery codes as stored."""
    return {_digest(username, _normal(code)) for code in codes}


def removal() -> list[UpdateAction]:
    """What takes everything of a second factor off an account."""
    return [
        StaffAccount.totp_secret.remove(),
        StaffAccount.totp_last_step.remove(),
        StaffAccount.recovery_codes.remove(),
        StaffAccount.second_factor_at.remove(),
    ]


def _normal(typed: str) -> str:
    """A code without what people put around and between: one spelling of digits and letters, no spaces, no dashes."""
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
    # Sealed under a key that is being rotated out: sealed anew with what was just proven to be right.
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
    # A wrong code costs no write. All are compared, whichever matches.
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
