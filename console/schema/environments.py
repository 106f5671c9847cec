"""Environments and their tables: which are production, and whose a name says a table is."""

import re
from urllib.parse import urlsplit

from django.conf import settings

from console.schema.tables import TableSpec

ENVIRONMENTS = ("local", "demo", "test", "dev", "development", "staging", "stage", "uat", "qa", "prod", "production")
PRODUCTION = ("prod", "production")
DEVELOPMENT = ("local", "demo", "test", "dev", "development")


def is_protected(spec: TableSpec) -> bool:
    """Whether point-in-time recovery and deletion protection are asked for in this environment."""
    return spec.protected and settings.CONSOLE_ENV not in DEVELOPMENT


def is_local_endpoint(endpoint: str) -> bool:
    """Whether a DynamoDB endpoint is on this machine or a private host, that is: not AWS."""
    try:
        host = urlsplit(endpoint).hostname or ""
    except ValueError:
        return True
    return bool(endpoint) and not host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws"))


def environment_named_in(name: str) -> str:
    """The last word of a table's name that is an environment, or the empty string."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return next((word for word in reversed(words) if word in ENVIRONMENTS), "")


def is_same_environment(one: str, other: str) -> bool:
    """Whether two words mean one environment."""
    return one == other or {one, other} <= set(PRODUCTION) or {one, other} <= {"dev", "development"}
