"""Creation of what is missing: the console's own tables and parts of them, and named tables of other services.

Nothing is ever deleted. An existing table of another service is never changed here: see `cloudformation`.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from console.errors import ConsoleError, StoreUnavailable
from console.provisioning.check import Difference, TableReport, describe, inspect
from console.provisioning.definition import attribute_definitions, create_table_request, index_definition
from console.schema.tables import TABLES, IndexSpec, TableSpec
from console.store import presence
from console.store.calls import table_name
from console.store.connection import call

logger = logging.getLogger(__name__)
POLL_SECONDS = (0.2, 0.3, 0.5, 1.0, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Creation:
    """One table, or one part or setting of a table, to create or switch on."""

    key: str
    difference: Difference

    @property
    def title(self) -> str:
        """The title in progress bars: `MESSAGES: index due-index`."""
        return f"{self.key}: {self.difference.what}"


def missing(reports: Iterable[TableReport], named: Collection[str] = ()) -> list[Creation]:
    """Return what `create` should make: everything our tables lack, and named tables of other services."""
    return [
        Creation(report.key, difference)
        for report in reports
        for difference in report.differences
        if difference.applicable and (report.ours or (report.key in named and difference.kind in ("table", "wait")))
    ]


def create(wanted: Creation, waiting: Callable[[str], object] = lambda _: None) -> None:
    """Create one thing and wait until DynamoDB has finished; a new table gets TTL and recovery too.

    Each poll calls `waiting` with what it waits for. Safe to interrupt and to repeat: DynamoDB continues what it has
    begun, and the next check shows what is left. Raises the console's errors.
    """
    spec = TABLES[wanted.key]
    try:
        if wanted.difference.kind == "table":
            _create_table(spec)
            _wait(spec, waiting)
            for each in inspect((wanted.key,))[0].differences:
                if each.applicable:
                    _apply_once(spec, each)
        elif wanted.difference.kind != "wait":
            _wait(spec, waiting)
            _apply_once(spec, wanted.difference)
        _wait(spec, waiting)
    finally:
        presence.forget()


def _create_table(spec: TableSpec) -> None:
    """Create a table; one that exists by now is no error: an answer may have been lost, or somebody else created it."""
    try:
        call("CreateTable", **create_table_request(spec.key))
    except StoreUnavailable:
        if describe(table_name(spec.key)) is None:
            raise
        _note_success("CreateTable")


def _apply_once(spec: TableSpec, difference: Difference) -> None:
    """Apply a difference; an error is none if the difference is gone, as after a lost answer."""
    try:
        _apply(spec, difference)
    except StoreUnavailable:
        if any(each.what == difference.what for each in inspect((spec.key,))[0].differences):
            raise
        _note_success(difference.what)


def _note_success(what: str) -> None:
    """Log what a failure's line, just before, leaves open."""
    logger.warning("This did take effect (%s), so nothing is lost and the command continues.", what)


def _apply(spec: TableSpec, difference: Difference) -> None:
    name = table_name(spec.key)
    match difference.kind:
        case "index":
            _create_index(spec, spec.indexes[difference.index])
        case "ttl":
            ttl = {"Enabled": True, "AttributeName": spec.ttl}
            call("UpdateTimeToLive", TableName=name, TimeToLiveSpecification=ttl)
        case "recovery":
            recovery = {"PointInTimeRecoveryEnabled": True}
            call("UpdateContinuousBackups", TableName=name, PointInTimeRecoverySpecification=recovery)
        case "protection":
            call("UpdateTable", TableName=name, DeletionProtectionEnabled=True)
        case "billing":
            call("UpdateTable", TableName=name, BillingMode="PAY_PER_REQUEST")
        case "stream":
            stream = {"StreamEnabled": True, "StreamViewType": spec.stream[0]}
            call("UpdateTable", TableName=name, StreamSpecification=stream)
        case kind:
            raise ValueError(f"Nothing can be applied for {kind!r}.")


def _create_index(spec: TableSpec, index: IndexSpec) -> None:
    """Create one index with one UpdateTable: DynamoDB refuses two at a time."""
    name = table_name(spec.key)
    # Include the existing definitions, so that the call cannot be read as removing them.
    attributes = {each["AttributeName"]: each for each in (describe(name) or {}).get("AttributeDefinitions") or ()}
    attributes |= {each["AttributeName"]: each for each in attribute_definitions(spec, index)}
    call(
        "UpdateTable",
        TableName=name,
        AttributeDefinitions=list(attributes.values()),
        GlobalSecondaryIndexUpdates=[{"Create": index_definition(index)}],
    )


def _wait(spec: TableSpec, waiting: Callable[[str], object]) -> None:
    """Wait until the table and all its indexes are active. A failed description is retried a few times."""
    name = table_name(spec.key)
    failures = 0
    for pause in chain(POLL_SECONDS, repeat(POLL_SECONDS[-1])):
        try:
            busy = _busy(describe(name))
            failures = 0
        except ConsoleError:
            failures += 1
            if failures > len(POLL_SECONDS):
                raise
            busy = "an answer of DynamoDB"
        if not busy:
            return
        waiting(busy)
        time.sleep(pause)


def _busy(description: dict[str, Any] | None) -> str:
    """Return what the table is busy with, or ""."""
    if description is None:
        return "the table to appear"
    for index in description.get("GlobalSecondaryIndexes") or ():
        if index.get("Backfilling"):
            return f"the back-fill of {index['IndexName']}"
        if index.get("IndexStatus", "ACTIVE") in ("CREATING", "UPDATING"):
            return f"{index['IndexName']} to be ready"
    status = description["TableStatus"]
    if status in ("CREATING", "UPDATING"):
        return "the table to be ready"
    if status != "ACTIVE":
        raise StoreUnavailable(f"The table is in the state {status}.")
    return ""
