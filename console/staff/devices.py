"""Browsers that somebody signed in with before: a cookie that names the browser, so that it is counted by itself.

OWASP calls it a device cookie. It opens nothing and proves nobody: it only keeps an attack on a name from locking out
the name's owner (see `console.staff.throttling`). It is sealed, bound to one username, and outlives sessions.
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
    """What names the browser for that username as typed; "" if nobody of that name signed in with it before."""
    cookie = request.COOKIES.get(settings.BROWSER_COOKIE_NAME, "")
    if not cookie or len(cookie) > MAX_LENGTH:
        return ""
    try:
        username, browser = refs.unseal(KIND, cookie, 2)
    except BadReference:
        return ""
    return browser if username == normal_username(typed) else ""


def remember(request: HttpRequest, response: HttpResponseBase, username: str) -> None:
    """Know the browser from now on as one that this person signed in with, by the name that it had for them."""
    name = known(request, username) or secrets.token_urlsafe(16)
    set_cookie(response, settings.BROWSER_COOKIE_NAME, refs.seal(KIND, username, name), LIFETIME)
