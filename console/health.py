"""Liveness and readiness probes, answered before any other middleware."""

import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from console import key_record
from console.errors import ConsoleError
from console.schema.tables import TABLES, TableSpec
from console.store import calls
from console.store.calls import table_name
from console.store.connection import call
from console.store.presence import table_ready

logger = logging.getLogger(__name__)
SAFE = ("GET", "HEAD")
NEEDED = ("STAFF", "STAFF_SESSIONS", "CONSOLE")


def alive(request: HttpRequest) -> HttpResponse:
    """Answer the liveness probe without I/O."""
    return _plain("ok") if request.method in SAFE else _not_allowed()


def ready(request: HttpRequest) -> HttpResponse:
    """Answer the readiness probe with one BatchGetItem of the console's own tables, without which no page works.

    Another SECRET_KEY than this installation's makes a server not ready, too. Without MESSAGES, which a DescribeTable
    each minute finds out, it is ready for everything but replies, and says so.
    """
    if request.method not in SAFE:
        return _not_allowed()
    try:
        with calls.budget(settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS + 1):
            wanted = {table_name(key): {"Keys": [_probed(TABLES[key])]} for key in NEEDED}
            found = call("BatchGetItem", RequestItems=wanted)["Responses"].get(table_name("CONSOLE"), [])
            lacks_messages = not table_ready("MESSAGES")
    except ConsoleError as error:
        logger.warning("not ready: %s", str(error) or type(error).__name__)
        return _plain("not ready", 503)
    if found and not key_record.opens(found[0]["sealed"]["S"]):
        logger.error("not ready: %s", key_record.ANOTHER)
        return _plain("not ready: another SECRET_KEY", 503)
    return _plain("ready, but nobody can reply: the table MESSAGES is missing" if lacks_messages else "ready")


def _probed(table: TableSpec) -> dict[str, dict[str, str]]:
    """Return the key of the record of SECRET_KEY in CONSOLE, and of an item that does not exist elsewhere."""
    if table.key == "CONSOLE":
        return {name: {"S": value} for name, value in key_record.KEY.items()}
    return {each.name: {"S": "readiness"} for each in (table.hash, table.range) if each is not None}


def _not_allowed() -> HttpResponse:
    response = _plain("not allowed", 405)
    response.headers["Allow"] = ", ".join(SAFE)
    return response


def _plain(word: str, status: int = 200) -> HttpResponse:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return HttpResponse(f"{word}\n", status=status, content_type="text/plain", headers=headers)
