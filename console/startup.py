"""How every process of the console begins: with settings that are safe, or not at all."""

import os
from functools import cache
from typing import Any

import django
from django.apps import apps
from django.core import checks
from django.core.management.base import BaseCommand

# The tags of checks: of what every process asks before it begins, and of what only the web server needs besides.
SAFETY, WEB = "safety", "web"


class StartRefusal(checks.Error):
    """Why nothing starts. SILENCED_SYSTEM_CHECKS is for warnings: no setting silences one of these."""

    def is_silenced(self) -> bool:
        """Never."""
        return False


@cache
def start(*tags: str) -> None:
    """Load the applications of a process that no command begins: a web server, a Lambda.

    Raises `SystemCheckError`, which lists each refusal, while there is one with the tag "safety" or one of `tags`.
    """
    if not apps.ready:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        django.setup()
    BaseCommand().check(tags=[SAFETY, *tags], include_deployment_checks=True)


class ConsoleCommand(BaseCommand):
    """A command of the console: it runs with safe settings only, also when it is told to skip checks."""

    requires_system_checks = [SAFETY]

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run it. Raises `SystemCheckError`, which lists each refusal, before anything is read or written."""
        return super().execute(*args, **{**options, "skip_checks": False})
