"""All items of the demo; create the tables and write the items."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from boto3.dynamodb.types import TypeSerializer

from console.audit.review.plan import BackfillState
from console.clock import to_iso
from console.permissions import Owner, OwnerKind
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from console.store.calls import table_name
from console.store.connection import call
from conversations.attention.levels import COMPANY, partition_of
from conversations.companies import PARTITION
from conversations.team.saved_replies import service as saved_replies
from demo import chats, conversations, read_toml, tenant_conversations, tenants, threads, volume

Record = tuple[str, dict[str, Any]]
BATCH = 25
_SAVED_REPLIES: list[dict[str, Any]] = read_toml("saved-replies")["saved"]


def items(now: datetime, further: int = 0) -> Iterator[Record]:
    """Yield every item as (table key, item in plain Python for boto3's serializer), with so many further companies.

    The same aware `now` gives the same items; all times are relative to it. Raises `ValueError` for a naive `now`, and
    `DialogueError` for a dialogue that cannot be parsed.
    """
    if now.tzinfo is None:
        raise ValueError("now must be aware")
    now = now.astimezone(UTC)
    companies = volume.further_companies(further)
    for company in (*conversations.COMPANIES, *companies):
        if company.get("registered", True):
            yield "CONSOLE", {"pk": PARTITION, "sk": company["id"], "name": company["name"], "source": "demo"}
        if levels := company.get("service_levels"):
            yield "CONSOLE", {"pk": partition_of(company["id"]), "sk": COMPANY, "version": 1, **levels}
        for number, group in enumerate(company.get("group", ()), 1):
            yield "CONSOLE", {"pk": f"GROUPS#{company['id']}", "sk": f"group{number}", "version": 1, **group}
    # Every entry of the demo is written with its review partition.
    partition, sort_key = BackfillState.KEY
    yield "CONSOLE", {"pk": partition, "sk": sort_key, "done_at": to_iso(now), "written": 0}
    yield from _saved_replies(now)
    for part in (conversations, volume, tenant_conversations, chats, threads, tenants):
        yield from part.items(now)
    yield from volume.further_items(companies, now)


def _saved_replies(now: datetime) -> Iterator[Record]:
    for each in _SAVED_REPLIES:
        kind = next((kind for kind in OwnerKind if kind.value in each), OwnerKind.ALL)
        partition = saved_replies.partition_of(Owner(kind, each.get(kind.value, "")))
        yield (
            "CONSOLE",
            {
                "pk": partition,
                "sk": hashlib.sha256(f"{partition} {each['name']}".encode()).hexdigest()[:32],
                "name": each["name"],
                "text": each["text"],
                "updated_by": each["by"],
                "updated_at": to_iso(now - timedelta(days=each["changed"])),
            },
        )


def create_tables(*, but: str = "") -> None:
    """Create every missing table of the registry with its indexes and TTL, except the one with the key `but`.

    Raises the store's errors.
    """
    there = call("ListTables")["TableNames"]
    for key, spec in TABLES.items():
        if key == but or table_name(key) in there:
            continue
        call("CreateTable", **create_table_request(key))
        if spec.ttl:
            ttl = {"Enabled": True, "AttributeName": spec.ttl}
            call("UpdateTimeToLive", TableName=table_name(key), TimeToLiveSpecification=ttl)


def fill_tables(now: datetime, further: int = 0) -> None:
    """Write every item, with so many further companies. Raises `DialogueError` and the store's errors."""
    records = items(now, further)
    while batch := list(islice(records, BATCH)):
        _write(batch)


def _write(batch: list[Record]) -> None:
    serialize = TypeSerializer().serialize
    requests: dict[str, list[dict[str, Any]]] = {}
    for key, item in batch:
        stored = {name: serialize(value) for name, value in item.items()}
        requests.setdefault(table_name(key), []).append({"PutRequest": {"Item": stored}})
    while requests:
        requests = call("BatchWriteItem", RequestItems=requests).get("UnprocessedItems") or {}
