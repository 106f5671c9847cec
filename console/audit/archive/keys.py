"""The key of archives: AUDIT_ARCHIVE_KEY where it is set, else derived from SECRET_KEY, for one environment."""

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
    """A key for the chain of archives and for the pseudonyms in them. `name` tells keys apart and reveals nothing."""

    secret: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """Sixteen letters."""
        return as_letters(self.mac(b"name"))[:16]

    def mac(self, *parts: bytes) -> bytes:
        """HMAC-SHA-256 over parts, each with its length, so that no two lists of parts are the same text."""
        made = hmac.new(self.secret, digestmod=hashlib.sha256)
        for part in parts:
            made.update(len(part).to_bytes(8, "big"))
            made.update(part)
        return made.digest()

    def pseudonym(self, text: str) -> str:
        """The same sixteen letters for the same text: what was masked can be told apart, and not be guessed."""
        return as_letters(self.mac(b"pseudonym", text.encode("utf-8", "surrogatepass")))[:16]


def signing_key() -> ArchiveKey:
    """The key that new archives are made with. Raises `Invalid` for a setting that is too short to be one."""
    return known_keys()[0]


def known_keys() -> tuple[ArchiveKey, ...]:
    """The key that signs, then those of before. With AUDIT_ARCHIVE_KEY none that SECRET_KEY gives: web servers have it.

    Raises `Invalid`.
    """
    own = [secret for secret in (settings.AUDIT_ARCHIVE_KEY, *settings.AUDIT_ARCHIVE_KEY_FALLBACKS) if secret]
    if any(len(secret) < SHORTEST for secret in own):
        raise Invalid(f"AUDIT_ARCHIVE_KEY and its fallbacks need at least {SHORTEST} characters.")
    if settings.AUDIT_ARCHIVE_KEY:
        return tuple(_derived(secret, settings.CONSOLE_ENV) for secret in own)
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS, *own)
    return tuple(_derived(secret, settings.CONSOLE_ENV) for secret in secrets)


@lru_cache(maxsize=8)
def _derived(secret: str, environment: str) -> ArchiveKey:
    made = HKDF(SHA256(), length=32, salt=None, info=f"console audit archive {environment}".encode())
    return ArchiveKey(made.derive(secret.encode()))
