"""The console's own cookies, with their flags from the settings."""

from datetime import timedelta
from typing import Literal, cast

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponseBase


class NoticeStorage(CookieStorage):
    """One-time notices ("You are signed out.") in Django's signed cookie, under a name that no other site of the domain
    and no plain http answer can set."""

    # Read when it is used: whoever imports this first may run under other settings.
    cookie_name = property(lambda _: settings.NOTICE_COOKIE_NAME)


def set_session_cookie(response: HttpResponseBase, token: str) -> None:
    """Hand the browser its token, until the absolute limit."""
    set_cookie(response, settings.SESSION_COOKIE_NAME, token, timedelta(hours=settings.SESSION_ABSOLUTE_HOURS))


def delete_session_cookie(response: HttpResponseBase) -> None:
    """Make the browser forget its token."""
    delete_cookie(response, settings.SESSION_COOKIE_NAME)


def set_cookie(response: HttpResponseBase, name: str, value: str, lifetime: timedelta) -> None:
    """A cookie for this host alone, which no script reads."""
    response.set_cookie(
        name,
        value,
        max_age=lifetime,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=settings.SESSION_COOKIE_HTTPONLY,
        samesite=_same_site(),
    )


def delete_cookie(response: HttpResponseBase, name: str) -> None:
    """Make the browser forget a cookie that `set_cookie` gave it."""
    response.delete_cookie(name, path=settings.SESSION_COOKIE_PATH, samesite=_same_site())


def _same_site() -> Literal["Lax", "Strict"]:
    return cast(Literal["Lax", "Strict"], settings.SESSION_COOKIE_SAMESITE)
