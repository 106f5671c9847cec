"""What one request may spend on DynamoDB, and what it spent.

A `Budget` lives in a context variable for the length of a request (or command). Every call of the shared client is
checked against its deadline and noted in it; threads started by `parallel` share it.
"""

import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings

from console.errors import StoreUnavailable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call to DynamoDB: `units` are consumed capacity units as DynamoDB reported them, `ms` is wall time."""

    operation: str
    tables: tuple[str, ...]
    index: str
    units: float
    ms: float
    failed: bool
    # Attempts after the first one, and those that DynamoDB refused because of its rate limits.
    retries: int = 0
    throttles: int = 0


@dataclass(slots=True)
class Budget:
    """Deadline (monotonic seconds, None for none), the calls made so far, and whether one was refused for it."""

    deadline: float | None = None
    calls: list[Call] = field(default_factory=list)
    is_missed: bool = False

    def remaining(self) -> float:
        """Seconds left; infinity without a deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()


@dataclass(frozen=True, slots=True)
class RequestCost:
    """What a finished request cost: shown on the system page. `route` is the URL pattern, never the URL."""

    route: str
    calls: int
    units: float
    store_ms: float
    total_ms: float


_budget: contextvars.ContextVar[Budget | None] = contextvars.ContextVar("dynamodb_budget", default=None)
recent_costs: deque[RequestCost] = deque(maxlen=50)


def current_budget() -> Budget | None:
    """The budget of this request, if one was opened."""
    return _budget.get()


@contextmanager
def budget(seconds: float | None) -> Iterator[Budget]:
    """Open a budget of so many seconds (None: no deadline, calls are only noted)."""
    opened = Budget(None if seconds is None else time.monotonic() + seconds)
    token = _budget.set(opened)
    try:
        yield opened
    finally:
        _budget.reset(token)


@contextmanager
def stopped_clock() -> Iterator[None]:
    """What is done within counts against no deadline: it waits for something other than DynamoDB."""
    started = time.monotonic()
    try:
        yield
    finally:
        if (opened := _budget.get()) is not None and opened.deadline is not None:
            opened.deadline += time.monotonic() - started


def check_deadline() -> None:
    """Refuse to start an attempt that might not end before the deadline. Raises `StoreUnavailable`."""
    opened = _budget.get()
    if opened is None:
        return
    needed = settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS
    if opened.remaining() < needed:
        opened.is_missed = True
        raise StoreUnavailable("The database did not answer in time.")


# Shared by all requests of a worker: calls wait on the network, so a few threads serve many requests.
_PREFIX = "dynamodb"
_pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix=_PREFIX)


def submit(work: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
    """Start `work` on the shared pool with this request's budget; its result or error comes from `.result()`."""
    return _pool.submit(contextvars.copy_context().run, work, *args, **kwargs)


@contextmanager
def beside(work: Callable[..., T], *args: Any, **kwargs: Any) -> "Iterator[Future[T]]":
    """Run `work` on the shared pool beside the block, which may call `parallel`: it has ended when the block is left.

    `work` itself must not: what waits in the pool for others of the pool may wait for good.
    """
    future = submit(work, *args, **kwargs)
    try:
        yield future
    finally:
        wait([future])


def parallel(*work: Callable[[], T]) -> list[T]:
    """Run all at once, answer in order. The first error is raised after all have ended.

    Raises `RuntimeError` within work of the pool: what waits there for others of the pool may wait for good.
    """
    if len(work) < 2:
        return [each() for each in work]
    if threading.current_thread().name.startswith(_PREFIX):
        raise RuntimeError("Work of the pool must not wait for other work of the pool.")
    futures = [submit(each) for each in work]
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None:
            raise error
    return [future.result() for future in futures]
