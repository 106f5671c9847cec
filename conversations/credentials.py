"""Credential references in configurations, never in full: what AI and channel configuration name, nobody may copy."""

import json
import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

from console.credentials import LOOKS_SECRET, MASK, masked

_WORDS = frozenset(
    {"secret", "secrets", "credential", "credentials", "cred", "creds", "token", "tokens", "key", "keys", "apikey"}
    | {"arn", "arns", "password", "passwords", "passwd", "passphrase", "pwd", "pin", "auth", "authorization"}
    | {"bearer", "signature", "cookie", "cookies"}
)
# Written as one word, without a boundary to split at: `accesstoken`, `clientsecret`.
_WITHIN = ("secret", "credential", "password", "passwd", "apikey", "accesskey", "token")
_SPLIT = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MAX_DEPTH = 64


def mask_credentials(value: Any) -> Any:
    """A plain value with every credential masked: what a key word names as one, and what looks like one.

    Long ones keep their last four characters, so that two can be told apart; short ones keep nothing. Counts of
    tokens, true, false and null stay. Reads into JSON that is kept as text.
    """
    return _walk(value, secret=False, depth=0)


def is_credential_key(key: str) -> bool:
    """Whether a key's words say that its value is a credential or refers to one."""
    words = [word.lower() for word in _SPLIT.findall(key)]
    lowered = key.lower()
    return any(word in _WORDS for word in words) or any(part in lowered for part in _WITHIN)


def _counts_tokens(key: str, value: Any) -> bool:
    """`max_tokens: 400` is a number of tokens, not a token."""
    return "tokens" in key.lower() and isinstance(value, int | float | Decimal)


def _walk(value: Any, *, secret: bool, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return MASK
    if isinstance(value, dict):
        return {
            key: each
            if _counts_tokens(str(key), each) and not secret
            else _walk(each, secret=secret or is_credential_key(str(key)), depth=depth + 1)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_walk(each, secret=secret, depth=depth + 1) for each in value]
    if value is None or isinstance(value, bool):
        return value
    if secret:
        return masked(str(value))
    return _text(value, depth) if isinstance(value, str) else value


def _text(text: str, depth: int) -> str:
    if text.lstrip()[:1] in ("{", "["):
        # What is not JSON after all is read as any other text.
        with suppress(ValueError, RecursionError):
            return json.dumps(_walk(json.loads(text), secret=False, depth=depth + 1), ensure_ascii=False, default=str)
    return LOOKS_SECRET.sub(lambda match: masked(match.group()), text)
