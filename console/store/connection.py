"""PynamoDB on the shared client: calls are counted, timed and their errors translated."""

import logging
import time
from typing import Any

from botocore.parsers import ResponseParserError
from pynamodb.connection import Connection, TableConnection
from pynamodb.connection.base import MetaTable
from pynamodb.transactions import TransactWrite

from console.errors import NotConfigured, StoreUnavailable, TableMissing, Throttled
from console.schema.tables import table_name
from console.store.calls import Call, current_budget
from console.store.client import client
from console.store.errors import TRANSLATED, reason_of, translate

logger = logging.getLogger(__name__)

# What every answer of these has. An answer without it is broken: "no items" would be a claim that nobody made.
ALWAYS_THERE = {
    "Query": "Count",
    "Scan": "Count",
    "BatchGetItem": "Responses",
    "DescribeTable": "Table",
    "DescribeTimeToLive": "TimeToLiveDescription",
    "DescribeContinuousBackups": "ContinuousBackupsDescription",
}


def call(operation: str, **kwargs: Any) -> dict[str, Any]:
    """Make one call (`Query`, `TransactWriteItems`, …) with DynamoDB JSON; raises the console's errors only."""
    tables = _tables_of(kwargs)
    started = time.perf_counter()
    answer: dict[str, Any] = {}
    failed = True
    try:
        answer = _whole(client()._make_api_call(operation, kwargs), operation, kwargs)
        failed = False
        return answer
    except TRANSLATED as error:
        translated = translate(error, tables, operation)
        if isinstance(translated, TableMissing):
            if len(tables) == 1:
                note_absent(tables[0])
        elif isinstance(translated, NotConfigured):
            _log_once(translated.detail, reason_of(error))
        elif isinstance(translated, StoreUnavailable | Throttled):
            # The page says only that it could not be read; why is for the operator. No messages: they may quote keys.
            logger.warning("%s on %s failed: %s", operation, ", ".join(tables), reason_of(error))
        raise translated from error
    finally:
        if (opened := current_budget()) is not None:
            ms = (time.perf_counter() - started) * 1000
            opened.calls.append(Call(operation, tables, str(kwargs.get("IndexName") or ""), _units(answer), ms, failed))


REMEMBER_SECONDS = 60.0
# Tables that a call found absent, by name, and when (monotonic): what pages say without asking DynamoDB again.
_absent: dict[str, float] = {}


def note_absent(name: str) -> None:
    """A call addressed this table alone, and DynamoDB said that it is not there."""
    _absent[name] = time.monotonic()


def known_absent(table_key: str) -> bool:
    """Whether a call found the table absent within the last minute. Never reads; False may only mean "not tried"."""
    noted = _absent.get(table_name(table_key))
    return noted is not None and time.monotonic() - noted < REMEMBER_SECONDS


def forget_absent() -> None:
    """Between tests, and after tables were created."""
    _absent.clear()


_reported: set[str] = set()


def _log_once(detail: str, reason: str) -> None:
    """What stays as it is until somebody sets it right is told once by each worker."""
    if detail not in _reported:
        _reported.add(detail)
        logger.error("%s (%s)", detail, reason)


def _whole(answer: dict[str, Any], operation: str, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The answer, if it has what it always has; raises `ResponseParserError` otherwise."""
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


def _units(answer: dict[str, Any]) -> float:
    capacity = answer.get("ConsumedCapacity")
    if isinstance(capacity, list):
        return sum(float(each.get("CapacityUnits") or 0) for each in capacity)
    return float(capacity.get("CapacityUnits") or 0) if isinstance(capacity, dict) else 0.0


class StoreConnection(Connection):
    """A PynamoDB connection without a client of its own."""

    @property
    def client(self) -> Any:
        """The process's one client."""
        return client()

    def _make_api_call(self, operation_name: str, operation_kwargs: dict[str, Any]) -> dict[str, Any]:
        return call(operation_name, **operation_kwargs)


class StoreTableConnection(TableConnection):
    """What a model class holds: its table's keys and indexes, over a `StoreConnection`."""

    def __init__(self, table_name: str, meta_table: MetaTable) -> None:
        self.table_name = table_name
        self.connection = StoreConnection(region="unused", host="unused")
        self.connection.add_meta_table(meta_table)


def transaction() -> TransactWrite:
    """Several writes of the console's own records that happen together or not at all."""
    return TransactWrite(connection=StoreConnection(region="unused", host="unused"))
