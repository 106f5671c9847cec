"""One-time notices ("You are signed out.") in a cookie, with the flags and the name that all our cookies have."""

from django.conf import settings
from django.contrib.messages.storage.cookie import CookieStorage


class NoticeStorage(CookieStorage):
    """Django's signed cookie, under a name that no other site of the domain and no plain http answer can set."""

    cookie_name = "notices" if settings.PLAIN_HTTP else "__Host-notices"
