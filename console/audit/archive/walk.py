"""Reading the whole audit table for commands: in segments or from a key on, page by page, at a limited rate."""

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pynamodb.pagination import PageIterator

from console import clock
from console.errors import Throttled
from console.store.calls import parallel, table_name
from console.store.connection import call
from console.store.models import Key
from console.trail.actions import instant_of, is_live
from console.trail.models import AuditEntry

PAGE_ITEMS = 1000
# Attempts at a throttled page, with pauses of 1, 2, 4 … seconds between them.
TRIES = 6


def walk(since: datetime, until: datetime, segments: int, units: float) -> Iterator[tuple[int, list[AuditEntry]]]:
    """Yield every entry from `since` to before `until`, in table order, including those without a readable time.

    Each round yields the number of items read and the matching entries; expired ones are skipped. Consumes about
    `units` read units a second. For commands only: it reads the whole table. Raises the store's errors.
    """
    now = clock.now()
    scans = [
        AuditEntry.scan(
            segment=number,
            total_segments=segments,
            page_size=PAGE_ITEMS,
            consistent_read=True,
            rate_limit=units / segments,
        ).page_iter
        for number in range(segments)
    ]
    while scans:
        pages = parallel(*(partial(next_page, scan) for scan in scans))
        scans = [scan for scan in scans if scan.last_evaluated_key]
        entries = [AuditEntry.from_raw_data(raw) for page in pages for raw in page["Items"]]
        wanted = (each for each in entries if (at := instant_of(each)) is None or since <= at < until)
        yield len(entries), [each for each in wanted if is_live(each, now)]


def walk_on(start: Key | None, attributes: Sequence[str], units: float) -> PageIterator[Any]:
    """Return a Scan of these attributes of every entry after a key (None: of all), for `next_page`.

    Consumes about `units` read units a second. For commands only.
    """
    return AuditEntry.scan(
        page_size=PAGE_ITEMS,
        last_evaluated_key=start,
        consistent_read=True,
        rate_limit=units,
        attributes_to_get=list(attributes),
    ).page_iter


def next_page(scan: PageIterator[Any]) -> Any:
    """Return the next page of a Scan, which may be throttled for a while. Raises the store's errors."""
    for attempt in range(TRIES - 1):
        try:
            return next(scan)
        except Throttled:
            time.sleep(2**attempt)
    return next(scan)


def size_of_table() -> int:
    """Return the table's number of items, which DynamoDB updates every few hours. Raises the store's errors."""
    return int(call("DescribeTable", TableName=table_name("AUDIT"))["Table"].get("ItemCount") or 0)
