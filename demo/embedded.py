"""A DynamoDB inside this process for the demo and the tests: moto served over HTTP, one request at a time.

moto's transactions are not atomic across threads, so a lock is held for the whole of every request; and it ignores
their tokens, so that one sent again after a time-out would meet its own effect. Two things are
refused because anything on the machine, any web page too, can reach a loopback port: requests that are not calls of
DynamoDB or DynamoDB Streams, and requests that a browser sends for a page (they carry `Origin`).
"""

import io
import json
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import IO, Any, Self, cast
from wsgiref.handlers import SimpleHandler
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

HOST = "127.0.0.1"
# The service named by `X-Amz-Target: DynamoDB_20120810.Query`, and moto's name for it.
SERVICES = {"DynamoDB_20120810": "dynamodb", "DynamoDBStreams_20120810": "dynamodbstreams"}

# DynamoDB knows the tokens of ten minutes; this many are more than a demo or a test makes in that time.
TOKENS_KEPT = 1000

StartResponse = Callable[..., Any]
WSGIApplication = Callable[[dict[str, Any], StartResponse], Iterable[bytes]]


class EmbeddedDynamoDB:
    """An in-memory DynamoDB on a loopback port.

    moto keeps its tables per process, so at most one can run at a time; `stop` forgets what was stored.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.endpoint = ""
        # What answers the requests, for callers of this process that need no socket; None while it does not run.
        self.application: WSGIApplication | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self, port: int = 0) -> str:
        """Serve on `port` (0: any free one) and return the endpoint URL. Raises `OSError` if the port is taken."""
        if self._server is not None:
            raise RuntimeError("The embedded DynamoDB is running already.")
        application = _one_at_a_time(_once_per_token(_dispatcher()))
        self._server = _Server((HOST, port or self.port), _Handler)
        self._server.set_app(application)
        self.application = application
        # A short poll only makes stop() quick; requests do not wait for it.
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="embedded-dynamodb", daemon=True
        )
        self._thread.start()
        self.endpoint = f"http://{HOST}:{self._server.server_address[1]}"
        return self.endpoint

    def stop(self) -> None:
        """Stop serving and drop all tables. Does nothing if it is not running."""
        if self._server is None:
            return
        self._server.shutdown()
        self._server.server_close()
        if self._thread is not None:
            self._thread.join()
        self._server, self._thread, self.application, self.endpoint = None, None, None, ""
        _forget()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _dispatcher() -> WSGIApplication:
    """A WSGI application that gives each call to moto's application of its service and refuses everything else."""
    from moto.moto_server.werkzeug_app import create_backend_app

    from demo import embedded_speed

    embedded_speed.apply()
    applications = {prefix: create_backend_app(service) for prefix, service in SERVICES.items()}  # type: ignore[arg-type]

    def application(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        target = str(environ.get("HTTP_X_AMZ_TARGET", "")).partition(".")[0]
        chosen = applications.get(target)
        if chosen is None or "HTTP_ORIGIN" in environ:
            body = b'{"__type":"com.amazon.coral.service#UnknownOperationException","message":"Not a DynamoDB call."}'
            start_response(
                "400 Bad Request", [("Content-Type", "application/x-amz-json-1.0"), ("Content-Length", str(len(body)))]
            )
            return [body]
        answer: Iterable[bytes] = chosen(environ, start_response)
        return answer

    return application


def _once_per_token(application: WSGIApplication) -> WSGIApplication:
    """The application, but a transaction sent again with its `ClientRequestToken` gets the answer that it had."""
    answers: OrderedDict[tuple[str, bytes], tuple[tuple[Any, ...], list[bytes]]] = OrderedDict()

    def tokened(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        if not str(environ.get("HTTP_X_AMZ_TARGET", "")).endswith(".TransactWriteItems"):
            return application(environ, start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        token = str(json.loads(body).get("ClientRequestToken", ""))
        if (token, body) not in answers:
            started: list[tuple[Any, ...]] = []
            content = list(application(environ, lambda *told: started.append(told)))
            if not token or not started[0][0].startswith("200"):
                start_response(*started[0])
                return content
            answers[token, body] = started[0], content
            if len(answers) > TOKENS_KEPT:
                answers.popitem(last=False)
        told, content = answers[token, body]
        start_response(*told)
        return content

    return tokened


def _one_at_a_time(application: WSGIApplication) -> WSGIApplication:
    """The application behind one lock, held until the answer is complete."""
    lock = threading.Lock()

    def locked(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        with lock:
            answer = application(environ, start_response)
            try:
                return list(answer)
            finally:
                close = getattr(answer, "close", None)
                if close is not None:
                    close()

    return locked


class _Handler(WSGIRequestHandler):
    """The library's handler, with connections kept open (clients pool them) and without a line per request."""

    protocol_version = "HTTP/1.1"
    # Header and body are written apart; without this, Nagle and delayed ACK add 40 ms to each answer.
    disable_nagle_algorithm = True
    # Of a connection that nobody uses; who pools it opens another.
    timeout = 60

    # One request after the other, which WSGIRequestHandler leaves out.
    handle = BaseHTTPRequestHandler.handle

    def do_POST(self) -> None:
        """A call; other methods are refused by the library."""
        length = self.headers.get("Content-Length", "0")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            self.send_error(411)
            return
        environ = self.get_environ()
        body = io.BytesIO(self.rfile.read(int(length)))
        answer = _Answer(body, cast(IO[bytes], self.wfile), sys.stderr, environ)
        answer.run(self.server.get_app())  # type: ignore[attr-defined]
        self.close_connection = self.close_connection or answer.failed

    def log_message(self, *_: Any) -> None:
        """Nothing: a line per call would drown the console's own log."""


class _Answer(SimpleHandler):
    http_version = "1.1"
    failed = False

    def handle_error(self) -> None:
        self.failed = True
        super().handle_error()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Without the library's look-up of the machine's name, which can take long."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]
        self.setup_environ()


def _forget() -> None:
    from moto.backends import get_backend

    for service in SERVICES.values():
        get_backend(service).reset()  # type: ignore[call-overload]
