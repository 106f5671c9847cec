"""DynamoDB calls: table names, the budget of a request, and translation of errors.

A `Budget` is in a context variable for the length of a request (or command). Every call of the shared client is
checked against its deadline and noted in it; threads started by `parallel` share it.
"""

import contextvars
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError
from django.conf import settings

from console.errors import (
    Conflict,
    ConsoleError,
    ItemFull,
    NotAccepted,
    NotConfigured,
    StoreUnavailable,
    TableMissing,
    Throttled,
)
from console.schema.tables import TABLES

T = TypeVar("T")


def table_name(key: str) -> str:
    """Return the name of a table in this environment: `TABLE_<KEY>` if set, else `<base>-<environment>`."""
    spec = TABLES[key]
    return settings.TABLE_NAMES.get(key) or f"{spec.base}-{settings.CONSOLE_ENV}"


def put_new(table_key: str, item: dict[str, Any], key: str, **options: str) -> dict[str, Any]:
    """Return the write of an item that must not exist, for a transaction. `key` names its partition key."""
    put = {"TableName": table_name(table_key), "Item": item, "ConditionExpression": f"attribute_not_exists({key})"}
    return {"Put": put | options}


def key_of(name: str) -> str:
    """Return the key of a table by its name in this environment, or ""."""
    return next((key for key in TABLES if table_name(key) == name), "")


# --- Budgets and costs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One call to DynamoDB: `units` are consumed capacity units as DynamoDB reported them, `ms` is wall time."""

    operation: str
    index: str
    units: float
    ms: float
    # Attempts after the first one, and attempts that DynamoDB throttled.
    retries: int = 0
    throttles: int = 0


@dataclass(slots=True)
class Budget:
    """A deadline (monotonic seconds, None for none), the calls made so far, and whether the deadline refused one."""

    deadline: float | None = None
    calls: list[Call] = field(default_factory=list)
    is_missed: bool = False

    def remaining(self) -> float:
        """Return the seconds left; infinity without a deadline."""
        return float("inf") if self.deadline is None else self.deadline - time.monotonic()


@dataclass(frozen=True, slots=True)
class RequestCost:
    """The cost of a finished request, for the system page. `route` is the URL pattern, never the URL."""

    route: str
    calls: int
    units: float
    store_ms: float
    total_ms: float


_budget: contextvars.ContextVar[Budget | None] = contextvars.ContextVar("dynamodb_budget", default=None)
recent_costs: deque[RequestCost] = deque(maxlen=50)


def current_budget() -> Budget | None:
    """Return the budget of this request, if one was opened."""
    return _budget.get()


@contextmanager
def budget(seconds: float | None) -> Iterator[Budget]:
    """Open a budget with a deadline in `seconds` (None: no deadline, calls are only noted)."""
    opened = Budget(None if seconds is None else time.monotonic() + seconds)
    token = _budget.set(opened)
    try:
        yield opened
    finally:
        _budget.reset(token)


@contextmanager
def paused_deadline() -> Iterator[None]:
    """Extend the deadline by the time spent inside: it waits for something other than DynamoDB."""
    started = time.monotonic()
    try:
        yield
    finally:
        if (opened := _budget.get()) is not None and opened.deadline is not None:
            opened.deadline += time.monotonic() - started


def check_deadline() -> None:
    """Raise `StoreUnavailable` if an attempt might not end before the deadline."""
    opened = _budget.get()
    if opened is None:
        return
    needed = settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS + settings.DYNAMODB_READ_TIMEOUT_SECONDS
    if opened.remaining() < needed:
        opened.is_missed = True
        raise StoreUnavailable("The database did not answer in time.")


# Shared by all requests of a worker: calls wait on the network, so a few threads serve many requests.
_PREFIX = "dynamodb"
_pool = ThreadPoolExecutor(max_workers=32, thread_name_prefix=_PREFIX)


def submit(work: Callable[..., T], *args: Any, **kwargs: Any) -> "Future[T]":
    """Start `work` on the shared pool with this request's budget; return its future."""
    return _pool.submit(contextvars.copy_context().run, work, *args, **kwargs)


@contextmanager
def run_alongside(work: Callable[..., T], *args: Any, **kwargs: Any) -> "Iterator[Future[T]]":
    """Run `work` on the shared pool during the block, which may call `parallel`; wait for it on leaving the block.

    `work` itself must not call `parallel`: a pool thread that waits for others of the pool may wait forever.
    """
    future = submit(work, *args, **kwargs)
    try:
        yield future
    finally:
        wait([future])


def parallel(*work: Callable[[], T]) -> list[T]:
    """Run all in parallel and return the results in order. The first error is raised after all have ended.

    Raises `RuntimeError` on a thread of the pool, which might wait forever for others of the pool.
    """
    if len(work) < 2:
        return [each() for each in work]
    if is_in_pool():
        raise RuntimeError("Work of the pool must not wait for other work of the pool.")
    futures = [submit(each) for each in work]
    wait(futures)
    return [future.result() for future in futures]


def is_in_pool() -> bool:
    """Return whether this thread is of the pool, and so must not run anything in parallel."""
    return threading.current_thread().name.startswith(_PREFIX)


# --- Errors -----------------------------------------------------------------------------------------------------------

THROTTLING = {
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "Throttling",
    "RequestLimitExceeded",
    "TooManyRequestsException",
    "LimitExceededException",
}
DENIED = {"AccessDeniedException", "AccessDenied"}
# Error codes for credentials that AWS does not accept.
REFUSED_CREDENTIALS = {
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
    "ExpiredTokenException",
    "ExpiredToken",
}
WITHOUT_CREDENTIALS = (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError, TokenRetrievalError)
NO_CREDENTIALS = "There are no AWS credentials. Set them, or give the machine a role."
TRANSLATED = (ClientError, BotoCoreError, ResponseParserError, ValueError)


class ConditionFailed(Conflict):
    """The condition of one write did not hold. `item` is the stored item as DynamoDB JSON, if it was requested."""

    def __init__(self, item: dict[str, Any] | None = None) -> None:
        self.item = item
        super().__init__("Somebody else changed this in the meantime.")


class TransactionRefused(Conflict):
    """A transaction was cancelled. `codes` are the reasons, one per item: checks, deletes, puts, updates."""

    def __init__(self, codes: tuple[str, ...] = (), items: tuple[dict[str, Any] | None, ...] = ()) -> None:
        self.codes = codes
        self.items = items
        super().__init__("Somebody else changed this in the meantime.")


def translate(error: Exception, tables: tuple[str, ...] = (), operation: str = "") -> ConsoleError:
    """Translate a library exception into a `ConsoleError`. `tables` are those that the call (`operation`) used."""
    if isinstance(error, ClientError):
        return _not_configured(error, tables, operation) or _translate_client_error(error, tables)
    if isinstance(error, WITHOUT_CREDENTIALS):
        return NotConfigured(NO_CREDENTIALS)
    # BotoCoreError covers timeouts, connections and credentials; after a parser error the response cannot be trusted.
    return StoreUnavailable("The database did not answer.")


def reason_of(error: Exception) -> str:
    """Return DynamoDB's error code, or the type of the error: the parts that may be logged."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "")) or "no code"
    return type(error).__name__


def _not_configured(error: ClientError, tables: tuple[str, ...], operation: str) -> NotConfigured | None:
    code = reason_of(error)
    if code in DENIED:
        what = f"dynamodb:{operation}" if operation else "a right"
        where = f" on {', '.join(tables)}" if tables else ""
        return NotConfigured(f"The console's AWS identity lacks {what}{where}: see manage.py tables policy.")
    if code in REFUSED_CREDENTIALS:
        return NotConfigured(f"AWS does not accept the console's credentials ({code}).")
    return None


# DynamoDB's words for an item that would exceed 400 KB, with its copies in local indexes.
_TOO_LARGE = re.compile(r"Item size (to update )?has exceeded the maximum allowed size")


def _translate_client_error(error: ClientError, tables: tuple[str, ...]) -> ConsoleError:
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(error.response.get("Item"))  # type: ignore[arg-type]
    if code == "TransactionCanceledException":
        return _translate_cancellation(error)
    if code == "TransactionConflictException":
        return Throttled("Another write to the same records was in progress.")
    if code in THROTTLING:
        return Throttled("The database is busy.")
    if code == "ResourceNotFoundException":
        return TableMissing(" and ".join(dict.fromkeys(key_of(name) for name in tables)))
    if code == "ValidationException":
        if _TOO_LARGE.match(error.response["Error"].get("Message", "")):
            return ItemFull()
        return NotAccepted("The database refused the request as invalid.")
    return StoreUnavailable("The database could not answer.")


def _translate_cancellation(error: ClientError) -> ConsoleError:
    reasons: list[dict[str, Any]] = error.response.get("CancellationReasons", [])  # type: ignore[assignment]
    codes = tuple(str(reason.get("Code", "None")) for reason in reasons)
    if "ConditionalCheckFailed" in codes:
        return TransactionRefused(codes, tuple(reason.get("Item") for reason in reasons))
    if any(code in {"ThrottlingError", "ProvisionedThroughputExceeded", "TransactionConflict"} for code in codes):
        return Throttled("Another write to the same records was in progress.")
    if "ValidationError" in codes:
        return NotAccepted("The database refused the request as invalid.")
    # DynamoDB always gives reasons. Without one, do not claim that somebody else changed the item.
    return StoreUnavailable("The database could not answer.")


def absent_of(tables: Iterable[str], describe: Callable[..., Any]) -> tuple[str, ...]:
    """Return which of a call's tables do not exist, as DynamoDB does not say. One `describe`, a DescribeTable, each."""
    absent = []
    for name in dict.fromkeys(tables):
        try:
            describe(TableName=name)
        except (*TRANSLATED, ConsoleError) as error:
            if isinstance(error, ClientError) and isinstance(translate(error, (name,)), TableMissing):
                absent.append(name)
    return tuple(absent)
