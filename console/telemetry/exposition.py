"""The metrics that Prometheus scrapes: `/metrics` of the web servers, with a token, and a port of each worker."""

import hmac
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, ThreadingWSGIServer, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from console.telemetry.state import StateCollector

logger = logging.getLogger(__name__)

_state = StateCollector()


def answer(request: HttpRequest) -> HttpResponse:
    """Answer a scrape with what all workers of this gunicorn counted, and the state of the queue and the workers."""
    if request.method not in ("GET", "HEAD"):
        return HttpResponse(
            "not allowed\n", "text/plain", HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"}
        )
    if not is_allowed(request.headers.get("Authorization", "")):
        headers = {"WWW-Authenticate": "Bearer"}
        return HttpResponse("unauthorized\n", "text/plain", HTTPStatus.UNAUTHORIZED, headers=headers)
    # Read the state first, because failures to read it are counted.
    registry = CollectorRegistry()
    registry.register(_state)
    state = generate_latest(registry)
    return HttpResponse(generate_latest(_counted()) + state, CONTENT_TYPE_PLAIN_0_0_4)


def is_allowed(authorization: str) -> bool:
    """Return whether an Authorization header has the token; compare it in constant time."""
    scheme, _, given = authorization.partition(" ")
    is_same = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), settings.METRICS_TOKEN.encode())
    return is_same and scheme.lower() == "bearer"


def _counted() -> CollectorRegistry:
    """Return the counts of all processes that share a directory (`console.gunicorn`), or of this one."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base class names it
        """Log nothing for a scrape."""


@contextmanager
def serving() -> Iterator[None]:
    """Serve metrics on a worker's port, if it has one. If the port is taken, log it and work without metrics."""
    server = _open() if settings.METRICS_PORT else None
    if server is not None:
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    try:
        yield
    finally:
        if server is not None:
            server.shutdown()
            server.server_close()


def _open() -> WSGIServer | None:
    try:
        return make_server(
            settings.METRICS_ADDRESS, settings.METRICS_PORT, guarded, ThreadingWSGIServer, handler_class=_Quiet
        )
    except OSError as error:
        place = f"{settings.METRICS_ADDRESS}:{settings.METRICS_PORT}"
        logger.error("There are no metrics at %s: %s. Each process needs a METRICS_PORT of its own.", place, error)
        return None


def guarded(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a scrape of a worker (WSGI). It needs the same token as the web servers, if there is one."""
    if settings.METRICS_TOKEN and not is_allowed(environ.get("HTTP_AUTHORIZATION", "")):
        start_response("401 Unauthorized", [("Content-Type", "text/plain"), ("WWW-Authenticate", "Bearer")])
        return [b"unauthorized\n"]
    if environ.get("PATH_INFO") != "/metrics":
        start_response("404 Not Found", [("Content-Type", "text/plain")])
        return [b"not found\n"]
    found: Iterable[bytes] = make_wsgi_app(REGISTRY, disable_compression=True)(environ, start_response)
    return found
