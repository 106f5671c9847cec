"""Sealed references and cursors, which replace keys with phone numbers and emails in URLs.

AES-SIV over the parts, base64url. Deterministic, so that links can be bookmarked and compared; authenticated, so
that a tampered reference, or one of another environment or kind, is refused before any read. The key comes from
SECRET_KEY and the environment's name; SECRET_KEY_FALLBACKS keep old links valid through a rotation. Two references
to the same item may be sealed with different keys, so compare their contents, not the references.
"""

import base64
import binascii
import hashlib
import hmac
import json
from functools import lru_cache
from typing import Any, Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from console.errors import BadReference
from console.redaction import pseudonym

# A page of rows seals dozens of values, and json.dumps would build an encoder for each.
_written = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, sort_keys=True).encode
# A conversation's reference is about 90 characters; keys of 3 KB (DynamoDB's 2 KB + 1 KB) make some 4,100. With method
# and path it has to fit into the 8,190 characters that gunicorn allows the first line of a request.
MAX_LENGTH = 8_000
SHORTEST_DIGEST = 12


@lru_cache(maxsize=8)
def _cipher(secret: str, environment: str) -> AESSIV:
    derived = HKDF(SHA256(), length=64, salt=None, info=f"console reference {environment}".encode()).derive(
        secret.encode()
    )
    return AESSIV(derived)


def seal(kind: str, *parts: str) -> str:
    """Seal parts as a reference of that kind, safe in a URL path segment or query value."""
    return seal_data(kind, list(parts))


def unseal(kind: str, reference: str, count: int | None = None) -> tuple[str, ...]:
    """Return the parts of a reference. Raises `BadReference` if it is not of that kind (and of `count` parts)."""
    data = unseal_data(kind, reference)
    if not isinstance(data, list) or not all(isinstance(part, str) for part in data):
        raise BadReference
    if count is not None and len(data) != count:
        raise BadReference
    return tuple(data)


def seal_data(kind: str, data: Any) -> str:
    """Seal any JSON value."""
    text = _written(data).encode("utf-8", "surrogatepass")
    sealed = _cipher(settings.SECRET_KEY, settings.CONSOLE_ENV).encrypt(text, [kind.encode()])
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def unseal_data(kind: str, reference: str) -> Any:
    """Return the JSON value of a sealed reference of that kind. Raises `BadReference`."""
    if not reference or len(reference) > MAX_LENGTH or not reference.isascii():
        raise BadReference
    try:
        sealed = base64.b64decode(reference + "=" * (-len(reference) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadReference from error
    # base64 can spell the same bytes in several ways; only the canonical one is valid, so that one item has one URL.
    if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != reference:
        raise BadReference
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            text = _cipher(secret, settings.CONSOLE_ENV).decrypt(sealed, [kind.encode()])
        except (InvalidTag, ValueError):
            continue
        return json.loads(text.decode("utf-8", "surrogatepass"))
    raise BadReference


_HEX_AS_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


def as_letters(digest: bytes) -> str:
    """Write a digest in letters a to p, two per byte, because hex digits can look like a phone number."""
    return digest.hex().translate(_HEX_AS_LETTERS)


def keyed_digest(text: str) -> str:
    """Return a digest of 64 letters that only this console can make.

    Forms include it for the state they showed, and ids to hide their source. Cut it to no fewer than `SHORTEST_DIGEST`
    letters, and compare it with `is_digest_of`.
    """
    return _digest(text, settings.SECRET_KEY)


def is_digest_of(digest: str, text: str) -> bool:
    """Tell whether this is a digest of the text, whole or cut, made with the current key or a fallback."""
    return len(digest) >= SHORTEST_DIGEST and any(
        hmac.compare_digest(_digest(text, secret)[: len(digest)].encode(), digest.encode("utf-8", "replace"))
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )


def keyed_pseudonym(text: str) -> str:
    """Return the keyed pseudonym of a text, 16 letters: equal texts match, and nobody can guess the text."""
    return as_letters(bytes.fromhex(pseudonym(text, _mac_key(settings.SECRET_KEY, settings.CONSOLE_ENV, "pseudonym"))))


def _digest(text: str, secret: str) -> str:
    key = _mac_key(secret, settings.CONSOLE_ENV, "digest")
    return as_letters(hmac.digest(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256))


@lru_cache(maxsize=16)
def _mac_key(secret: str, environment: str, purpose: Literal["digest", "pseudonym"]) -> bytes:
    """Derive a key for one purpose, so that its outputs reveal nothing about those of another."""
    return HKDF(SHA256(), length=32, salt=None, info=f"console {purpose} {environment}".encode()).derive(
        secret.encode()
    )


def seal_cursor(position: Any, *binding: str) -> str:
    """Seal a position in a list, bound to its index, partition, filters and member of staff."""
    return seal_data("cursor\0" + "\0".join(binding), position)


def unseal_cursor(cursor: str, *binding: str) -> Any | None:
    """Return the position, or None for a foreign or stale cursor, in which case the list starts again."""
    try:
        return unseal_data("cursor\0" + "\0".join(binding), cursor)
    except BadReference:
        return None
