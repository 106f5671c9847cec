"""Opening a record of a store, recorded in the trail before it is shown; and writing to one, with a trail entry."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from console import clock
from console.errors import TableMissing
from console.permissions import Permission, Staff
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from console.store.models import ForeignModel, sendable
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, record_once, record_once_an_hour, write_with_pending_entry
from conversations.stores.adapter import Adapter, ListParameters, Subject
from conversations.stores.records import RecordPage

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedRecord:
    """A record opened by one person. `is_raw`: recorded, and the role may see personal data; else redacted."""

    page: RecordPage
    subject: Subject
    is_raw: bool


def open_record(adapter: Adapter, parts: tuple[str, ...], staff: Staff, parameters: ListParameters) -> OpenedRecord:
    """Open a record to read it: load it, record this (once per person, record and hour), then build its page.

    If the entry cannot be written, nothing is returned; without a trail, everything is redacted. Raises `Forbidden`,
    `NotFound` (no such record, expired, out of scope: indistinguishable) and the store's errors.
    """
    staff.require(Permission.CONVERSATION_READ)
    loaded = adapter.load(parts, staff, parameters)
    subject = adapter.subject(loaded)
    may_see = staff.can(Permission.TRANSCRIPT_RAW)
    is_raw = record_opened(subject, staff, raw=may_see) and may_see
    return OpenedRecord(adapter.page(loaded, staff, parameters, raw=is_raw), subject, is_raw)


def record_opened(subject: Subject, staff: Staff, *, raw: bool, part: str = "") -> bool:
    """Record that somebody opened something, once an hour; False if this environment has no trail.

    `part` names what was opened in a trail shared by several records. Raises the store's errors.
    """
    payload = {**subject.payload, "shown": "raw" if raw else "redacted"}
    entry = _entry(replace(subject, payload=payload), Action.TRANSCRIPT_OPENED, staff)
    try:
        if part:
            record_once(entry, f"{part}.{staff.username}", timedelta(hours=1))
        else:
            record_once_an_hour(entry)
    except TableMissing:
        return False
    return True


def carry_out(subject: Subject, action: Action, staff: Staff, write: Callable[[], None]) -> None:
    """Do one conditional write with a trail entry, which stays pending until the outcome is known.

    `write` raises `ConditionFailed` if the item has changed since it was seen, which becomes `Conflict`. Raises
    `NoTrail` without a trail, and the store's errors; without a response from DynamoDB, the entry stays pending.
    """
    write_with_pending_entry(_entry(subject, action, staff), write)


def update_as_read(
    table_key: str,
    key: Mapping[str, Any],
    item: ForeignModel,
    changes: Mapping[str, dict[str, Any] | None],
    unchanged: Iterable[str],
    expiry: str = "",
) -> None:
    """Set attributes (None removes one), all in DynamoDB JSON, of an item that still exists. One UpdateItem.

    `unchanged` are the attributes that must have the values that were read, of any type; absent and NULL are the same.
    With `expiry`, the item must not have expired. Raises `ConditionFailed` and the store's errors.
    """
    kept = {name: value for name, value in changes.items() if value is not None}
    removed = [f"#{name}" for name in changes if name not in kept]
    clauses = [f"attribute_exists({next(iter(key))})"]
    values: dict[str, Any] = {f":{name}": value for name, value in kept.items()}
    for name in unchanged:
        stored = item.raw.get(name)
        if stored is None or "NULL" in stored:
            clauses.append(f"(attribute_not_exists(#{name}) OR attribute_type(#{name}, :null))")
            values[":null"] = {"S": "NULL"}
        else:
            clauses.append(f"#{name} = :seen_{name}")
            values[f":seen_{name}"] = sendable(stored)
    if expiry:
        # An expiry that is not a number was handled when the item was read.
        clauses.append(
            f"(attribute_not_exists(#{expiry}) OR NOT attribute_type(#{expiry}, :number) OR #{expiry} > :now)"
        )
        values |= {":number": {"S": "N"}, ":now": {"N": str(clock.to_epoch(clock.now()))}}
    try:
        call(
            "UpdateItem",
            TableName=table_name(table_key),
            Key=key,
            UpdateExpression="SET "
            + ", ".join(f"#{name} = :{name}" for name in kept)
            + (f" REMOVE {', '.join(removed)}" if removed else ""),
            ConditionExpression=" AND ".join(clauses),
            ExpressionAttributeNames={f"#{name}": name for name in (*changes, *unchanged, expiry) if name},
            ExpressionAttributeValues=values,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            ReturnConsumedCapacity="TOTAL",
        )
    except ConditionFailed as lost:
        is_ours = lost.item and all(lost.item.get(name) == value for name, value in changes.items())
        if not (is_ours and _was_sent_again(lost)):
            raise


def _was_sent_again(lost: ConditionFailed) -> bool:
    """Return whether the refused write was a retry of one without a response: the stored values may be ours."""
    refusal = lost.__cause__
    if not isinstance(refusal, ClientError):
        return False
    return int(refusal.response.get("ResponseMetadata", {}).get("RetryAttempts", 0)) > 0


def _entry(subject: Subject, action: Action, staff: Staff) -> TrailEntry:
    return TrailEntry(subject.trail, action, Actor.of(staff), subject.company_id, payload=subject.payload)
