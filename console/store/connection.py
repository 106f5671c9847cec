"""The shared DynamoDB client, and PynamoDB on top of it: calls are counted and timed, and their errors translated.

PynamoDB builds a client per model class, with timeouts that add up to minutes and a parser that takes a truncated 200
for an empty response ("not found"). All calls of the console use the client made here instead.
"""

import contextvars
import http.client
import io
import json
import logging
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Condition
from typing import Any

import botocore.client
import botocore.session
from botocore import xform_name
from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from botocore.config import Config
from botocore.parsers import JSONParser, ResponseParserError, ResponseParserFactory
from cachetools import LRUCache, cached
from django.conf import settings
from pynamodb.connection import Connection, TableConnection
from pynamodb.connection.base import MetaTable
from pynamodb.transactions import TransactWrite

from console import clock, instrumentation
from console.errors import NotConfigured, StoreUnavailable, TableMissing, Throttled
from console.store.calls import (
    THROTTLING,
    TRANSLATED,
    Call,
    absent_of,
    check_deadline,
    current_budget,
    key_of,
    reason_of,
    table_name,
    translate,
)

logger = logging.getLogger(__name__)

# Outputs with timestamps, which botocore parses into datetimes.
WALKED_SHAPES = {
    "CreateTableOutput",
    "DescribeTableOutput",
    "UpdateTableOutput",
    "DeleteTableOutput",
    "DescribeContinuousBackupsOutput",
    "UpdateContinuousBackupsOutput",
}
# A member that every complete response has. Without it the response is broken, and must not be read as "no items".
ALWAYS_THERE = {
    "Query": "Count",
    "Scan": "Count",
    "BatchGetItem": "Responses",
    "DescribeTable": "Table",
    "DescribeTimeToLive": "TimeToLiveDescription",
    "DescribeContinuousBackups": "ContinuousBackupsDescription",
}


class StrictJSONParser(JSONParser):
    """Parses DynamoDB responses as plain JSON; raises for anything but a JSON object instead of treating it as empty.

    Walking botocore's response shape takes most of the CPU of reading a page and changes nothing for attribute values.
    Only table descriptions, which have timestamps, are still parsed by shape.
    """

    def _handle_json_body(self, raw_body: bytes, shape: Any) -> Any:
        try:
            parsed = json.loads(raw_body)
        except ValueError as error:
            raise ResponseParserError("The answer is not JSON.") from error
        if not isinstance(parsed, dict):
            raise ResponseParserError("The answer is not a JSON object.")
        if shape is not None and shape.name in WALKED_SHAPES:
            return self._parse_shape(shape, parsed)  # type: ignore[attr-defined]
        return parsed


class StrictParserFactory(ResponseParserFactory):
    """Creates the strict parser for the JSON protocol, and botocore's own for all others."""

    def create_parser(self, protocol_name: str) -> Any:
        """Return the parser of a protocol; called by botocore when it creates a client."""
        if protocol_name == "json":
            return StrictJSONParser(**self._defaults)  # type: ignore[attr-defined]
        return super().create_parser(protocol_name)


class _UntilDeadline(io.RawIOBase):
    """A socket's data until a fixed instant; a socket timeout would start again with every byte received."""

    def __init__(self, sock: socket.socket, file: Any, ends_at: float) -> None:
        # Keep the socket's file, and close it with this one: the socket stays open as long as its file.
        self._sock, self._file, self._ends_at = sock, file, ends_at

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into a buffer. Raises `TimeoutError`, on which urllib3 closes the connection."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("The answer took too long.")
        self._sock.settimeout(left)
        return self._sock.recv_into(buffer)

    def close(self) -> None:
        super().close()
        self._file.close()


class BoundedResponse(http.client.HTTPResponse):
    """A response that must arrive, headers and body, within `DYNAMODB_READ_TIMEOUT_SECONDS` of the request."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        ends_at = time.monotonic() + settings.DYNAMODB_READ_TIMEOUT_SECONDS
        self.fp = io.BufferedReader(_UntilDeadline(sock, self.fp, ends_at))


class _Connection(AWSHTTPConnection):
    response_class = BoundedResponse  # type: ignore[assignment]


class _TLSConnection(AWSHTTPSConnection):
    response_class = BoundedResponse  # type: ignore[assignment]


class _Pool(AWSHTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(AWSHTTPSConnectionPool):
    ConnectionCls = _TLSConnection


def _where(service: str = "dynamodb") -> tuple[str, str, str]:
    return service, settings.AWS_REGION, settings.DYNAMODB_ENDPOINT


@cached(LRUCache(2), _where, condition=Condition())
def client(service: str = "dynamodb") -> Any:
    """Return the shared client of a service, created on first use and when region or endpoint change (tests, demo)."""
    return make_client(service)


def make_client(service: str) -> Any:
    """Return a new client of `service` ("dynamodb", "dynamodbstreams") with the console's configuration."""
    session = botocore.session.get_session()
    session.register_component("response_parser_factory", StrictParserFactory())
    made: Any = session.create_client(
        service,
        region_name=settings.AWS_REGION,
        endpoint_url=settings.DYNAMODB_ENDPOINT or None,
        config=Config(
            # botocore would build one for every call from what it knows about this machine.
            user_agent="conversation-console",
            parameter_validation=False,
            connect_timeout=settings.DYNAMODB_CONNECT_TIMEOUT_SECONDS,
            read_timeout=settings.DYNAMODB_READ_TIMEOUT_SECONDS,
            max_pool_connections=settings.DYNAMODB_MAX_CONNECTIONS,
            retries={"mode": "standard", "total_max_attempts": settings.DYNAMODB_MAX_ATTEMPTS},
            tcp_keepalive=True,
        ),
    )
    if service.startswith("dynamodb"):
        # botocore has no setting for the total time of a response, nor for the connection classes.
        made._endpoint.http_session._pool_classes_by_scheme.update(http=_Pool, https=_TLSPool)
    made.meta.events.register_first("before-send.*.*", _before_send, unique_id="console-deadline")
    made.meta.events.register_first("needs-retry.*.*", _needs_retry, unique_id="console-no-late-pause")
    return made


@dataclass(slots=True)
class Attempts:
    """How often one call was sent, and how often DynamoDB throttled it."""

    made: int = 0
    throttled: int = 0


_attempts: contextvars.ContextVar[Attempts | None] = contextvars.ContextVar("dynamodb_attempts", default=None)


def _before_send(**_: Any) -> None:
    """Check that each attempt, including retries, fits into the time left of the request."""
    check_deadline()
    if (attempts := _attempts.get()) is not None:
        attempts.made += 1


def _needs_retry(response: Any = None, caught_exception: Exception | None = None, **_: Any) -> None:
    """Skip the pause before a retry that would be too late: botocore would wait up to two seconds past the deadline."""
    if (attempts := _attempts.get()) is not None and response is not None:
        attempts.throttled += (response[1].get("Error") or {}).get("Code") in THROTTLING
    if caught_exception is not None or (response is not None and response[0].status_code >= 500):
        check_deadline()


def call(operation: str, **kwargs: Any) -> dict[str, Any]:
    """Make one call (`Query`, `TransactWriteItems`, …) with DynamoDB JSON; raise only the console's errors."""
    tables = _tables_of(kwargs)
    started = time.perf_counter()
    sent_at = clock.machine_now()
    answer: dict[str, Any] = {}
    is_trouble, attempts = False, Attempts()
    token = _attempts.set(attempts)
    try:
        answer = _checked_response(getattr(client(), xform_name(operation))(**kwargs), operation, kwargs)
        clock.compare((answer.get("ResponseMetadata") or {}).get("HTTPHeaders", {}).get("date"), sent_at)
        return answer
    except TRANSLATED as error:
        translated = translate(error, tables, operation)
        if isinstance(translated, TableMissing):
            absent = tables if len(tables) == 1 else absent_of(tables, client().describe_table)
            for name in absent:
                note_absent(name)
            if len(tables) > 1 and absent:
                translated = TableMissing(" and ".join(map(key_of, absent)))
        elif isinstance(translated, StoreUnavailable | Throttled):
            is_trouble = True
            if isinstance(translated, NotConfigured):
                _log_once(translated.detail, reason_of(error))
            else:
                # The page only says that the read failed; this says why. The code only: messages may quote keys.
                logger.warning("%s on %s failed: %s", operation, ", ".join(tables), reason_of(error))
        raise translated from error
    finally:
        _attempts.reset(token)
        seconds, retries = time.perf_counter() - started, max(0, attempts.made - 1)
        units = _units(answer, tables)
        if (opened := current_budget()) is not None:
            index, ms = str(kwargs.get("IndexName") or ""), seconds * 1000
            opened.calls.append(Call(operation, index, sum(units), ms, retries, attempts.throttled))
        keys = _keys_of(tables, settings.CONSOLE_ENV)
        instrumentation.count_call(operation, keys, seconds, units)
        if retries or attempts.throttled or is_trouble:
            instrumentation.count_trouble(
                operation, keys, retries=retries, throttles=attempts.throttled, failed=is_trouble
            )


def pages(operation: str, **request: Any) -> Iterator[dict[str, Any]]:
    """Yield the answers to a `Query` or `Scan`, one call for each page. Raises the store's errors.

    Take as many as the read may cost; the last one taken has a `LastEvaluatedKey` if there is more.
    """
    while True:
        answer = call(operation, **request)
        yield answer
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last


REMEMBER_SECONDS = 60.0
# Absent tables by name, and when a call found out (monotonic), so that pages need not ask DynamoDB again.
_absent: dict[str, float] = {}


def note_absent(name: str) -> None:
    """Note that DynamoDB reported this table as missing."""
    _absent[name] = time.monotonic()


def known_absent(table_key: str) -> bool:
    """Return whether a call found the table absent within the last minute. Never reads; False may mean "not tried"."""
    noted = _absent.get(table_name(table_key))
    return noted is not None and time.monotonic() - noted < REMEMBER_SECONDS


def forget_absent() -> None:
    """Drop all notes; for tests, and after tables were created."""
    _absent.clear()


_reported: set[str] = set()


def _log_once(detail: str, reason: str) -> None:
    """Log a lasting misconfiguration once per worker."""
    if detail not in _reported:
        _reported.add(detail)
        logger.error("%s (%s)", detail, reason)


def _checked_response(answer: dict[str, Any], operation: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the response. Raises `ResponseParserError` if it lacks a member that every response has."""
    wanted = "Attributes" if kwargs.get("ReturnValues") == "ALL_NEW" else ALWAYS_THERE.get(operation)
    if wanted is not None and wanted not in answer:
        raise ResponseParserError(f"The answer has no {wanted}.")
    return answer


def _tables_of(kwargs: dict[str, Any]) -> tuple[str, ...]:
    if "TableName" in kwargs:
        return (kwargs["TableName"],)
    if "RequestItems" in kwargs:
        return tuple(kwargs["RequestItems"])
    return tuple(dict.fromkeys(op["TableName"] for item in kwargs.get("TransactItems", ()) for op in item.values()))


@lru_cache(maxsize=256)
def _keys_of(tables: tuple[str, ...], _environment: str) -> tuple[str, ...]:
    """Return the keys of tables; `_environment` is part of the cache key, because table names depend on it."""
    return tuple(key_of(name) or "other" for name in tables)


def _units(answer: dict[str, Any], tables: tuple[str, ...]) -> list[float]:
    """Return the capacity units consumed by a call, one number for each of its tables."""
    capacity = answer.get("ConsumedCapacity")
    if isinstance(capacity, dict):
        capacity = [capacity]
    spent = dict.fromkeys(tables, 0.0)
    for each in capacity or ():
        name = each.get("TableName") if each.get("TableName") in spent else next(iter(spent), "")
        spent[name] = spent.get(name, 0.0) + float(each.get("CapacityUnits") or 0)
    return [spent[name] for name in tables]


class StoreConnection(Connection):
    """A PynamoDB connection without a client of its own."""

    @property
    def client(self) -> Any:
        """The shared client of this process."""
        return client()

    def _make_api_call(self, operation_name: str, operation_kwargs: dict[str, Any]) -> dict[str, Any]:
        return call(operation_name, **operation_kwargs)


class StoreTableConnection(TableConnection):
    """The connection of a model class: its table's keys and indexes, over a `StoreConnection`."""

    def __init__(self, table_name: str, meta_table: MetaTable) -> None:
        self.table_name = table_name
        self.connection = StoreConnection(region="unused", host="unused")
        self.connection.add_meta_table(meta_table)


def transaction() -> TransactWrite:
    """Return a transaction: several writes of the console's own records that succeed or fail together."""
    return TransactWrite(connection=StoreConnection(region="unused", host="unused"))


BATCH = 100
ATTEMPTS = 3


def batch_get(
    table_key: str, keys: Sequence[dict[str, str]], attributes: Sequence[str] = (), *, consistent: bool = False
) -> list[dict[str, Any]]:
    """Return items by key, as DynamoDB JSON; absent ones are left out. No `attributes`: all of them.

    One BatchGetItem per 100 keys, and up to two more for unprocessed keys. Raises the store's errors, and
    `StoreUnavailable` if keys are still unprocessed then.
    """
    return batch_get_each((table_key, keys, attributes), consistent=consistent)[0]


def batch_get_each(
    *asked: tuple[str, Sequence[dict[str, str]], Sequence[str]], consistent: bool = False
) -> list[list[dict[str, Any]]]:
    """Return the items of several different tables, each given as for `batch_get`, which costs and raises the same."""
    found: dict[str, list[dict[str, Any]]] = {table_name(table_key): [] for table_key, _, _ in asked}
    left = [(number, key) for number, (_, keys, _) in enumerate(asked) for key in keys]
    for start in range(0, len(left), BATCH):
        wanted: dict[str, Any] = {}
        for number, key in left[start : start + BATCH]:
            table_key, _, attributes = asked[number]
            request = wanted.setdefault(table_name(table_key), _request_of(attributes, consistent=consistent))
            request["Keys"].append({part: {"S": value} for part, value in key.items()})
        for _ in range(ATTEMPTS):
            answer = call("BatchGetItem", RequestItems=wanted, ReturnConsumedCapacity="TOTAL")
            for name, items in (answer.get("Responses") or {}).items():
                found[name] += items
            wanted = answer.get("UnprocessedKeys") or {}
            if not wanted:
                break
        else:
            raise StoreUnavailable("The database could not read everything.")
    return list(found.values())


def _request_of(attributes: Sequence[str], *, consistent: bool) -> dict[str, Any]:
    request: dict[str, Any] = {"Keys": []}
    if consistent:
        request["ConsistentRead"] = True
    if attributes:
        request["ProjectionExpression"] = ", ".join(f"#{each}" for each in attributes)
        request["ExpressionAttributeNames"] = {f"#{each}": each for each in attributes}
    return request
