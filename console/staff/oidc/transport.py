"""HTTP to the identity provider, with limits on time per request of the console and on size, without redirects."""

import io
import time
from typing import Any

import requests
from authlib.integrations.requests_client import OAuth2Session
from django.conf import settings
from requests.adapters import HTTPAdapter
from urllib3 import Timeout
from urllib3.exceptions import HTTPError

from console.staff.oidc.configuration import Configuration
from console.store.calls import current_budget

MAX_BYTES = 512 * 1024
CHUNK = 16 * 1024
# The part of the request's time reserved for finding the account and writing the session.
RESERVE_SECONDS = 1.0
PATIENCE_SECONDS = 3.0
CONNECT_SECONDS = 2.0
# What the libraries may raise for a malformed answer (JUNK), or for that and an unreachable provider (FAILURES).
JUNK = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
FAILURES = (requests.RequestException, HTTPError, OSError, *JUNK)


def get(url: str, configuration: Configuration) -> requests.Response:
    """Return the response to a GET, fully read; redirects are not followed. Raises `FAILURES`."""
    with session(configuration) as opened:
        # A custom `auth` keeps requests from reading a password from a .netrc file.
        response: requests.Response = opened.get(url, withhold_token=True, auth=_as_it_is, allow_redirects=False)
    return response


def session(configuration: Configuration, auth_method: str | None = None) -> OAuth2Session:
    """Return a session whose requests share the time that this request may still spend on the provider."""
    opened = OAuth2Session(
        configuration.client_id,
        configuration.client_secret or None,
        token_endpoint_auth_method=auth_method,
        # The environment's proxy and certificates apply to a remote provider, never to this machine.
        trust_env=not configuration.is_on_loopback,
    )
    # An uncompressed answer cannot grow while it is read.
    opened.headers["Accept-Encoding"] = "identity"
    adapter = _BoundedAdapter(_seconds_left())
    for prefix in ("https://", "http://"):
        opened.mount(prefix, adapter)
    return opened


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _seconds_left() -> float:
    """Return the seconds left for the provider: at most `PATIENCE_SECONDS`, leaving enough for the store."""
    budget = current_budget()
    left = settings.REQUEST_DEADLINE_SECONDS if budget is None else budget.remaining()
    store = settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS
    return float(min(left - store - RESERVE_SECONDS, PATIENCE_SECONDS))


class _TooLong(requests.RequestException):
    """The answer is longer than any legitimate one."""


class _BoundedAdapter(HTTPAdapter):
    """One deadline for everything that a session sends and reads, and a limit on the length of an answer."""

    def __init__(self, seconds: float) -> None:
        super().__init__(max_retries=0)
        self.deadline = time.monotonic() + seconds

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Return the response, fully read. Raises requests' errors."""
        left = self._left()
        options = dict(zip(("stream", "timeout", "verify", "cert", "proxies"), args, strict=False)) | kwargs
        options.update(stream=True, timeout=Timeout(connect=min(CONNECT_SECONDS, left), total=left))
        response = super().send(request, **options)
        body = self._body(response)
        response.raw.close()
        response.raw = io.BytesIO(body)
        return response

    def _body(self, response: requests.Response) -> bytes:
        body = bytearray()
        # read1 returns available bytes; read would wait for a whole chunk, however slowly it arrives.
        while chunk := response.raw.read1(CHUNK, decode_content=False):
            body += chunk
            if len(body) > MAX_BYTES:
                raise _TooLong
            self._left()
        return bytes(body)

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise requests.Timeout("The deadline is over.")
        return left
