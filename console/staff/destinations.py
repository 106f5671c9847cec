"""Where sign-in leads: only to a path of this console, never to another site."""

from django.utils.http import url_has_allowed_host_and_scheme

MAX_LENGTH = 8_000


def safe_destination(url: str) -> str:
    """Return the path and query to redirect to; "" for anything that is not a path of this console."""
    is_path = url.startswith("/") and len(url) <= MAX_LENGTH and url.isprintable()
    return url if is_path and url != "/" and url_has_allowed_host_and_scheme(url, allowed_hosts=None) else ""
