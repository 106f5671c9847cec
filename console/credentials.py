"""Credentials in text: what shows by its shape that it is one, and the ones that this process holds itself."""

import os
import re
from collections.abc import Callable, Iterator

from django.conf import settings

from console.dynamodb.registry import TABLES, table_name
from console.errors import BadReference
from console.refs import unseal

MASK = "***"
# Values that are credentials or name one, whatever stands around them.
LOOKS_SECRET = re.compile(
    r"(?:arn:[a-z-]*:|(?<![A-Za-z0-9])(?:sk|pk|rk|xox[a-z]|gh[pousr])[-_][A-Za-z0-9_-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|Bearer\s+\S{8,}|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.)\S*",
    re.ASCII,
)
_PASSWORD_HASH = re.compile(r"(?<![A-Za-z0-9])(?:argon2\w*|pbkdf2_\w+|bcrypt\w*|scrypt|md5)\$[^\s'\"]+", re.ASCII)
# Session tokens are some 100 characters long; references, which may be logged, look the same until they are opened.
_LIKE_A_TOKEN = re.compile(r"[A-Za-z0-9_-]{60,400}")
_ENVIRONMENT = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SHORTEST = 8


def masked(text: str) -> str:
    """A credential as it may be shown: long ones keep their last four characters, so that two can be told apart."""
    return MASK + text[-4:] if len(text) >= 12 else MASK


def without_credentials(line: str) -> str:
    """A line for the log without credentials, and with the tables of this environment by their keys."""
    for secret in _own_secrets():
        line = line.replace(secret, MASK)
    for pattern, replacement in _PATTERNS:
        line = pattern.sub(replacement, line)
    return _without_table_names(line)


def _own_secrets() -> Iterator[str]:
    held = (
        settings.SECRET_KEY,
        *settings.SECRET_KEY_FALLBACKS,
        getattr(settings, "OIDC_CLIENT_SECRET", ""),
        getattr(settings, "CHATBOT_USER_ID_SECRET", ""),
        getattr(settings, "AUDIT_ARCHIVE_KEY", ""),
        *getattr(settings, "AUDIT_ARCHIVE_KEY_FALLBACKS", ()),
    )
    for secret in (*held, *(os.environ.get(name, "") for name in _ENVIRONMENT)):
        if len(secret) >= _SHORTEST:
            yield secret


def _session(found: re.Match[str]) -> str:
    try:
        unseal("session", found[0])
    except BadReference:
        return found[0]
    return MASK


_PATTERNS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (LOOKS_SECRET, lambda found: masked(found[0])),
    (_PASSWORD_HASH, MASK),
    (_LIKE_A_TOKEN, _session),
)


def _without_table_names(line: str) -> str:
    for key in TABLES:
        name = table_name(key)
        if name in line:
            # Not within a path or a dotted name: a table may be called like one of our packages.
            line = re.sub(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|[.]\w)", f"<{key}>", line)
    return line
