"""Start of every process of the console: with safe settings, or not at all."""

import os
from functools import cache
from typing import Any

import django
from django.apps import apps
from django.core import checks
from django.core.management.base import BaseCommand

# Tags of system checks: those of every process, and those of the web server alone.
SAFETY, WEB = "safety", "web"


class StartRefusal(checks.Error):
    """An error that refuses the start. SILENCED_SYSTEM_CHECKS is for warnings and cannot silence these."""

    def is_silenced(self) -> bool:
        """Return False: a refusal cannot be silenced."""
        return False


@cache
def start(*tags: str) -> None:
    """Set up Django and check the settings in a process without a command: a web server, a Lambda.

    Raises `SystemCheckError`, which lists every refusal with the tag "safety" or one of `tags`.
    """
    if not apps.ready:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        django.setup()
    BaseCommand().check(tags=[SAFETY, *tags], include_deployment_checks=True)


class ConsoleCommand(BaseCommand):
    """A command of the console: it runs only with safe settings, even with `--skip-checks`."""

    requires_system_checks = [SAFETY]

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command. Raises `SystemCheckError`, which lists every refusal, before anything is read or written."""
        return super().execute(*args, **{**options, "skip_checks": False})
