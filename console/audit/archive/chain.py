"""The chain: each line carries a keyed digest of itself and of all lines before it, in this and earlier files.

A line is the JSON `{"line":17,"trail":"…","entry":{…},"chain":"…"}`, whose last member covers every byte before it. The
key is derived from AUDIT_ARCHIVE_KEY if that is set, else from SECRET_KEY, and differs by environment.
"""

import hashlib
import hmac
import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from console.errors import Invalid
from console.refs import as_letters
from console.trees import text_of

SHORTEST = 32

# A DynamoDB item has at most 400 KB, and JSON escapes make it at most six times as long.
MAX_LINE_BYTES = 4 << 20
_NUMBER = re.compile(rb'\{"line":(\d{1,15}),"trail":"[a-p]{16}","entry":\{')
_SEAL = re.compile(rb'(?P<body>.*),"chain":"(?P<value>[a-p]{64})"\}\n', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ArchiveKey:
    """A key for the chain of archives and their pseudonyms."""

    secret: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """Sixteen letters that identify the key without revealing it."""
        return as_letters(self.mac(b"name"))[:16]

    def mac(self, *parts: bytes) -> bytes:
        """Return the HMAC-SHA-256 of the parts, each prefixed with its length so that different lists never collide."""
        made = hmac.new(self.secret, digestmod=hashlib.sha256)
        for part in parts:
            made.update(len(part).to_bytes(8, "big"))
            made.update(part)
        return made.digest()

    def pseudonym(self, text: str) -> str:
        """Return sixteen letters, equal for equal texts, so that masked values can be compared but not guessed."""
        return as_letters(self.mac(b"pseudonym", text.encode("utf-8", "surrogatepass")))[:16]


def signing_key() -> ArchiveKey:
    """Return the key for new archives. Raises `Invalid` for a setting that is too short."""
    return known_keys()[0]


def known_keys() -> tuple[ArchiveKey, ...]:
    """Return the signing key, then earlier ones. Raises `Invalid`.

    If AUDIT_ARCHIVE_KEY is set, none of them comes from SECRET_KEY, which web servers have.
    """
    own = own_secrets()
    if settings.AUDIT_ARCHIVE_KEY:
        return tuple(_derived(secret, settings.CONSOLE_ENV) for secret in own)
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS, *own)
    return tuple(_derived(secret, settings.CONSOLE_ENV) for secret in secrets)


def own_secrets() -> list[str]:
    """Return AUDIT_ARCHIVE_KEY and its fallbacks, without empty ones. Raises `Invalid` for one that is too short."""
    own = [secret for secret in (settings.AUDIT_ARCHIVE_KEY, *settings.AUDIT_ARCHIVE_KEY_FALLBACKS) if secret]
    if any(len(secret) < SHORTEST for secret in own):
        raise Invalid(f"AUDIT_ARCHIVE_KEY and its fallbacks need at least {SHORTEST} characters.")
    return own


@lru_cache(maxsize=8)
def _derived(secret: str, environment: str) -> ArchiveKey:
    made = HKDF(SHA256(), length=32, salt=None, info=f"console audit archive {environment}".encode())
    return ArchiveKey(made.derive(secret.encode()))


class Chain:
    """A chain that begins with its archive's header. `value` is its digest after `lines` lines."""

    def __init__(self, key: ArchiveKey, header: bytes) -> None:
        self._key = key
        self.value = as_letters(key.mac(b"begin", header))
        self.lines = 0

    def seal(self, trail: str, entry: dict[str, Any]) -> bytes:
        """Append an entry and return its line, with the line feed. `trail` is the pseudonym of the entry's trail."""
        text = json.dumps(entry, separators=(",", ":"), sort_keys=True, default=text_of)
        body = f'{{"line":{self.lines + 1},"trail":"{trail}","entry":{text}'.encode()
        self.value, self.lines = self._next(body), self.lines + 1
        return body + f',"chain":"{self.value}"}}\n'.encode()

    def check(self, line: bytes) -> str:
        """Describe what is wrong with the next line ("" if nothing), then continue from the number and digest in it."""
        sealed, number = _SEAL.fullmatch(line), _NUMBER.match(line)
        if sealed is None or number is None:
            self.lines += 1
            return "this line is not from an archive"
        said, expected = int(number[1]), self.lines + 1
        value = sealed["value"].decode()
        is_whole = hmac.compare_digest(self._next(sealed["body"]), value)
        # After a break, continue from the line's own digest, so that one edit is one finding.
        self.value, self.lines = value, said
        if is_whole and said == expected:
            return ""
        if said == expected:
            return f"entry {expected} was changed, or the key is different"
        if said < expected:
            return f"entry {said} is where entry {expected} should be: it was moved or repeated"
        which = f"entry {expected} is" if said == expected + 1 else f"entries {expected} to {said - 1} are"
        return f"{which} missing before this line"

    def stand_at(self, value: str, lines: int) -> None:
        """Continue from a known position, after a damaged file."""
        self.value, self.lines = value, lines

    def head(self, rest: bytes) -> str:
        """Return the digest that closes the chain over the rest of the manifest."""
        return as_letters(self._key.mac(b"head", self.value.encode(), rest))

    def _next(self, body: bytes) -> str:
        return as_letters(self._key.mac(b"line", self.value.encode(), body))
