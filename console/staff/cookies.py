"""The session's cookie, with its flags from the settings."""

from typing import Literal, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase


def session_token(request: HttpRequest) -> str:
    """The token that the browser sent, or the empty string."""
    return request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")


def set_session_cookie(response: HttpResponseBase, token: str) -> None:
    """Hand the browser its token, until the absolute limit."""
    response.set_cookie(
        settings.SESSION_COOKIE_NAME,
        token,
        max_age=settings.SESSION_ABSOLUTE_HOURS * 3600,
        path=settings.SESSION_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=settings.SESSION_COOKIE_HTTPONLY,
        samesite=_same_site(),
    )


def delete_session_cookie(response: HttpResponseBase) -> None:
    """Make the browser forget its token."""
    response.delete_cookie(settings.SESSION_COOKIE_NAME, path=settings.SESSION_COOKIE_PATH, samesite=_same_site())


def _same_site() -> Literal["Lax", "Strict"]:
    return cast(Literal["Lax", "Strict"], settings.SESSION_COOKIE_SAMESITE)
