"""Device cookies (OWASP): they name a browser that somebody signed in with, so that its attempts are counted apart.

Such a cookie does not authenticate: it only keeps an attack on a username from locking out its owner (see
`console.staff.throttling`). It is sealed, bound to one username, and outlives sessions.
"""

import secrets
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from console import refs
from console.errors import BadReference
from console.staff.accounts import normal_username
from console.staff.cookies import set_cookie

KIND = "browser"
LIFETIME = timedelta(days=180)
MAX_LENGTH = 400


def known(request: HttpRequest, typed: str) -> str:
    """Return the browser's name for that typed username; "" if it has not signed in with this browser before."""
    cookie = request.COOKIES.get(settings.BROWSER_COOKIE_NAME, "")
    if not cookie or len(cookie) > MAX_LENGTH:
        return ""
    try:
        username, browser = refs.unseal(KIND, cookie, 2)
    except BadReference:
        return ""
    return browser if username == normal_username(typed) else ""


def remember(request: HttpRequest, response: HttpResponseBase, username: str) -> None:
    """Set the cookie of a browser that this person signed in with, under the name it already has for them, if any."""
    name = known(request, username) or secrets.token_urlsafe(16)
    set_cookie(response, settings.BROWSER_COOKIE_NAME, refs.seal(KIND, username, name), LIFETIME)
