"""Signing in with the company's own identity provider (OpenID Connect, code flow with PKCE)."""

from django.conf import settings
from django.urls import reverse

from console.staff import sessions


def is_configured() -> bool:
    """Whether this console offers the company's own sign-in at all."""
    return bool(settings.OIDC_ISSUER)


def label() -> str:
    """What the button says after "Sign in with"."""
    return str(settings.OIDC_NAME)


def sign_out_destination(method: str) -> str:
    """The page to go on to after the sign-out of a session that began that way (`StaffSession.method`); "" for none."""
    return reverse("oidc-sign-out") if method == sessions.COMPANY_SIGN_IN and is_configured() else ""
