"""The browser that a request comes from."""

from django.http import HttpRequest

from console.staff import devices, sessions
from console.staff.authentication import Visit
from console.staff.clients import browser_label, client_address, forwarded_address


def visit_of(request: HttpRequest, username: str = "") -> Visit:
    """Return the visit of a person who signs in or confirms a password under that username ("" if not known yet)."""
    return Visit(
        address=client_address(request),
        forwarded_address=forwarded_address(request),
        label=browser_label(request.headers.get("User-Agent", "")),
        known_as=devices.known(request, username),
        previous_token=sessions.token_of(request.COOKIES),
    )
