"""The keys of archives: they sign the chain, and make pseudonyms.

They are derived from AUDIT_ARCHIVE_KEY if that is set, else from SECRET_KEY, and differ by environment.
"""

import hashlib
import hmac
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

from console.errors import Invalid
from console.refs import as_letters

SHORTEST = 32


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
    secrets = own if settings.AUDIT_ARCHIVE_KEY else [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS, *own]
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
