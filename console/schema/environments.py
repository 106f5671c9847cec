"""Environments: which are production, and which one a table's name belongs to."""

import re
from urllib.parse import urlsplit

from django.conf import settings

from console.schema.tables import TableSpec

ENVIRONMENTS = ("local", "demo", "test", "dev", "development", "staging", "stage", "uat", "qa", "prod", "production")
PRODUCTION = ("prod", "production")
DEVELOPMENT = ("local", "demo", "test", "dev", "development")


def is_protected(spec: TableSpec) -> bool:
    """Return whether the table needs point-in-time recovery and deletion protection in this environment."""
    return spec.protected and settings.CONSOLE_ENV not in DEVELOPMENT


def is_local_endpoint(endpoint: str) -> bool:
    """Return whether a DynamoDB endpoint is not AWS but on this machine or a private host."""
    try:
        host = urlsplit(endpoint).hostname or ""
    except ValueError:
        return True
    return bool(endpoint) and not host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws"))


def environment_named_in(name: str) -> str:
    """Return the last word of a table's name that is an environment, or ""."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return next((word for word in reversed(words) if word in ENVIRONMENTS), "")


def is_same_environment(one: str, other: str) -> bool:
    """Return whether two words mean the same environment."""
    return one == other or {one, other} <= set(PRODUCTION) or {one, other} <= {"dev", "development"}
