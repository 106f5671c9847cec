"""The demo: an embedded DynamoDB with every table, filled by each app, and the console served on loopback."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from django.apps import apps
from django.conf import settings

from console.dynamodb.connection import call
from console.dynamodb.definition import create_table_request
from console.dynamodb.registry import TABLES, table_name

DemoItems = Callable[[datetime], Iterator[tuple[str, dict[str, Any]]]]
BATCH = 25


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a demo tells whoever started it."""

    url: str
    dynamodb_endpoint: str
    region: str
    environment: str
    staff: dict[str, dict[str, str]]
    tables: dict[str, str]

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {
                "url": self.url,
                "dynamodb_endpoint": self.dynamodb_endpoint,
                "region": self.region,
                "environment": self.environment,
                "staff": self.staff,
                "tables": self.tables,
            }
        )


def create_tables() -> None:
    """Create every table of the registry with its indexes and TTL."""
    for key, spec in TABLES.items():
        call("CreateTable", **create_table_request(key))
        if spec.ttl:
            call(
                "UpdateTimeToLive",
                TableName=table_name(key),
                TimeToLiveSpecification={"Enabled": True, "AttributeName": spec.ttl},
            )


def fill_tables(now: datetime) -> dict[str, int]:
    """Write the demo items of every app that has a `demo` package with `items(now)`; counts by table key."""
    counts: dict[str, int] = {}
    serializer = TypeSerializer()
    batch: list[tuple[str, dict[str, Any]]] = []
    for demo in _demos():
        items: DemoItems = demo.items
        for key, item in items(now):
            counts[key] = counts.get(key, 0) + 1
            batch.append((table_name(key), {name: serializer.serialize(value) for name, value in item.items()}))
            if len(batch) == BATCH:
                _write(batch)
                batch = []
    if batch:
        _write(batch)
    return counts


def start_services() -> Callable[[], None]:
    """Start what apps run beside the console (`start()` of their `demo` package); returns what ends it."""
    started = [demo.start() for demo in _demos() if hasattr(demo, "start")]

    def stop() -> None:
        for each in started:
            each()

    return stop


def _demos() -> Iterator[Any]:
    for config in apps.get_app_configs():
        if config.name != "console" and find_spec(f"{config.name}.demo") is not None:
            yield import_module(f"{config.name}.demo")


def _write(batch: list[tuple[str, dict[str, Any]]]) -> None:
    requests: dict[str, list[dict[str, Any]]] = {}
    for name, item in batch:
        requests.setdefault(name, []).append({"PutRequest": {"Item": item}})
    while requests:
        requests = call("BatchWriteItem", RequestItems=requests).get("UnprocessedItems") or {}


def announce(url: str, staff: dict[str, dict[str, str]]) -> Announcement:
    """What to print."""
    return Announcement(
        url=url,
        dynamodb_endpoint=settings.DYNAMODB_ENDPOINT,
        region=settings.AWS_REGION,
        environment=settings.CONSOLE_ENV,
        staff=staff,
        tables={key: table_name(key) for key in TABLES},
    )


def serve(port: int, ready: Callable[[str], None]) -> None:
    """Serve the console on 127.0.0.1 until interrupted; `ready` is told the address once the port is bound."""
    from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler

    from console.wsgi import application

    class QuietHandler(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base class names it so
            """No access log: the terminal is for the sign-ins."""

    server = ThreadedWSGIServer(("127.0.0.1", port), QuietHandler)
    server.set_app(application)
    threading.Thread(target=ready, args=(f"http://127.0.0.1:{server.server_port}",), daemon=True).start()
    with server:
        server.serve_forever()
