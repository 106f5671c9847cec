#!/usr/bin/env python
"""Command line of the console: `manage.py demo`, `tables`, `staff`, `companies`, `reconcile` and Django's own."""

import os
import signal
import sys


def main() -> None:
    """Run one management command."""
    try:
        if sys.argv[1:2] == ["demo"]:
            # The demo sets its own environment variables, so it starts on a machine where nothing is configured.
            from demo.environment import apply

            apply()
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
    except KeyboardInterrupt:
        # Before a command handles it itself, such as while the demo starts: no traceback, and the shell's status.
        sys.stderr.write("Stopped.\n")
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
