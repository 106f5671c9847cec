"""What can go wrong between the console and DynamoDB, made to happen at one chosen call.

Each function here is a context manager that puts a hook on the console's shared client for as long as it lasts and
yields a `Fault`. Which call it strikes: the `nth` (from 1) attempt among those that match `operation` ("" for any),
`table_key` ("" for any) and `where` (a predicate over the request as DynamoDB JSON). `times` says how many attempts
from there on. With `whole_calls`, calls are counted instead: all attempts of a call that is struck are.
Nothing waits: time-outs are raised at once and the pauses of botocore's retries are left out.
"""

import io
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import botocore.endpoint
from botocore.awsrequest import AWSResponse
from botocore.exceptions import BotoCoreError, ReadTimeoutError

from console.store.calls import key_of
from console.store.connection import client

Request = dict[str, Any]
Where = Callable[[Request], bool]
ALWAYS = 10**9


class Lost(BotoCoreError):
    """A connection that broke in a way that botocore does not retry."""

    fmt = "The connection was lost (injected)."


@dataclass
class Fault:
    """What was struck. `seen`: operations of all matching attempts, `struck`: the requests hit, in order."""

    seen: list[str] = field(default_factory=list)
    struck: list[Request] = field(default_factory=list)
    held: list[Callable[[], Any]] = field(default_factory=list)

    def deliver(self) -> list[int]:
        """Send what `hold` kept back, now, late; the HTTP statuses of the answers."""
        kept, self.held = self.held, []
        return [send().status_code for send in kept]


def fail_before(operation: str = "", *, retried: bool = False, **which: Any) -> Any:
    """The request is never sent: a lost connection, or (`retried`) a time-out, which botocore retries."""
    return _striking(operation, lambda fault, send, request: _break(request, retried), **which)


def fail_after(operation: str = "", *, retried: bool = False, **which: Any) -> Any:
    """The request is sent and carried out, but its answer is lost; `retried` makes botocore send it again."""

    def strike(fault: Fault, send: Callable[[], Any], request: Any) -> Any:
        send()
        _break(request, retried)

    return _striking(operation, strike, **which)


def answer(
    operation: str = "",
    *,
    body: bytes | Request | Callable[[Request], Request],
    status: int = 200,
    sent: bool = False,
    **which: Any,
) -> Any:
    """The console gets this answer instead: bytes as they are, a dict as JSON, or what is made of the request.

    `sent`: it is carried out too.
    """

    def strike(fault: Fault, send: Callable[[], Any], request: Any) -> Any:
        if sent:
            send()
        made = body(json.loads(request.body)) if callable(body) else body
        content = made if isinstance(made, bytes) else json.dumps(made).encode()
        return response_of(request.url, status, content)

    return _striking(operation, strike, **which)


def refuse(operation: str = "", *, code: str, message: str = "refused", status: int = 400, **which: Any) -> Any:
    """DynamoDB refuses with that error code, such as ProvisionedThroughputExceededException; nothing is carried out."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}
    return answer(operation, body=body, status=status, **which)


def hold(operation: str = "", **which: Any) -> Any:
    """The request is kept back and the console sees a lost connection; `fault.deliver()` sends it late."""

    def strike(fault: Fault, send: Callable[[], Any], request: Any) -> Any:
        fault.held.append(send)
        _break(request, retried=False)

    return _striking(operation, strike, **which)


def before(operation: str, do: Callable[[], object], **which: Any) -> Any:
    """Something happens just before the request is sent: another agent, the platform. Its own calls are not struck."""

    def strike(fault: Fault, send: Callable[[], Any], request: Any) -> Any:
        do()

    return _striking(operation, strike, **which)


def after(operation: str, do: Callable[[], object], **which: Any) -> Any:
    """Something happens after the request was carried out and before the console has its answer."""

    def strike(fault: Fault, send: Callable[[], Any], request: Any) -> Any:
        response = send()
        do()
        return response

    return _striking(operation, strike, **which)


def kill_before(operation: str = "", **which: Any) -> Any:
    """This process gets SIGKILL instead of sending. For child processes."""
    return before(operation, lambda: os.kill(os.getpid(), signal.SIGKILL), **which)


def kill_after(operation: str = "", **which: Any) -> Any:
    """This process gets SIGKILL once DynamoDB has carried the request out. For child processes."""
    return after(operation, lambda: os.kill(os.getpid(), signal.SIGKILL), **which)


@contextmanager
def dated(date: Callable[[], str]) -> Iterator[None]:
    """DynamoDB's answers have this `Date`, as AWS's do; moto's have none."""

    def on_answer(parsed: Request, **_: Any) -> None:
        parsed["ResponseMetadata"]["HTTPHeaders"]["date"] = date()

    shared = client()
    shared.meta.events.register_last("after-call.dynamodb.*", on_answer, unique_id="fault-dated")
    try:
        yield
    finally:
        shared.meta.events.unregister("after-call.dynamodb.*", unique_id="fault-dated")


@contextmanager
def _striking(
    operation: str,
    strike: Callable[[Fault, Callable[[], Any], Any], Any],
    *,
    nth: int = 1,
    times: int = 1,
    table_key: str = "",
    where: Where | None = None,
    whole_calls: bool = False,
) -> Iterator[Fault]:
    fault = Fault()
    shared = client()
    lock = threading.Lock()
    # Calls made inside a strike (by `before` and `after`) belong to the strike and are let through.
    inside = threading.local()
    # Number of each call by its id, which its attempts share.
    numbers: dict[Any, int] = {}

    def on_send(request: Any, event_name: str = "", **_: Any) -> Any:
        called = event_name.rpartition(".")[2]
        content = json.loads(request.body)
        if getattr(inside, "busy", False) or (operation and called != operation):
            return None
        if table_key and table_key not in _table_keys(content):
            return None
        if where is not None and not where(content):
            return None
        with lock:
            call_id = request.headers["amz-sdk-invocation-id"] if whole_calls else object()
            if call_id not in numbers:
                fault.seen.append(called)
                numbers[call_id] = len(fault.seen)
            if not nth <= numbers[call_id] < nth + times:
                return None
            fault.struck.append(content)
        inside.busy = True
        try:
            return strike(fault, lambda: shared._endpoint.http_session.send(request), request)
        finally:
            inside.busy = False

    # After the console's own hook, which refuses attempts past the deadline.
    name = f"fault-{id(fault)}"
    shared.meta.events.register_last("before-send.dynamodb.*", on_send, unique_id=name)
    try:
        with mock.patch.object(botocore.endpoint, "time", SimpleNamespace(sleep=lambda _: None)):
            yield fault
    finally:
        shared.meta.events.unregister("before-send.dynamodb.*", unique_id=name)


def _break(request: Any, retried: bool) -> None:
    raise ReadTimeoutError(endpoint_url=request.url) if retried else Lost()


def _table_keys(content: Request) -> set[str]:
    names = {content["TableName"]} if "TableName" in content else set(content.get("RequestItems", ()))
    names |= {op["TableName"] for item in content.get("TransactItems", ()) for op in item.values()}
    return {key_of(name) for name in names}


class _Body(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def response_of(url: str, status: int, content: bytes) -> AWSResponse:
    """An answer as botocore gets it."""
    headers = {"Content-Type": "application/x-amz-json-1.0", "x-amzn-RequestId": "injected"}
    return AWSResponse(url, status, headers, _Body(content))  # type: ignore[arg-type]
