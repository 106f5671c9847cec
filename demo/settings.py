"""Settings of `manage.py demo`: the console's own, plus the sign-in links."""

from console.settings import *  # noqa: F403
from console.settings import CONSOLE_ENV, INSTALLED_APPS, UNREADABLE_SETTINGS
from console.settings import LOGGING as CONSOLE_LOGGING

if CONSOLE_ENV == "demo":
    INSTALLED_APPS = [*INSTALLED_APPS, "demo"]
    ROOT_URLCONF = "demo.urls"
    # Keep request logs out of the terminal, where people look for the sign-in links.
    LOGGING = {
        **CONSOLE_LOGGING,
        "loggers": {**CONSOLE_LOGGING["loggers"], "console.request": {"level": "WARNING"}},  # type: ignore[dict-item]
    }
else:
    UNREADABLE_SETTINGS["CONSOLE_ENV"] = "must be demo with demo.settings, which let anybody with a link sign in"
