"""The DynamoDB of a test: what tests use to write foreign items, look at what is stored, and count calls.

Nothing here goes through the console's client, so that a fault injected there never touches the test itself.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from botocore.client import BaseClient
from django.conf import settings

from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from console.store.calls import key_of, table_name
from console.store.connection import client as console_client
from demo.server_process import plain_client
from tests.dynoxide_gaps import DynoxideGaps

WRITES = {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}

_serialize = TypeSerializer().serialize
_deserialize = TypeDeserializer().deserialize


def to_dynamodb(item: Mapping[str, Any]) -> dict[str, Any]:
    """Plain Python as DynamoDB JSON; floats become numbers, sets become typed sets, None becomes NULL."""
    return {name: _serialize(_decimals(value)) for name, value in item.items()}


def from_dynamodb(item: Mapping[str, Any]) -> dict[str, Any]:
    """DynamoDB JSON as plain Python; whole numbers become int, sets stay sets."""
    return {name: _plain(_deserialize(value)) for name, value in item.items()}


def _decimals(value: Any) -> Any:
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Mapping):
        return {name: _decimals(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_decimals(each) for each in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, set):
        return {_plain(each) for each in value}
    return bytes(value) if isinstance(value, Binary) else value


@dataclass(frozen=True)
class SeenCall:
    """One call that the console made: `tables` are registry keys, `request` what it sent as DynamoDB JSON."""

    operation: str
    tables: tuple[str, ...]
    index: str
    request: dict[str, Any]


class Store:
    """A running DynamoDB with all tables of the registry."""

    def __init__(self, endpoint: str, *, embedded: bool = False) -> None:
        """`embedded`: it is moto, in this process."""
        self.endpoint = endpoint
        self.embedded = embedded
        self.client = plain_client(endpoint)
        # Names of the tables that this process wrote to; None: others may have written, to any.
        self._written: set[str] | None = set()
        # Called after each write of a conversation by the test itself: see tests/queue.py.
        self.after_write: Callable[[Store], None] | None = None
        if not embedded:
            self._note_writes()
            self._gaps = DynoxideGaps(endpoint)
            self._gaps.close(self.client)

    def name(self, table_key: str) -> str:
        """The table's name in the test's environment."""
        return table_name(table_key)

    def put(self, table_key: str, item: Mapping[str, Any]) -> None:
        """Write an item as another service would, replacing what is there."""
        self.client.put_item(TableName=table_name(table_key), Item=to_dynamodb(item))
        self._follow(table_key)

    def put_all(self, table_key: str, items: Any) -> None:
        """Write many items, 25 at a time."""
        requests = [{"PutRequest": {"Item": to_dynamodb(item)}} for item in items]
        self._batch(table_name(table_key), requests)
        self._follow(table_key)

    def delete_all(self, table_key: str, keys: Any) -> None:
        """Delete many items by their keys, 25 at a time."""
        requests = [{"DeleteRequest": {"Key": to_dynamodb(key)}} for key in keys]
        self._batch(table_name(table_key), requests)
        self._follow(table_key)

    def _follow(self, table_key: str) -> None:
        if table_key == "CONVERSATIONS" and self.after_write is not None:
            self.after_write(self)

    def update(self, table_key: str, key: Mapping[str, Any], **values: Any) -> None:
        """Set top-level attributes of an item, as another service would: no condition, nothing else touched."""
        names = list(values)
        self.client.update_item(
            TableName=table_name(table_key),
            Key=to_dynamodb(key),
            UpdateExpression="SET " + ", ".join(f"#n{i} = :v{i}" for i in range(len(names))),
            ExpressionAttributeNames={f"#n{i}": name for i, name in enumerate(names)},
            ExpressionAttributeValues={f":v{i}": to_dynamodb({"v": values[name]})["v"] for i, name in enumerate(names)},
        )
        self._follow(table_key)

    def delete(self, table_key: str, **key: Any) -> None:
        """Delete an item by its key."""
        self.client.delete_item(TableName=table_name(table_key), Key=to_dynamodb(key))
        self._follow(table_key)

    def raw(self, table_key: str, **key: Any) -> dict[str, Any] | None:
        """A stored item as DynamoDB JSON, or None."""
        answer = self.client.get_item(TableName=table_name(table_key), Key=to_dynamodb(key), ConsistentRead=True)
        return answer.get("Item")

    def get(self, table_key: str, **key: Any) -> dict[str, Any] | None:
        """A stored item as plain Python, or None."""
        item = self.raw(table_key, **key)
        return None if item is None else from_dynamodb(item)

    def all(self, table_key: str) -> list[dict[str, Any]]:
        """Every stored item of a table as plain Python, ordered by key."""
        spec = TABLES[table_key]
        items = [from_dynamodb(item) for item in self._scan(table_name(table_key))]
        names = [spec.hash.name] + ([spec.range.name] if spec.range else [])
        return sorted(items, key=lambda item: [str(item[name]) for name in names])

    def all_raw(self, table_key: str) -> list[dict[str, Any]]:
        """Every stored item of a table as DynamoDB JSON."""
        return self._scan(table_name(table_key))

    @contextmanager
    def calls(self) -> Iterator[list[SeenCall]]:
        """The calls that the console makes meanwhile, in any thread of this process; retries are not counted."""
        seen: list[SeenCall] = []
        events = console_client().meta.events
        name = f"seen-{id(seen)}"

        def note(params: dict[str, Any], model: Any, **_: Any) -> None:
            seen.append(_seen(model.name, params))

        events.register("before-parameter-build.dynamodb.*", note, unique_id=name)
        try:
            yield seen
        finally:
            events.unregister("before-parameter-build.dynamodb.*", unique_id=name)

    def close_gaps(self) -> None:
        """Refuse what DynamoDB refuses and dynoxide does not, to the console too."""
        if not self.embedded:
            self._gaps.close(console_client())

    def environment(self) -> dict[str, str]:
        """The environment of a child process (`manage.py …`) that is to use this store."""
        self._written = None
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "CONSOLE_ENV": settings.CONSOLE_ENV,
            "DYNAMODB_ENDPOINT": self.endpoint,
            **{f"TABLE_{key}": name for key, name in settings.TABLE_NAMES.items()},
        }

    def create_tables(self, *table_keys: str) -> None:
        """Create the tables (all if none named) of the environment that the settings name just now."""
        for key in table_keys or TABLES:
            self.client.create_table(**create_table_request(key))

    def drop_tables(self) -> None:
        """Delete the tables of the environment that the settings name just now, where they exist."""
        wanted = {table_name(key) for key in TABLES}
        for page in self.client.get_paginator("list_tables").paginate():
            for name in wanted & set(page["TableNames"]):
                self._drop(name)

    def drop_table(self, table_key: str) -> None:
        """Delete one table, as if somebody took it away."""
        self._drop(table_name(table_key))

    def _drop(self, name: str) -> None:
        self.client.update_table(TableName=name, DeletionProtectionEnabled=False)
        self.client.delete_table(TableName=name)

    def empty(self, *, alone: bool = False) -> None:
        """Delete all items of all tables. `alone`: no process that got `environment` writes any more."""
        self.after_write = None
        if self.embedded:
            return _empty_moto()
        written = self._written
        if alone or written is not None:
            self._written = set()
        for key, spec in TABLES.items():
            if written is not None and table_name(key) not in written:
                continue
            keys = [spec.hash.name] + ([spec.range.name] if spec.range else [])
            items = self._scan(table_name(key))
            requests = [{"DeleteRequest": {"Key": {name: item[name] for name in keys}}} for item in items]
            self._batch(table_name(key), requests)
        return None

    def is_empty(self) -> bool:
        """Whether no table of the registry holds anything."""
        return not any(self._scan(table_name(key)) for key in TABLES)

    def _note_writes(self) -> None:
        """A scan of each table costs a test more than most tests do, so only those that were written to are emptied."""
        send = BaseClient._make_api_call  # type: ignore[attr-defined]

        def noting(client: BaseClient, operation: str, request: dict[str, Any]) -> Any:
            if operation in WRITES and self._written is not None:
                self._written |= set(_table_names(request))
            return send(client, operation, request)

        BaseClient._make_api_call = noting  # type: ignore[attr-defined]

    def _scan(self, name: str) -> list[dict[str, Any]]:
        pages = self.client.get_paginator("scan").paginate(TableName=name, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    def _batch(self, name: str, requests: list[dict[str, Any]]) -> None:
        while requests:
            answer = self.client.batch_write_item(RequestItems={name: requests[:25]})
            requests = answer.get("UnprocessedItems", {}).get(name, []) + requests[25:]


def _table_names(request: dict[str, Any]) -> tuple[str, ...]:
    if "RequestItems" in request:
        return tuple(request["RequestItems"])
    if "TransactItems" in request:
        return tuple(op["TableName"] for item in request["TransactItems"] for op in item.values())
    return (request.get("TableName", ""),)


def _seen(operation: str, request: dict[str, Any]) -> SeenCall:
    keys = tuple(dict.fromkeys(key_of(name) or name for name in _table_names(request)))
    return SeenCall(operation, keys, str(request.get("IndexName") or ""), dict(request))


_moto_lock = threading.Lock()


def _empty_moto() -> None:
    """Straight in moto's memory: fourteen scans over HTTP would cost each test more than most tests do."""
    from moto.backends import get_backend

    with _moto_lock:
        for account in list(get_backend("dynamodb").values()):
            for backend in list(account.values()):
                for table in list(backend.tables.values()):
                    table.items.clear()
                    if table.stream_shard is not None:
                        table.stream_shard.items.clear()
