"""Signing out at the provider, after signing out here."""

from console.staff.oidc import configuration, provider
from console.staff.oidc.refusals import ProviderFailed


def destination(return_to: str) -> str:
    """Return the provider's sign-out URL, which leads back to `return_to`; "" if it has none or does not answer."""
    using = configuration.current()
    try:
        return provider.end_session_url(provider.discover(using), using, return_to=return_to)
    except ProviderFailed:
        return ""
