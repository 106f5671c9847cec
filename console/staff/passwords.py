"""Passwords: rules, hashing (Argon2) and checking in the same time whether or not there is an account."""

import unicodedata
from functools import cache
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import make_password, verify_password
from django.contrib.auth.password_validation import (
    CommonPasswordValidator,
    NumericPasswordValidator,
    UserAttributeSimilarityValidator,
)
from django.core.exceptions import ValidationError
from django.views.decorators.debug import sensitive_variables
from zxcvbn import zxcvbn

from console.errors import Invalid
from console.staff.codes import new_code

# Long enough for any passphrase; bounds what hashing one may cost.
MAX_LENGTH = 256
# Guessed sooner than after so many tries by somebody who begins with what people choose. More characters than these
# zxcvbn does not look at.
TOO_FEW_GUESSES, LOOKED_AT = 100_000_000, 72


@cache
def _validators() -> tuple[tuple[Any, str], ...]:
    """Django's validators, made once for their lists, with what to say to the person."""
    return (
        (
            UserAttributeSimilarityValidator(("username", "display_name")),
            "The password is too much like your username or name.",
        ),
        (NumericPasswordValidator(), "The password has digits only. Add words."),
        (CommonPasswordValidator(), "The password is too common."),
    )


def _as_user(username: str, display_name: str) -> SimpleNamespace:
    """A person as Django's validators ask one for attributes and the names of these."""
    meta = SimpleNamespace(get_field=lambda name: SimpleNamespace(verbose_name=name))
    return SimpleNamespace(username=username, display_name=display_name, _meta=meta)


def _normal(password: str) -> str:
    """One spelling for what keyboards and systems encode differently (an accent as one character or as two)."""
    return unicodedata.normalize("NFKC", password)


@sensitive_variables()
def check_rules(password: str, username: str, display_name: str = "") -> None:
    """Raise `Invalid`, in words for the person, if the password is too short, too long, too easy to guess, or like the
    username or name."""
    password = _normal(password)
    if len(password) < settings.PASSWORD_MIN_LENGTH:
        raise Invalid(f"The password is too short: at least {settings.PASSWORD_MIN_LENGTH} characters.")
    if len(password) > MAX_LENGTH:
        raise Invalid(f"The password is too long: at most {MAX_LENGTH} characters.")
    for validator, words in _validators():
        try:
            validator.validate(password, _as_user(username, display_name))
        except ValidationError as error:
            raise Invalid(words) from error
    if zxcvbn(password[:LOOKED_AT], user_inputs=[username, display_name])["guesses"] < TOO_FEW_GUESSES:
        raise Invalid("The password is too easy to guess. Add a few words that do not belong together.")


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
