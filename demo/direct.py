"""The console's calls to the embedded DynamoDB, handed over within the process: the same answers without a socket.

Everything on both sides of the wire stays: botocore signs, serialises, retries and parses, the embedded server decides
as for any request. What is left out are sockets and threads of the server: a ninth of the daily suite takes 36.6 s of
processor time with them, 31.3 s without (medians of three runs).
Threads that a test starts keep to the sockets: the switches from one to another there are what races are made of.
"""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import URLLib3Session

from demo.embedded import EmbeddedDynamoDB

_over_http = URLLib3Session.send
# Threads in which the console makes calls at the same time, for one request.
OWN_THREADS = "dynamodb"


class _Body(io.BytesIO):
    """What botocore reads an answer from."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        """All of it."""
        yield self.read()


@contextmanager
def handed_over(embedded: EmbeddedDynamoDB) -> Iterator[None]:
    """Requests of this process to that server go to its application at once; all others go their way."""
    host = urlsplit(embedded.endpoint).netloc

    def send(session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        if urlsplit(request.url).netloc != host or embedded.application is None or _is_raced():
            return _over_http(session, request)
        started: list[Any] = []
        body = b"".join(embedded.application(_environ(request), lambda *told: started.append(told)))
        (status, headers, *_), *_ = started
        return AWSResponse(request.url, int(status.partition(" ")[0]), dict(headers), _Body(body))  # type: ignore[arg-type]

    with mock.patch.object(URLLib3Session, "send", send):
        yield


def _is_raced() -> bool:
    """Whether this is a thread that a test (or a server that a test runs) started."""
    thread = threading.current_thread()
    return thread is not threading.main_thread() and not thread.name.startswith(OWN_THREADS)


def _environ(request: AWSPreparedRequest) -> dict[str, Any]:
    """The request as a WSGI server gives it to its application."""
    parts = urlsplit(request.url)
    body = request.body or b""
    content = body.encode() if isinstance(body, str) else bytes(body)  # type: ignore[arg-type]
    headers = {f"HTTP_{name.upper().replace('-', '_')}": _text(value) for name, value in request.headers.items()}
    environ = headers | {
        "REQUEST_METHOD": request.method,
        "PATH_INFO": parts.path or "/",
        "QUERY_STRING": parts.query,
        "HTTP_HOST": parts.netloc,
        "CONTENT_TYPE": headers.get("HTTP_CONTENT_TYPE", ""),
        "CONTENT_LENGTH": str(len(content)),
        "wsgi.input": io.BytesIO(content),
    }
    setup_testing_defaults(environ)
    return environ


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
