"""`manage.py shell`: Django's shell, only with safe settings, because it can write to this environment's tables."""

from django.core.management.commands import shell

from console.startup import ConsoleCommand


class Command(ConsoleCommand, shell.Command):
    """Django's shell, run after the console's startup checks."""
