"""Passwords: rules, hashing (Argon2) and checking in the same time whether or not there is an account."""

import unicodedata
from functools import cache

from django.conf import settings
from django.contrib.auth.hashers import make_password, verify_password
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.views.decorators.debug import sensitive_variables

from console.errors import Invalid
from console.staff.codes import new_code

# Long enough for any passphrase; bounds what hashing one may cost.
MAX_LENGTH = 256


@cache
def _common_passwords() -> CommonPasswordValidator:
    return CommonPasswordValidator()


def _normal(password: str) -> str:
    """One spelling for what keyboards and systems encode differently (an accent as one character or as two)."""
    return unicodedata.normalize("NFKC", password)


@sensitive_variables()
def check_rules(password: str, username: str) -> None:
    """Raise `Invalid`, in words for the person, if the password is too short, too long, common or the username."""
    password = _normal(password)
    if len(password) < settings.PASSWORD_MIN_LENGTH:
        raise Invalid(f"The password is too short: at least {settings.PASSWORD_MIN_LENGTH} characters.")
    if len(password) > MAX_LENGTH:
        raise Invalid(f"The password is too long: at most {MAX_LENGTH} characters.")
    if username.lower() in (password.lower().strip(), password.lower().strip()[::-1]):
        raise Invalid("The password must not be the username.")
    if len(set(password.lower())) < 4:
        raise Invalid("The password is too simple: it repeats a few characters.")
    try:
        _common_passwords().validate(password)
    except ValidationError as error:
        raise Invalid("The password is too common.") from error


@sensitive_variables()
def hash_password(password: str) -> str:
    """The password's hash as stored."""
    return str(make_password(_normal(password)))


def unusable() -> str:
    """What is stored for an account without a password: no password matches it."""
    return str(make_password(None))


@sensitive_variables()
def verify(password: str, stored_hash: str | None) -> tuple[bool, bool]:
    """Whether the password is the one of the hash, and whether the hash should be made anew (cost or method changed).

    None stands for "no such account" and takes as long as a wrong password.
    """
    if stored_hash is None or len(password) > MAX_LENGTH:
        make_password(_normal(password[:MAX_LENGTH]))
        return False, False
    return verify_password(_normal(password), stored_hash)


def generate() -> str:
    """A random password of 4 × 5 characters, about 99 bits, easy to read out."""
    return new_code(4)
