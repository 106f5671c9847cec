"""Liveness and readiness probes, answered before any other middleware."""

import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console.errors import ConsoleError
from console.schema.tables import TABLES, TableSpec
from console.store import calls
from console.store.calls import table_name
from console.store.connection import call

logger = logging.getLogger(__name__)
SAFE = ("GET", "HEAD")
NEEDED = ("STAFF", "STAFF_SESSIONS", "CONSOLE")


def alive(request: HttpRequest) -> HttpResponse:
    """Answer the liveness probe without I/O."""
    return _plain("ok") if request.method in SAFE else _not_allowed()


def ready(request: HttpRequest) -> HttpResponse:
    """Answer the readiness probe with one BatchGetItem of the console's own tables, without which no page works."""
    if request.method not in SAFE:
        return _not_allowed()
    try:
        with calls.budget(settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS + 1):
            call("BatchGetItem", RequestItems={table_name(key): {"Keys": [_nothing(TABLES[key])]} for key in NEEDED})
    except ConsoleError as error:
        logger.warning("not ready: %s", str(error) or type(error).__name__)
        return _plain("not ready", 503)
    return _plain("ready")


def _nothing(table: TableSpec) -> dict[str, dict[str, str]]:
    """Return the key of an item that does not exist."""
    return {each.name: {"S": "readiness"} for each in (table.hash, table.range) if each is not None}


def _not_allowed() -> HttpResponse:
    response = _plain("not allowed", 405)
    response.headers["Allow"] = ", ".join(SAFE)
    return response


def _plain(word: str, status: int = 200) -> HttpResponse:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return HttpResponse(f"{word}\n", status=status, content_type="text/plain", headers=headers)
