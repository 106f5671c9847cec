"""Signing out at the provider too, after the sign-out here."""

from console.staff.oidc import configuration, provider
from console.staff.oidc.refusals import ProviderFailed


def destination(return_to: str) -> str:
    """The provider's page for that, which leads back to `return_to`; "" where it has none or does not answer."""
    using = configuration.current()
    try:
        return provider.end_session_url(provider.discover(using), using, return_to=return_to)
    except ProviderFailed:
        return ""
