"""One attempt to sign in, from the start to the return: what the browser carries in a sealed cookie meanwhile.

`state` ties the provider's answer to this browser, `nonce` the ID token to this attempt, and the PKCE verifier the
code to whoever began. The cookie is deleted at the return, whatever comes of it.
"""

import secrets
from dataclasses import dataclass, field
from datetime import timedelta

from django.utils.crypto import constant_time_compare

from console import clock, refs
from console.errors import BadReference
from console.staff.oidc.refusals import ReturnUnusable

KIND = "company-sign-in"
LIFETIME = timedelta(minutes=10)
# Browsers keep no cookie of more than 4,096 bytes; a longer destination is forgone.
MAX_DESTINATION_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """What only the console and the browser that began know; `destination` is where to go on to, "" for home."""

    issuer: str
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    destination: str
    began_at: int

    def sealed(self) -> str:
        """As the cookie holds it."""
        parts = (self.issuer, self.state, self.nonce, self.verifier, self.destination, str(self.began_at))
        return refs.seal(KIND, *parts)


def begin(issuer: str, destination: str) -> Attempt:
    """A fresh attempt with that provider."""
    return Attempt(
        issuer=issuer,
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        destination=destination if len(destination.encode()) <= MAX_DESTINATION_BYTES else "",
        began_at=clock.to_epoch(clock.now()),
    )


def resume(cookie: str, issuer: str, state: str) -> Attempt:
    """The attempt that an answer with that `state` belongs to. Raises `ReturnUnusable`."""
    attempt = _read(cookie)
    if attempt is None:
        raise ReturnUnusable("no sign-in under way in this browser")
    if not constant_time_compare(attempt.state, state):
        raise ReturnUnusable("state of another sign-in")
    if attempt.issuer != issuer:
        raise ReturnUnusable("begun with another provider")
    if not 0 <= clock.to_epoch(clock.now()) - attempt.began_at < LIFETIME.total_seconds():
        raise ReturnUnusable("took too long")
    return attempt


def destination_of(cookie: str) -> str:
    """Where the attempt was to lead, to start it again; "" without one."""
    attempt = _read(cookie)
    return attempt.destination if attempt is not None else ""


def _read(cookie: str) -> Attempt | None:
    try:
        issuer, state, nonce, verifier, destination, began_at = refs.unseal(KIND, cookie, 6)
    except BadReference:
        return None
    return Attempt(issuer, state, nonce, verifier, destination, int(began_at))
