"""Where a request comes from: the address, as far as it can be trusted, and a label of the browser.

Addresses are for counting attempts, and never stored or shown as they are.
"""

from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest

UNKNOWN = "unknown"


def client_address(request: HttpRequest) -> str:
    """The network address of whoever asks; IPv6 as the /64 network that one household or machine has.

    Each of `TRUSTED_PROXIES` proxies of ours appends to `X-Forwarded-For` whom it got the request from, so the client
    stands as many places from the right; what stands further left is anybody's claim and is never looked at. A header
    that is too short or holds junk there counts for nothing: then it is whoever is connected.
    """
    return _forwarded(request) or _normal(request.META.get("REMOTE_ADDR", "")) or UNKNOWN


def _forwarded(request: HttpRequest) -> str:
    place = settings.TRUSTED_PROXIES
    if place < 1:
        return ""
    hops = request.headers.get("X-Forwarded-For", "").rsplit(",", place)
    return _normal(hops[-place]) if len(hops) >= place else ""


def _without_port(text: str) -> str:
    """Some proxies append the port: `192.0.2.1:443`, `[2001:db8::1]:443`."""
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


# What a User-Agent header has in it. The first that occurs wins: Edge and Opera name Chrome too, Chrome names Safari.
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
    """A short label for the list of sessions, such as "Firefox on Linux", instead of the whole User-Agent header."""
    browser = next((label for sign, label in _BROWSERS if sign in user_agent), "Another browser")
    system = next((label for sign, label in _SYSTEMS if sign in user_agent), "")
    return f"{browser} on {system}" if system else browser
