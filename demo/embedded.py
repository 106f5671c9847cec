"""An in-process DynamoDB, SQS and Secrets Manager for the demo and the tests: moto over HTTP, one request at a time.

moto's transactions are not atomic across threads, so a lock is held for every request, except while a long poll of a
queue waits. moto also ignores transaction tokens, so this module answers a repeated token with the stored response.
Any process or web page on the machine can reach a loopback port. Therefore requests that are not calls of these
services are refused, and so are requests from web pages (they carry `Origin`).
"""

import io
import json
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable
from http.server import HTTPServer
from typing import Any, Self

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

HOST = "127.0.0.1"
# The prefix of `X-Amz-Target` (as in `DynamoDB_20120810.Query`), and moto's name for the service.
SERVICES = {
    "DynamoDB_20120810": "dynamodb",
    "DynamoDBStreams_20120810": "dynamodbstreams",
    "AmazonSQS": "sqs",
    "secretsmanager": "secretsmanager",
}

# How often a long poll looks for messages, in seconds.
POLL_SECONDS = 0.1
# DynamoDB remembers tokens for ten minutes; a demo or test uses fewer than this in that time.
TOKENS_KEPT = 1000

StartResponse = Callable[..., Any]
WSGIApplication = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]
# Content, status line and headers.
WSGIAnswer = tuple[Iterable[bytes], str, Iterable[tuple[str, str]]]

NO_CALL = b'{"__type":"com.amazon.coral.service#UnknownOperationException","message":"Not a DynamoDB call."}'


class LoopbackServer(ABC):
    """An HTTP server on a loopback port, in a thread, until it is stopped. Context manager."""

    def __init__(self) -> None:
        self.endpoint = ""
        self._server: HTTPServer | None = None

    @abstractmethod
    def start(self) -> str:
        """Start serving, and return the endpoint URL."""

    def _serve(self, server: HTTPServer, name: str) -> str:
        self._server = server
        # The short poll interval only makes stop() fast; requests do not wait for it.
        threading.Thread(target=server.serve_forever, args=(0.05,), name=name, daemon=True).start()
        self.endpoint = f"http://{HOST}:{server.server_address[1]}"
        return self.endpoint

    def stop(self) -> None:
        """Stop serving. Does nothing if it is not running."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class QuietHandler(WSGIRequestHandler):
    """Django's handler without an access log."""

    def log_message(self, *_: Any) -> None:
        """Do nothing: a line per request would drown the console's own log, and the sign-ins in the terminal."""


class EmbeddedDynamoDB(LoopbackServer):
    """An in-memory DynamoDB on a loopback port.

    moto stores its tables per process, so only one can run at a time; `stop` deletes everything that was stored.
    """

    def __init__(self) -> None:
        super().__init__()
        # The WSGI application, for callers in this process that need no socket; None while it is not running.
        self.application: WSGIApplication | None = None

    def start(self) -> str:
        """Serve on a free port and return the endpoint URL."""
        if self._server is not None:
            raise RuntimeError("The embedded DynamoDB is running already.")
        self.application = _Dispatcher()
        server = _Server((HOST, 0), _RequestHandler)
        server.set_app(self.application)
        return self._serve(server, "embedded-dynamodb")

    def stop(self) -> None:
        """Stop serving and drop all tables. Does nothing if it is not running."""
        if self._server is None:
            return
        from moto.backends import get_backend

        super().stop()
        self.application, self.endpoint = None, ""
        for service in SERVICES.values():
            get_backend(service).reset()  # type: ignore[call-overload]


class _Dispatcher:
    """A WSGI application that passes each call to moto's application for the service, and refuses everything else."""

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import create_backend_app

        from demo import embedded_speed

        embedded_speed.apply()
        # moto copies an expression by recursion: some hundred places to remove are too deep otherwise.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))
        self._services: dict[str, WSGIApplication] = {
            prefix: embedded_speed.dynamodb if service == "dynamodb" else create_backend_app(service)  # type: ignore[arg-type]
            for prefix, service in SERVICES.items()
        }
        self._answers: OrderedDict[tuple[str, bytes], WSGIAnswer] = OrderedDict()
        self._lock, self._one_transaction = threading.Lock(), threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        prefix, _, operation = str(environ.get("HTTP_X_AMZ_TARGET", "")).partition(".")
        service, length = self._services.get(prefix), str(environ.get("CONTENT_LENGTH") or 0)
        has_length = length.isascii() and length.isdigit() and "HTTP_TRANSFER_ENCODING" not in environ
        if service is None or not has_length or "HTTP_ORIGIN" in environ:
            # Without a length, the server closes the connection: it cannot know where the next call begins.
            start_response("400 Bad Request", [("Content-Type", "application/x-amz-json-1.0")])
            return iter([NO_CALL])
        answered = {"TransactWriteItems": self._transacted, "ReceiveMessage": self._received}.get(operation, self._once)
        content, status, headers = answered(service, environ, environ["wsgi.input"].read(int(length)))
        start_response(status, list(headers))
        return content

    def _once(self, service: WSGIApplication, environ: dict[str, Any], body: bytes) -> WSGIAnswer:
        from werkzeug.test import run_wsgi_app

        environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        with self._lock:
            content, status, headers = run_wsgi_app(service, environ, buffered=True)
        return list(content), status, headers

    def _transacted(self, service: WSGIApplication, environ: dict[str, Any], body: bytes) -> WSGIAnswer:
        """Execute a transaction; answer one with a known token and body with the stored response."""
        key = str(json.loads(body).get("ClientRequestToken", "")), body
        with self._one_transaction:
            if answer := self._answers.get(key):
                return answer
            answer = self._once(service, environ, body)
            if key[0] and answer[1].startswith("200"):
                self._answers[key] = answer
                if len(self._answers) > TOKENS_KEPT:
                    self._answers.popitem(last=False)
        return answer

    def _received(self, service: WSGIApplication, environ: dict[str, Any], body: bytes) -> WSGIAnswer:
        """Poll a queue until it has messages or the wait is over; moto's own long poll would block all other calls."""
        wanted = json.loads(body)
        end = time.monotonic() + wanted.get("WaitTimeSeconds", 0)
        body = json.dumps(wanted | {"WaitTimeSeconds": 0}).encode()
        while True:
            content, status, headers = self._once(service, environ, body)
            if not status.startswith("200") or time.monotonic() >= end or json.loads(b"".join(content)).get("Messages"):
                return content, status, headers
            time.sleep(POLL_SECONDS)


class _RequestHandler(QuietHandler):
    """A handler that keeps connections open for clients that pool them."""

    # Headers and body are written separately; without this, Nagle and delayed ACK add 40 ms to each response.
    disable_nagle_algorithm = True
    # Seconds until an idle connection is closed; clients that pool it open another.
    timeout = 60


class _Server(ThreadedWSGIServer):
    # Pending connections.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report a request that failed, but not the timeout of an idle connection."""
        if not isinstance(sys.exception(), TimeoutError):
            super().handle_error(request, client_address)
