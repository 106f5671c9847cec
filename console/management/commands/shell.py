"""`manage.py shell`: Django's own, with safe settings only: whoever types there writes to this environment's tables."""

from django.core.management.commands import shell

from console.startup import ConsoleCommand


class Command(ConsoleCommand, shell.Command):
    """As Django has it."""
