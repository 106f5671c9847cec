"""The provider's own sign-outs (OpenID Connect Back-Channel Logout 1.0): a signed token ends a person's sessions."""

import logging
from typing import Any

from django.views.decorators.debug import sensitive_variables
from joserfc.errors import JoseError
from joserfc.jwt import JWTClaimsRegistry

from console import clock
from console.staff import sessions, throttling
from console.staff.oidc import admission, configuration, id_token, provider
from console.staff.oidc import claims as claims_of
from console.staff.oidc.configuration import Configuration
from console.staff.oidc.refusals import ProviderFailed
from console.staff.oidc.transport import JUNK
from console.trail.actions import Action
from console.trail.recording import TrailEntry, build, staff_trail

logger = logging.getLogger(__name__)

EVENT = "http://schemas.openid.net/event/backchannel-logout"
# A token is for now: one from long ago could only have been kept.
MAX_AGE_SECONDS = 300


@sensitive_variables()
def end_sessions(logout_token: str, address: str) -> None:
    """End every session of the person whom a logout token names; that the console does not know them is no error.

    The token needs the person's `sub`, which providers send unless they are told to send `sid` alone. Attempts of a
    network address are counted until a token proves right. Raises `ProviderFailed`, `TooManyAttempts`, and the store's
    errors.
    """
    throttling.count("", address)
    using = configuration.current()
    claims = _verified(logout_token, using)
    throttling.forgive("", address)
    account = admission.find_linked(claims_of.subject(claims, using))
    if account is None:
        return
    payload = {"reason": "signed out at the provider"}
    entry = TrailEntry(staff_trail(account.username), Action.SESSIONS_ENDED, admission.PROVIDER, payload=payload)
    sessions.end_all(account.username, build(entry, clock.now()))


def _verified(logout_token: str, using: Configuration) -> dict[str, Any]:
    """Return the claims of a token that is valid by section 2.6 of the specification."""
    now = clock.to_epoch(clock.now())
    registry = JWTClaimsRegistry(
        now=now,
        leeway=id_token.LEEWAY_SECONDS,
        iss={"essential": True, "value": using.issuer},
        aud={"essential": True, "value": using.client_id},
        iat={"essential": True},
        jti={"essential": True},
        sub={"essential": True},
        events={"essential": True},
    )
    try:
        claims = id_token.decoded(logout_token, provider.discover(using), using).claims
        registry.validate(claims)
        id_token.check_subject(claims["sub"])
        # Without them it is another kind of token of the provider, such as an ID token.
        if not isinstance(claims["events"].get(EVENT), dict) or "nonce" in claims:
            raise ValueError("Not a logout token.")
        if now - claims["iat"] > MAX_AGE_SECONDS:
            raise ValueError("An old token.")
    except (JoseError, *JUNK) as error:
        logger.warning("A logout token was refused: %s", type(error).__name__)
        raise ProviderFailed("logout token refused") from None
    return dict(claims)
