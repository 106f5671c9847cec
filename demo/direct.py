"""The console's calls to the embedded DynamoDB, handed over within the process: the same answers without a socket.

Everything on both sides of the wire stays: botocore signs, serialises, retries and parses, the embedded server decides
as for any request. What is left out are sockets and threads of the server, which take more of the processor than both.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from wsgiref.util import setup_testing_defaults

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import URLLib3Session

from demo.embedded import EmbeddedDynamoDB

_over_http = URLLib3Session.send


class _Body(io.BytesIO):
    """The body of an answer as botocore reads it."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        """Yield all of it."""
        yield self.read()


@contextmanager
def handed_over(embedded: EmbeddedDynamoDB, is_apart: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Pass requests of this process to that server to its application at once; all others go their way.

    `is_apart` says of the current thread whether it keeps to the sockets.
    """
    host = urlsplit(embedded.endpoint).netloc

    def send(session: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        if urlsplit(request.url).netloc != host or embedded.application is None or is_apart():
            return _over_http(session, request)
        started: list[Any] = []
        body = b"".join(embedded.application(_environ(request), lambda *told: started.append(told)))
        (status, headers, *_), *_ = started
        return AWSResponse(request.url, int(status.partition(" ")[0]), dict(headers), _Body(body))  # type: ignore[arg-type]

    URLLib3Session.send = send  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        URLLib3Session.send = _over_http  # type: ignore[method-assign]


def _environ(request: AWSPreparedRequest) -> dict[str, Any]:
    """Return the request as a WSGI server passes it to its application."""
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
