"""Signing in with the company's own identity provider (OpenID Connect, code flow with PKCE)."""

from django.conf import settings


def is_configured() -> bool:
    """Return whether this console offers the company's own sign-in."""
    return bool(settings.OIDC_ISSUER)


def label() -> str:
    """Return the provider's name, as in "Sign in with …"; "" without the company's own sign-in."""
    return str(settings.OIDC_NAME) if is_configured() else ""
