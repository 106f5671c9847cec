"""Verifying an ID token (OpenID Connect Core, section 3.1.3.7): only fully verified claims are returned."""

import logging
from typing import Any

from authlib.oidc.core import CodeIDToken
from django.views.decorators.debug import sensitive_variables
from joserfc import jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet
from joserfc.jws import JWSRegistry

from console import clock
from console.staff.oidc import provider as identity_provider
from console.staff.oidc.configuration import Configuration
from console.staff.oidc.provider import OidcProvider
from console.staff.oidc.refusals import ProviderFailed
from console.staff.oidc.transport import JUNK

logger = logging.getLogger(__name__)

# Signatures that only the provider can make: neither `none` nor HS…, whose key would be our own secret.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
KEY_TYPES = ("RSA", "EC")
# The most that the clocks of provider and console may differ.
LEEWAY_SECONDS = 60
MAX_SUBJECT = 255
CLAIMS = frozenset({"iss", "sub", "aud", "exp", "nbf", "iat", "nonce", "azp", "at_hash", "auth_time", "amr"})


@sensitive_variables()
def verified_claims(
    id_token: str, access_token: str, *, nonce: str, provider: OidcProvider, configuration: Configuration
) -> dict[str, Any]:
    """Return the claims of a token that this provider signed for this console and attempt. Raises `ProviderFailed`."""
    try:
        token = decoded(id_token, provider, configuration)
        claims = CodeIDToken(
            token.claims,
            token.header,
            {
                "iss": {"essential": True, "value": configuration.issuer},
                "aud": {"essential": True, "value": configuration.client_id},
                # Optional, but checked if present.
                "azp": {"allow_blank": False},
                "at_hash": {"allow_blank": False},
            },
            {"nonce": nonce, "client_id": configuration.client_id, "access_token": access_token},
        )
        claims.validate(now=clock.to_epoch(clock.now()), leeway=LEEWAY_SECONDS)
        check_subject(claims.get("sub"))
    except (JoseError, *JUNK) as error:
        # The libraries' messages may quote the token, so log only the exception's type.
        logger.warning("An ID token was refused: %s", type(error).__name__)
        raise ProviderFailed(f"ID token refused: {_reason(error)}") from None
    return dict(claims)


def decoded(id_token: str, provider: OidcProvider, configuration: Configuration) -> jwt.Token:
    """Return a token whose signature is valid; the provider's keys are fetched again if the cached ones do not fit."""
    try:
        return _decode(id_token, provider, identity_provider.keys(provider, configuration))
    except (InvalidKeyIdError, BadSignatureError):
        return _decode(id_token, provider, identity_provider.keys(provider, configuration, fresh=True))


def _decode(id_token: str, provider: OidcProvider, keys: list[dict[str, Any]]) -> jwt.Token:
    allowed = [name for name in ALGORITHMS if not provider.algorithms or name in provider.algorithms]
    if not allowed:
        raise ValueError("The provider signs in no way that this console accepts.")
    registry = JWSRegistry(algorithms=allowed, strict_check_header=False)
    return jwt.decode(id_token, key=_key_set(keys), registry=registry)


def _key_set(keys: list[dict[str, Any]]) -> KeySet:
    """Return the keys for signatures, skipping those that cannot be read."""
    usable = []
    for key in keys:
        if key.get("kty") in KEY_TYPES and key.get("use", "sig") == "sig":
            try:
                usable.append(JWKRegistry.import_key(key))
            except (JoseError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
                logger.warning("A key of the identity provider cannot be read and is left out.")
    return KeySet(usable)


def check_subject(subject: Any) -> None:
    """Raise `ValueError` unless a `sub` is a short text."""
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT:
        raise ValueError("The subject is not a short text.")


def _reason(error: Exception) -> str:
    """Return a word or two for the trail: the claim, or the exception's type."""
    claim = getattr(error, "claim", "")
    return f"claim {claim}" if claim in CLAIMS else type(error).__name__
