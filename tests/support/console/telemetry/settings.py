"""The console's own settings, with a page that fails with canaries everywhere."""

from console.settings import *  # noqa: F403

ROOT_URLCONF = "tests.support.console.telemetry.urls"
