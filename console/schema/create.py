"""From reports to changes: the plan, with its look at foreign items, and applying it. Nothing is ever deleted."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from console.errors import ConsoleError, StoreUnavailable
from console.schema.check import Difference, TableReport, attribute_types, describe, inspect
from console.schema.definition import (
    STREAM_VIEW,
    attribute_definitions,
    create_table_request,
    index_definition,
    key_attributes,
)
from console.schema.tables import TABLES, IndexSpec, TableSpec, table_name
from console.store import presence
from console.store.connection import call

__all__ = ["Difference", "Step", "TableReport", "apply", "inspect", "plan", "steps"]

SAMPLE_SEGMENTS = 8
SAMPLE_ITEMS_PER_SEGMENT = 250
POLL_SECONDS = (0.2, 0.3, 0.5, 1.0, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Step:
    """One change that can be applied to one table."""

    key: str
    difference: Difference

    @property
    def title(self) -> str:
        """For progress bars: `CONVERSATIONS: index conversation-id-index`."""
        return f"{self.key}: {self.difference.what}"


def plan(keys: tuple[str, ...] = ()) -> list[TableReport]:
    """`inspect`, and a look at items before an index on a table that others write.

    An index whose key attribute some item holds with another type, as NULL or empty, would make DynamoDB refuse that
    item's next write by its own service: such an index is turned into one that cannot be applied, saying what was
    found. Raises `StoreUnavailable` or `Throttled`.
    """
    return [_sampled(report) for report in inspect(keys)]


def steps(reports: Iterable[TableReport], *, foreign: bool) -> list[Step]:
    """What `apply` would do; tables of others only if `foreign`."""
    return [
        Step(report.key, difference)
        for report in reports
        for difference in report.differences
        if difference.applicable and (report.ours or foreign)
    ]


def apply(step: Step, waiting: Callable[[str], object] = lambda _: None) -> None:
    """Make one change and wait until DynamoDB has made it; a new table gets TTL and recovery as well.

    `waiting` is told what is being waited for, at every look. Safe to interrupt and to repeat: what DynamoDB has begun
    goes on, and the next plan shows what is left. Raises the console's errors.
    """
    spec = TABLES[step.key]
    try:
        if step.difference.kind == "table":
            call("CreateTable", **create_table_request(step.key))
            _wait(spec, waiting)
            for each in inspect((step.key,))[0].differences:
                if each.applicable:
                    _apply_difference(spec, each)
        elif step.difference.kind != "wait":
            _wait(spec, waiting)
            _apply_difference(spec, step.difference)
        _wait(spec, waiting)
    finally:
        presence.forget()


def _apply_difference(spec: TableSpec, difference: Difference) -> None:
    name = table_name(spec.key)
    match difference.kind:
        case "index":
            _create_index(spec, spec.index(difference.index))
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
            stream = {"StreamEnabled": True, "StreamViewType": STREAM_VIEW}
            call("UpdateTable", TableName=name, StreamSpecification=stream)
        case kind:
            raise ValueError(f"Nothing can be applied for {kind!r}.")


def _create_index(spec: TableSpec, index: IndexSpec) -> None:
    """One UpdateTable makes one index: DynamoDB refuses two at a time."""
    name = table_name(spec.key)
    create = index_definition(index)
    description = describe(name) or {}
    throughput = description.get("ProvisionedThroughput") or {}
    if throughput.get("ReadCapacityUnits"):
        # A provisioned table wants a capacity for each index: the table's own, which its writes can fill.
        create["ProvisionedThroughput"] = {
            unit: throughput[unit] for unit in ("ReadCapacityUnits", "WriteCapacityUnits")
        }
    # Those that are there already are named too, so that nothing can read the call as taking them away.
    attributes = {each["AttributeName"]: each for each in description.get("AttributeDefinitions") or ()}
    attributes |= {each["AttributeName"]: each for each in attribute_definitions(spec, index)}
    call(
        "UpdateTable",
        TableName=name,
        AttributeDefinitions=list(attributes.values()),
        GlobalSecondaryIndexUpdates=[{"Create": create}],
    )


def _wait(spec: TableSpec, waiting: Callable[[str], object]) -> None:
    """Until the table and all its indexes are active. A description that fails is asked again, within reason."""
    name = table_name(spec.key)
    failures = 0
    for attempt in range(10**9):
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
        time.sleep(POLL_SECONDS[min(attempt, len(POLL_SECONDS) - 1)])


def _busy(description: dict[str, Any] | None) -> str:
    """What the table is busy with, or nothing."""
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


def _sampled(report: TableReport) -> TableReport:
    spec = TABLES[report.key]
    if spec.ours:
        return report
    return replace(report, differences=tuple(_checked(spec, each) for each in report.differences))


def _checked(spec: TableSpec, difference: Difference) -> Difference:
    if difference.kind != "index" or not difference.applicable:
        return difference
    clashes = _sample(spec, spec.index(difference.index))
    if not clashes:
        return difference
    found = f"absent; cannot be added: {'; '.join(clashes)}"
    return replace(difference, applicable=False, kind="none", found=found)


def _sample(spec: TableSpec, index: IndexSpec) -> list[str]:
    """What sampled items hold in the index's key attributes that DynamoDB would not take there. Never shows values."""
    name = table_name(spec.key)
    description = describe(name)
    # What is a key already is of its type in every item, or DynamoDB would have refused the item.
    enforced = attribute_types(description) if description else {}
    wanted = {
        attribute: kind
        for attribute, kind in key_attributes(spec, index).items()
        if attribute in (index.hash.name, index.range.name if index.range else "") and attribute not in enforced
    }
    if not wanted:
        return []
    seen, clashes = 0, Counter[tuple[str, str]]()
    for segment in range(SAMPLE_SEGMENTS):
        items = _segment(name, segment, list(wanted))
        seen += len(items)
        for item in items:
            for attribute, kind in wanted.items():
                if (what := _clash(item.get(attribute), kind)) != "":
                    clashes[attribute, what] += 1
    return [f"{attribute} is {what} in {count} of {seen} sampled items" for (attribute, what), count in clashes.items()]


def _segment(name: str, segment: int, attributes: list[str]) -> list[dict[str, dict[str, Any]]]:
    """The first items of one of the equal parts that DynamoDB divides a table into, so that samples spread over it."""
    names = {f"#{position}": attribute for position, attribute in enumerate(attributes)}
    answer = call(
        "Scan",
        TableName=name,
        Segment=segment,
        TotalSegments=SAMPLE_SEGMENTS,
        Limit=SAMPLE_ITEMS_PER_SEGMENT,
        ProjectionExpression=", ".join(names),
        ExpressionAttributeNames=names,
    )
    items: list[dict[str, dict[str, Any]]] = answer["Items"]
    return items


def _clash(value: dict[str, Any] | None, kind: str) -> str:
    """Why DynamoDB would not take a value as a key, or nothing. An absent attribute only leaves its item out."""
    if value is None or value.get(kind):
        return ""
    return "empty" if kind in value else f"of type {next(iter(value), 'NULL')}"
