"""Reading the whole audit table, for the command that archives: in segments, page by page, at a chosen pace."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from console import clock
from console.audit.queries import instant_of
from console.errors import Throttled
from console.schema.tables import table_name
from console.store.calls import parallel
from console.store.connection import call
from console.trail.models import AuditEntry

PAGE_ITEMS = 1000
# So often a throttled page is asked for again, after pauses of 1, 2, 4 … seconds.
TRIES = 6


@dataclass(slots=True)
class Pace:
    """At most so many read units a second, on average: pauses for what was spent beyond that."""

    units_per_second: float
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    _due: float = 0.0

    def spend(self, units: float) -> None:
        """Pause until that may have been spent."""
        moment = self.now()
        self._due = max(self._due, moment) + units / self.units_per_second
        # The first second is free: a small table needs no pause at all.
        if (wait := self._due - moment - 1) > 0:
            self.sleep(wait)


@dataclass(frozen=True, slots=True)
class SegmentRead:
    """What one round gave: how many items were looked at, and the entries that are wanted, in the walk's order."""

    items: int
    entries: tuple[AuditEntry, ...] = field(repr=False)


def walk(since: datetime, until: datetime, segments: int, pace: Pace) -> Iterator[SegmentRead]:
    """Every entry from `since` until before `until`, in the table's own order; those without a readable time too.

    What is past its TTL is left out. For commands only: it reads the whole table. Raises the store's errors.
    """
    now = clock.now()
    starts: dict[int, dict[str, Any] | None] = dict.fromkeys(range(segments))
    while starts:
        pages = parallel(*(partial(_page, number, segments, start, pace) for number, start in starts.items()))
        for number, page in zip(tuple(starts), pages, strict=True):
            if last := page.get("LastEvaluatedKey"):
                starts[number] = last
            else:
                del starts[number]
        entries = [AuditEntry.from_raw_data(raw) for page in pages for raw in page["Items"]]
        yield SegmentRead(len(entries), tuple(each for each in entries if _is_wanted(each, since, until, now)))
        pace.spend(sum(float((page.get("ConsumedCapacity") or {}).get("CapacityUnits") or 0) for page in pages))


def size_of_table() -> int:
    """How many items the table has, as DynamoDB counted them within the last hours. Raises the store's errors."""
    return int(call("DescribeTable", TableName=table_name("AUDIT"))["Table"].get("ItemCount") or 0)


def _page(segment: int, segments: int, start: dict[str, Any] | None, pace: Pace) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": table_name("AUDIT"),
        "Segment": segment,
        "TotalSegments": segments,
        "Limit": PAGE_ITEMS,
        "ConsistentRead": True,
        "ReturnConsumedCapacity": "TOTAL",
    }
    if start:
        request["ExclusiveStartKey"] = start
    for attempt in range(TRIES - 1):
        try:
            return call("Scan", **request)
        except Throttled:
            pace.sleep(2**attempt)
    return call("Scan", **request)


def _is_wanted(entry: AuditEntry, since: datetime, until: datetime, now: datetime) -> bool:
    at = instant_of(entry)
    return (at is None or since <= at < until) and not clock.is_expired(entry.plain("expires_at"), now)
