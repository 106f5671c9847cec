"""The console's own cookies, with their flags from the settings."""

from datetime import timedelta
from typing import Literal, cast

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage
from django.http import HttpResponseBase


class NoticeStorage(CookieStorage):
    """One-time notices ("You are signed out.") in Django's signed cookie.

    No other site of the domain and no plain http response can set a cookie with its name.
    """

    # Read at each use, as settings may change after the import.
    cookie_name = property(lambda _: settings.NOTICE_COOKIE_NAME)


def set_session_cookie(response: HttpResponseBase, token: str) -> None:
    """Set the session's token as a cookie, until the absolute limit."""
    set_cookie(response, settings.SESSION_COOKIE_NAME, token, timedelta(hours=settings.SESSION_ABSOLUTE_HOURS))


def delete_session_cookie(response: HttpResponseBase) -> None:
    """Delete the session's cookie."""
    delete_cookie(response, settings.SESSION_COOKIE_NAME)


def set_cookie(response: HttpResponseBase, name: str, value: str, lifetime: timedelta) -> None:
    """Set a cookie for this host only, with the session cookie's flags."""
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
    """Delete a cookie that `set_cookie` set."""
    response.delete_cookie(name, path=settings.SESSION_COOKIE_PATH, samesite=_same_site())


def _same_site() -> Literal["Lax", "Strict"]:
    return cast(Literal["Lax", "Strict"], settings.SESSION_COOKIE_SAMESITE)
