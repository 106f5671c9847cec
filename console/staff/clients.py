"""Where a request comes from: the client's address, from trusted proxies only, and a label of the browser.

The address of a connection is for counting attempts only. Sessions and the trail show what a trusted proxy gives.
"""

from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "unknown"


def client_address(request: HttpRequest) -> str:
    """Return the client's network address; for IPv6, the /64 network that one household or machine has.

    Each of our `TRUSTED_PROXIES` proxies appends the address it got the request from to `X-Forwarded-For`, so the
    client is that many places from the right; anything further left can be forged and is ignored. If the header is too
    short or has no address in that place, the connection's address is returned.
    """
    return forwarded_address(request) or _normal(request.META.get("REMOTE_ADDR", "")) or UNKNOWN


def forwarded_address(request: HttpRequest) -> str:
    """Return the client's address as a trusted proxy gives it, as `client_address`; "" if none does."""
    place = settings.TRUSTED_PROXIES
    if place < 1:
        return ""
    hops = request.headers.get("X-Forwarded-For", "").rsplit(",", place)
    return _normal(hops[-place]) if len(hops) >= place else ""


def _without_port(text: str) -> str:
    """Remove the port that some proxies append: `192.0.2.1:443`, `[2001:db8::1]:443`."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0] if text.count(":") == 1 else text


def _normal(text: str) -> str:
    try:
        address = ip_address(_without_port(text.strip()))
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)


# Substrings of User-Agent headers. The first match wins: Edge and Opera also name Chrome, and Chrome names Safari.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def browser_label(user_agent: str) -> str:
    """Return a short label for the list of sessions, such as "Firefox on Linux"."""
    browser = next((label for sign, label in _BROWSERS if sign in user_agent), "Another browser")
    system = next((label for sign, label in _SYSTEMS if sign in user_agent), "")
    return f"{browser} on {system}" if system else browser
