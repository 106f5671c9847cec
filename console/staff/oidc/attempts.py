"""One attempt to sign in, stored in a sealed cookie of the browser from the start to the return.

`state` binds the provider's answer to this browser, `nonce` the ID token to this attempt, and the PKCE verifier the
code to its initiator. The cookie is deleted at the return, whatever the outcome.
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
# Browsers drop cookies of more than 4,096 bytes; a longer destination is dropped instead.
MAX_DESTINATION_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """The values known only to the console and the browser; `destination` is where to redirect to, "" for home."""

    issuer: str
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    destination: str
    began_at: int

    def sealed(self) -> str:
        """Return the cookie's value."""
        parts = (self.issuer, self.state, self.nonce, self.verifier, self.destination, str(self.began_at))
        return refs.seal(KIND, *parts)


def begin(issuer: str, destination: str) -> Attempt:
    """Return a new attempt with that provider."""
    return Attempt(
        issuer=issuer,
        state=secrets.token_urlsafe(32),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        destination=destination if len(destination.encode()) <= MAX_DESTINATION_BYTES else "",
        began_at=clock.to_epoch(clock.now()),
    )


def resume(cookie: str, issuer: str, state: str) -> Attempt:
    """Return the attempt that an answer with that `state` belongs to. Raises `ReturnUnusable`."""
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
    """Return the attempt's destination, for starting it again; "" without one."""
    attempt = _read(cookie)
    return attempt.destination if attempt is not None else ""


def _read(cookie: str) -> Attempt | None:
    try:
        issuer, state, nonce, verifier, destination, began_at = refs.unseal(KIND, cookie, 6)
    except BadReference:
        return None
    return Attempt(issuer, state, nonce, verifier, destination, int(began_at))
