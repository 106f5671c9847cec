"""`manage.py tenants` as a test runs it, and all that its commands write."""

import io
from typing import Any

from django.core.management import CommandError, call_command

PHONE = "+447700900831"


def run(*args: Any) -> tuple[str, str, bool]:
    """Run `manage.py tenants`: what it printed, what it said on standard error, and whether it ended well."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("tenants", *map(str, args), stdout=out, stderr=err)
    except CommandError as error:
        err.write(f"CommandError: {error}\n")
        return out.getvalue(), err.getvalue(), False
    return out.getvalue(), err.getvalue(), True


def snapshot(store) -> dict[str, list]:
    """All that is stored in the tables that these commands write."""
    return {key: store.all(key) for key in ("TENANTS", "CONSOLE", "AUDIT")}
