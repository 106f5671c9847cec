"""Settings of `manage.py demo`: the console's own, with the links that sign in."""

from console.settings import *  # noqa: F403
from console.settings import CONSOLE_ENV, INSTALLED_APPS, UNREADABLE_SETTINGS
from console.settings import LOGGING as CONSOLE_LOGGING

if CONSOLE_ENV == "demo":
    INSTALLED_APPS = [*INSTALLED_APPS, "demo"]
    ROOT_URLCONF = "demo.urls"
    # Whoever tries it out looks for the links, and not at each request.
    LOGGING = {
        **CONSOLE_LOGGING,
        "loggers": {**CONSOLE_LOGGING["loggers"], "console.request": {"level": "WARNING"}},  # type: ignore[dict-item]
    }
else:
    UNREADABLE_SETTINGS["CONSOLE_ENV"] = "must be demo with demo.settings, which let anybody with a link sign in"
