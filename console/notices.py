"""One-time notices ("You are signed out.") in a cookie, with the flags and the name that all our cookies have."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage


class NoticeStorage(CookieStorage):
    """Django's signed cookie, under a name that no other site of the domain and no plain http answer can set."""

    @property
    def cookie_name(self) -> str:  # type: ignore[override]
        """`NOTICE_COOKIE_NAME`."""
        return settings.NOTICE_COOKIE_NAME
