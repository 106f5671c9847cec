"""Signing in with the company's own identity provider (OpenID Connect, code flow with PKCE)."""

from django.conf import settings
from django.urls import reverse

from console.staff import sessions


def is_configured() -> bool:
    """Return whether this console offers the company's own sign-in."""
    return bool(settings.OIDC_ISSUER)


def label() -> str:
    """Return the provider's name, as in "Sign in with …"."""
    return str(settings.OIDC_NAME)


def sign_out_destination(method: str) -> str:
    """Return the page to redirect to after signing out of a session with that `StaffSession.method`; "" for none."""
    return reverse("oidc-sign-out") if method == sessions.COMPANY_SIGN_IN and is_configured() else ""
