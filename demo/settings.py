"""Settings of `manage.py demo`: the console's own, with the links that sign in."""

from django.core.exceptions import ImproperlyConfigured

from console.settings import *  # noqa: F403
from console.settings import CONSOLE_ENV, INSTALLED_APPS
from console.settings import LOGGING as CONSOLE_LOGGING

if CONSOLE_ENV != "demo":
    raise ImproperlyConfigured("demo.settings are for `manage.py demo` only: they let anybody with a link sign in.")

INSTALLED_APPS = [*INSTALLED_APPS, "demo"]
# Whoever tries it out looks for the links, and not at each request.
LOGGING = {
    **CONSOLE_LOGGING,
    "loggers": {**CONSOLE_LOGGING["loggers"], "console.request": {"level": "WARNING"}},  # type: ignore[dict-item]
}
ROOT_URLCONF = "demo.urls"
