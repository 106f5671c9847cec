"""Facts as stored: one item each, in partitions of a day, replaced only if unchanged since they were read.

- `pk = FACTS#{kind}#{owner}#{day}`, `sk = {pseudonym}#{part}`: the fact, as JSON text;
- `pk = CHANGED`, `sk = {kind}#{owner}#{day}`: facts of that day have changed since it was summed up, or may have.

A writer reads the fact, then its source, and writes on condition that the fact is unchanged. A later write is therefore
based on a later read of the source, and duplicate, late or unordered stream records do no harm.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import quote, unquote

from django.conf import settings

from console import clock
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from conversations.handoff.stored import Raw

# The day of facts without a readable time. No period includes it.
UNDATED = "undated"
# A mark allows facts to change for this long; one that is still valid for a while is not written again.
MARKED_FOR, MARK_AGAIN = timedelta(minutes=2), timedelta(minutes=1)
CHANGED = "CHANGED"
# No write is in flight for longer.
REMOVED_FOR = timedelta(days=1)
# Raised when facts are made differently: a rebuild then writes all of them again.
VERSION = 1


class FactKind(StrEnum):
    """The kind of source that a fact counts."""

    CONVERSATIONS = "conversations"
    THREADS = "threads"
    CHATS = "chats"
    MIDDLEWARE = "middleware"
    TENANTS = "tenants"


@dataclass(frozen=True, slots=True)
class FactDay:
    """A day's facts of one kind and owner: a company, an organisation or a tenant; "" if no owner is known.

    `day` is ISO, in UTC, or `UNDATED`.
    """

    kind: FactKind
    owner: str
    day: str

    @property
    def key(self) -> str:
        """The day as a part of keys."""
        return f"{self.kind}#{escaped(self.owner)}#{self.day}"

    @classmethod
    def of(cls, key: str) -> "FactDay":
        """Read a key. Raises `ValueError`."""
        kind, owner, day = key.split("#")
        return cls(FactKind(kind), unquote(owner), day)


@dataclass(frozen=True, slots=True)
class InsightFact:
    """One fact. `id` is its sort key; `data` are JSON values, documented in the modules that make them."""

    day: FactDay
    id: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredFact:
    """A stored fact, and the revision that a replacement must match: 0 if nothing is stored.

    `data` is None if there is none, or if it was removed.
    """

    data: Mapping[str, Any] | None = None
    revision: int = 0


def escaped(text: str) -> str:
    """Return an id escaped for a key."""
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def day_of(at: datetime | None) -> str:
    """Return the UTC day of an instant in the form that keys use."""
    return UNDATED if at is None else at.astimezone(UTC).date().isoformat()


def serialize_fact(data: Mapping[str, Any]) -> str:
    """Return a fact in the form that is stored."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True)


def fact_data(**values: Any) -> dict[str, Any]:
    """Return the data of a fact: the values that are not empty, and the version of how it was made."""
    return {"v": VERSION} | {name: value for name, value in values.items() if value not in (None, "", 0, [], {}, False)}


def read_fact(day: FactDay, fact_id: str) -> StoredFact:
    """Read one fact, strongly consistent. Raises the store's errors."""
    answer = call("GetItem", TableName=table_name("INSIGHT"), Key=_key(day, fact_id), ConsistentRead=True)
    item = answer.get("Item")
    return StoredFact(_data_in(item), int(item["revision"]["N"])) if item else StoredFact()


def write_fact(fact: InsightFact, seen: StoredFact) -> bool:
    """Replace the fact that was read; return False if it has changed since. Raises the store's errors.

    Mark the day as changed first, so that it is summed up even if a process dies in between.
    """
    return _replace(fact.day, fact.id, seen, {"fact": {"S": serialize_fact(fact.data)}}, expiry(fact.day))


def remove_fact(day: FactDay, fact_id: str, seen: StoredFact) -> bool:
    """Remove a fact under the same condition as `write_fact`. Raises the store's errors.

    An item without content remains for a day, so that late writers who read the old fact, or none, fail their
    condition.
    """
    return _replace(day, fact_id, seen, {}, clock.to_epoch(clock.now() + REMOVED_FOR))


def _replace(day: FactDay, fact_id: str, seen: StoredFact, content: Raw, until: int) -> bool:
    begun = clock.now()
    mark_changed(day)
    item = _key(day, fact_id) | content
    item |= {"revision": {"N": str(seen.revision + 1)}, "expires_at": {"N": str(until)}}
    condition = "revision = :seen" if seen.revision else "attribute_not_exists(pk)"
    values = {"ExpressionAttributeValues": {":seen": {"N": str(seen.revision)}}} if seen.revision else {}
    try:
        call("PutItem", TableName=table_name("INSIGHT"), Item=item, ConditionExpression=condition, **values)
    except ConditionFailed:
        return False
    finally:
        if clock.now() - begun > MARK_AGAIN / 2:
            # After a delay the day may have been summed up before the write.
            mark_changed(day, again=True)
    return True


def expiry(day: FactDay) -> int:
    """Return when facts and sums of a day expire, in epoch seconds."""
    begun = clock.now().date() if day.day == UNDATED else date.fromisoformat(day.day)
    return clock.to_epoch(clock.midnight(begun, clock.zone_of("UTC")) + timedelta(days=settings.INSIGHT_RETENTION_DAYS))


def query_pages(partition: str, condition: str = "", values: Raw | None = None, **options: Any) -> Iterator[list[Raw]]:
    """Yield the items of a partition of INSIGHT, one page per read. `condition` bounds the sort key `sk` by `values`.

    Raises the store's errors.
    """
    request: dict[str, Any] = {
        "TableName": table_name("INSIGHT"),
        "KeyConditionExpression": f"pk = :pk AND {condition}" if condition else "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": partition}} | (values or {}),
        **options,
    }
    while True:
        answer = call("Query", **request)
        yield answer["Items"]
        if not (last := answer.get("LastEvaluatedKey")):
            return
        request["ExclusiveStartKey"] = last


def facts_of(day: FactDay, after: str = "", *, consistent: bool = False) -> Iterator[list[InsightFact]]:
    """Yield a day's facts in the order of their ids, one page per read, after `after`. Raises the store's errors."""
    bounds = ("sk > :after", {":after": {"S": after}}) if after else ("", None)
    for items in query_pages(f"FACTS#{day.key}", *bounds, ConsistentRead=consistent):
        now = clock.now()
        yield [
            InsightFact(day, item["sk"]["S"], data)
            for item in items
            if (data := _data_in(item)) is not None and not clock.is_expired(item["expires_at"]["N"], now)
        ]


def _key(day: FactDay, fact_id: str) -> Raw:
    return {"pk": {"S": f"FACTS#{day.key}"}, "sk": {"S": fact_id}}


def _data_in(item: Raw) -> Mapping[str, Any] | None:
    try:
        found = json.loads(item["fact"]["S"])
    except (KeyError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# --- Days whose facts change ------------------------------------------------------------------------------------------

_lock = threading.Lock()
# Days that this process has marked, and until when no new mark is needed.
_marked: dict[str, datetime] = {}


@dataclass(frozen=True, slots=True)
class ChangedDay:
    """A day to sum up; its facts may change until `until`."""

    day: FactDay
    until: datetime


def mark_changed(day: FactDay, *, again: bool = False) -> None:
    """Mark a day to be summed up again. One write a minute for each day and process, unless `again`.

    Raises the store's errors.
    """
    now, name = clock.now(), f"{table_name('INSIGHT')}#{day.key}"
    with _lock:
        known = _marked.get(name)
        if not again and known is not None and now < known <= now + MARK_AGAIN:
            return
    item = {
        "pk": {"S": CHANGED},
        "sk": {"S": day.key},
        "until": {"S": clock.to_iso(now + MARKED_FOR)},
        "expires_at": {"N": str(expiry(day))},
    }
    call("PutItem", TableName=table_name("INSIGHT"), Item=item)
    with _lock:
        if len(_marked) > 10_000:
            _marked.clear()
        _marked[name] = now + MARK_AGAIN


def changed_days() -> list[ChangedDay]:
    """Return every day that needs to be summed up, strongly consistent. Raises the store's errors."""
    marks = [
        (FactDay.of(item["sk"]["S"]), clock.parse_instant(item["until"]["S"]))
        for items in query_pages(CHANGED, ConsistentRead=True)
        for item in items
    ]
    return [ChangedDay(day, until) for day, until in marks if until is not None]


def clear_changed_mark(changed: ChangedDay) -> bool:
    """Remove the mark of a summed-up day; False if it was marked again meanwhile. Raises the store's errors."""
    try:
        call(
            "DeleteItem",
            TableName=table_name("INSIGHT"),
            Key={"pk": {"S": CHANGED}, "sk": {"S": changed.day.key}},
            ConditionExpression="#until = :seen",
            ExpressionAttributeNames={"#until": "until"},
            ExpressionAttributeValues={":seen": {"S": clock.to_iso(changed.until)}},
        )
    except ConditionFailed:
        return False
    return True


def forget_marks() -> None:
    """Forget which days were marked: for tests, each of which has its own database."""
    with _lock:
        _marked.clear()
