"""Environments and their tables: which are production, and the refusal to start with another environment's tables."""

import re
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from console.schema.tables import TABLES, TableSpec, table_name

ENVIRONMENTS = ("local", "demo", "test", "dev", "development", "staging", "stage", "uat", "qa", "prod", "production")
PRODUCTION = ("prod", "production")
DEVELOPMENT = ("local", "demo", "test", "dev", "development")


def is_protected(spec: TableSpec) -> bool:
    """Whether point-in-time recovery and deletion protection are asked for in this environment."""
    return spec.protected and settings.CONSOLE_ENV not in DEVELOPMENT


def is_local_endpoint(endpoint: str) -> bool:
    """Whether a DynamoDB endpoint is on this machine or a private host, that is: not AWS."""
    host = urlsplit(endpoint).hostname or ""
    return bool(endpoint) and not host.endswith((".amazonaws.com", ".amazonaws.com.cn", ".api.aws"))


def _environment_named_in(name: str) -> str:
    words = re.split(r"[^a-z0-9]+", name.lower())
    return next((word for word in reversed(words) if word in ENVIRONMENTS), "")


def _same(one: str, other: str) -> bool:
    return one == other or {one, other} <= set(PRODUCTION) or {one, other} <= {"dev", "development"}


def assert_environment() -> None:
    """Refuse to start with another environment's tables. Raises `ImproperlyConfigured`.

    Refused: an unknown `TABLE_<KEY>`, two keys with one name, a name that carries another environment's word
    (`…-prod` under `CONSOLE_ENV=dev`), and production names or environment with an endpoint that is not AWS.
    """
    environment = settings.CONSOLE_ENV
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,30}", environment):
        raise ImproperlyConfigured("CONSOLE_ENV must be a short lowercase word such as dev, staging or prod.")
    if unknown := sorted(set(settings.TABLE_NAMES) - set(TABLES)):
        raise ImproperlyConfigured(f"Unknown table settings: {', '.join(f'TABLE_{key}' for key in unknown)}.")
    names: dict[str, str] = {}
    for key in TABLES:
        name = table_name(key)
        if name in names:
            raise ImproperlyConfigured(f"TABLE_{key} and TABLE_{names[name]} are the same table: {name}.")
        names[name] = key
        if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", name):
            raise ImproperlyConfigured(f"TABLE_{key}={name} is not a table name that DynamoDB allows.")
        # One of the platform's own names ends in "stage".
        named = _environment_named_in(name.replace(TABLES[key].base, ""))
        if named and not _same(named, environment):
            raise ImproperlyConfigured(
                f"TABLE_{key}={name} belongs to the environment {named!r}, but CONSOLE_ENV is {environment!r}."
            )
        if named in PRODUCTION and is_local_endpoint(settings.DYNAMODB_ENDPOINT):
            raise ImproperlyConfigured(
                f"TABLE_{key}={name} is a production name, but DYNAMODB_ENDPOINT is not AWS: refusing the mix."
            )
    if environment in PRODUCTION and is_local_endpoint(settings.DYNAMODB_ENDPOINT):
        raise ImproperlyConfigured("CONSOLE_ENV is production, but DYNAMODB_ENDPOINT is not AWS: refusing the mix.")
