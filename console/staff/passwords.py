"""Passwords: rules, hashing (Argon2) and checking, in the same time whether or not there is an account.

A hash takes a core and memory on purpose. So that many simultaneous sign-ins stall no other requests, a worker
computes `AT_ONCE` hashes at a time and lets `WAITING` more wait; any others are asked to try again.
"""

import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import Argon2PasswordHasher, make_password, verify_password
from django.contrib.auth.password_validation import (
    CommonPasswordValidator,
    NumericPasswordValidator,
    UserAttributeSimilarityValidator,
)
from django.core.exceptions import ValidationError
from django.views.decorators.debug import sensitive_variables
from zxcvbn import zxcvbn

from console.errors import ConsoleError, Invalid
from console.staff.codes import new_code
from console.store.calls import paused_deadline

# Long enough for any passphrase; bounds the cost of hashing.
MAX_LENGTH = 256
# Per worker, of which there is one for each processor. Together fewer than its threads (`console.gunicorn`: 8), so that
# sign-ins never take all of them.
AT_ONCE, WAITING = 1, 5
# Reached only if the machine itself is overloaded.
PATIENCE_SECONDS = 5.0
_places = threading.BoundedSemaphore(AT_ONCE + WAITING)
_turns = threading.BoundedSemaphore(AT_ONCE)


class Argon2Hasher(Argon2PasswordHasher):
    """Argon2id with the minimum of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane.

    Django's own parameters take 100 MiB and eight lanes for each sign-in. Hashes made with them still verify, and are
    replaced at the next sign-in.
    """

    memory_cost, time_cost, parallelism = 19_456, 2, 1


class TooManySignIns(ConsoleError):
    """The worker is already checking as many passwords as it can: nothing was checked."""

    status = 429
    title = "Too many people are signing in"
    retry_after = 3

    def __init__(self) -> None:
        super().__init__("Too many people are signing in right now. Wait a few seconds, then try again.")


def refuse_if_busy() -> None:
    """Raise `TooManySignIns` if no password could be checked now, before an attempt is counted for nothing."""
    if not _places.acquire(blocking=False):
        raise TooManySignIns
    _places.release()


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for a turn to hash. The wait and the hash do not count against the request's deadline.

    Raises `TooManySignIns`.
    """
    with paused_deadline():
        if not _places.acquire(blocking=False):
            raise TooManySignIns
        try:
            if not _turns.acquire(timeout=PATIENCE_SECONDS):
                raise TooManySignIns
            try:
                yield
            finally:
                _turns.release()
        finally:
            _places.release()


# The minimum of zxcvbn's estimated guesses, and the number of characters that it checks.
TOO_FEW_GUESSES, LOOKED_AT = 100_000_000, 72
# Django's own list ends at 20,000.
COMMON = Path(__file__).with_name("common_passwords.txt.gz")


@cache
def _validators() -> tuple[tuple[Any, str], ...]:
    """Return Django's validators, with the words for the person. Cached, as they load lists."""
    return (
        (
            UserAttributeSimilarityValidator(("username", "display_name")),
            "The password is too much like your username or name.",
        ),
        (NumericPasswordValidator(), "The password has only digits. Add words."),
        (CommonPasswordValidator(), "The password is too common."),
        (CommonPasswordValidator(COMMON), "The password is too common."),
    )


def _as_user(username: str, display_name: str) -> SimpleNamespace:
    """Return an object with the attributes that Django's validators read from a user."""
    meta = SimpleNamespace(get_field=lambda name: SimpleNamespace(verbose_name=name))
    return SimpleNamespace(username=username, display_name=display_name, _meta=meta)


def _normal(password: str) -> str:
    """Normalize what keyboards and systems encode differently (an accent as one character or as two)."""
    return unicodedata.normalize("NFKC", password)


@sensitive_variables()
def check_rules(password: str, username: str, display_name: str = "") -> None:
    """Raise `Invalid`, in words, for a password too short, too long, easy to guess, or like the username or name."""
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
        raise Invalid("The password is too easy to guess. Add a few unrelated words.")


@sensitive_variables()
def hash_password(password: str) -> str:
    """Return the password's hash to store. Raises `TooManySignIns`."""
    with _turn():
        return str(make_password(_normal(password)))


def unusable() -> str:
    """Return the hash to store for an account without a password: no password matches it."""
    return str(make_password(None))


@sensitive_variables()
def verify(password: str, stored_hash: str | None) -> tuple[bool, bool]:
    """Return whether the password matches the hash, and whether the hash is outdated (cost or method changed).

    None means "no such account": it waits for its turn and takes as long as a wrong password. Raises `TooManySignIns`.
    """
    with _turn():
        if stored_hash is None or len(password) > MAX_LENGTH:
            make_password(_normal(password[:MAX_LENGTH]))
            return False, False
        return verify_password(_normal(password), stored_hash)


def generate() -> str:
    """Return a random password of 4 × 5 characters, about 99 bits, easy to read out."""
    return new_code(4)
