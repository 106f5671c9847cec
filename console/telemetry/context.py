"""Where a log line, a span or an error report comes from: the request that is answered, or the part of the work."""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

UNMATCHED, STATIC = "unmatched", "static"


@dataclass(slots=True)
class ObservedRequest:
    """A request by its id. `spent` is the `Budget` of its DynamoDB calls, once it has one."""

    id: str
    request: HttpRequest
    spent: Any = None

    @property
    def route(self) -> str:
        """The pattern of its address, never the address: that carries sealed references."""
        match = self.request.resolver_match
        return UNMATCHED if match is None else f"/{match.route}"


_request: contextvars.ContextVar[ObservedRequest | None] = contextvars.ContextVar("observed_request", default=None)
_part: contextvars.ContextVar[str] = contextvars.ContextVar("part_of_the_work", default="")
# Of threads that no part started by itself.
_process = ""


def current_request() -> ObservedRequest | None:
    """The request that is being answered here, if any."""
    return _request.get()


@contextmanager
def answering(observed: ObservedRequest) -> Iterator[None]:
    """What happens within belongs to that request."""
    token = _request.set(observed)
    try:
        yield
    finally:
        _request.reset(token)


def current_part() -> str:
    """The part of the work beside the web servers that runs here, such as `indexer`; "" in a web server."""
    return _part.get() or _process


def enter_part(name: str) -> None:
    """This thread does that part of the work from now on."""
    _part.set(name.removeprefix("the "))


@contextmanager
def process_of(name: str) -> Iterator[None]:
    """All threads of this process that are no part's do that work."""
    global _process
    before, _process = _process, name
    try:
        yield
    finally:
        _process = before


def fields() -> dict[str, str]:
    """What every log line says of where it comes from; nothing outside of requests and the work."""
    found = {}
    if (observed := _request.get()) is not None:
        found["request_id"] = observed.id
    if part := current_part():
        found["part"] = part
    return found
