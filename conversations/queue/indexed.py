"""The queue by its sparse index: one Query per company, longest wait first, at the same cost in a company of any size.

Rows whose flag and key disagree (a writer that knows the flag only) are dropped; the indexer mends them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from console.dynamodb.calls import parallel
from console.dynamodb.connection import call
from console.dynamodb.registry import table_name
from conversations.models import SUMMARY_ATTRIBUTES, HandOffQueueIndex, held_in, waiting_in
from conversations.queue.entries import WAITING, Entry, entry_of
from conversations.queue.filters import Place
from conversations.queue.pages import Asked, QueuePage

# For one company and page. Without filters the first is enough, unless rows have to be dropped.
READS_PER_COMPANY = 4
# How many rows one read looks at where rows have to be looked at one by one.
FILTERED_LIMIT = 200
INDEX = HandOffQueueIndex.Meta.index_name


@dataclass(frozen=True, slots=True)
class _CompanyRead:
    """`end` is the instant of the last row looked at where more follow, None at the end of the partition."""

    company_id: str
    entries: tuple[Entry, ...]
    looked_at: int
    end: str | None


def read_indexed(company_ids: Iterable[str], asked: Asked) -> QueuePage:
    """One page over all these companies. Raises the store's errors."""
    reads = parallel(*(partial(_read_company, company_id, asked) for company_id in company_ids))
    ends = [read.end for read in reads if read.end is not None]
    # Beyond the first instant at which a company was not read on, its rows would be missing among the others'.
    horizon = (max(ends) if asked.back else min(ends)) if ends else None
    entries = [entry for read in reads for entry in read.entries if _is_within(entry.since, horizon, asked.back)]
    entries.sort(key=attrgetter("order"), reverse=asked.back)
    shown = entries[: asked.size]
    following = None
    if len(entries) > asked.size:
        following = Place.of(shown[-1]).after(shown, asked.place)
    elif horizon is not None:
        following = Place(horizon).after(shown, asked.place)
    return QueuePage(
        entries=tuple(shown),
        following=following,
        looked_at=sum(read.looked_at for read in reads),
        thin=horizon is not None and len(entries) < asked.size,
        indexed=True,
    )


def _is_within(since: str, horizon: str | None, back: bool) -> bool:
    return horizon is None or (since >= horizon if back else since <= horizon)


def _read_company(company_id: str, asked: Asked) -> _CompanyRead:
    entries: list[Entry] = []
    looked_at = 0
    start: dict[str, Any] | None = None
    last: str | None = None
    limit = FILTERED_LIMIT if asked.looks_at_rows else asked.size + 1 + len(asked.place.seen if asked.place else ())
    condition = _range(asked)
    if condition is None:
        return _CompanyRead(company_id, (), 0, None)
    for _ in range(READS_PER_COMPANY):
        answer = call("Query", **_query(company_id, asked, condition, limit, start))
        items = answer.get("Items", [])
        looked_at += len(items)
        found = (entry_of(raw, asked.now) for raw in items)
        entries += (entry for entry in found if entry is not None and asked.wants(entry))
        start = answer.get("LastEvaluatedKey")
        last = start["hand_off_requested_at"]["S"] if start else None
        if start is None or len(entries) > asked.size:
            break
    return _CompanyRead(company_id, tuple(entries), looked_at, last)


def _range(asked: Asked) -> tuple[str, dict[str, Any]] | None:
    """The condition on the sort key with its values; None where nothing can match."""
    low = asked.place.since if asked.place and not asked.back else ""
    high = asked.filters.latest_since(asked.now)
    if asked.place and asked.back:
        high = min(high, asked.place.since) if high else asked.place.since
    if low and high:
        if low > high:
            return None
        return " AND #since BETWEEN :low AND :high", {":low": {"S": low}, ":high": {"S": high}}
    if low:
        return " AND #since >= :low", {":low": {"S": low}}
    return (" AND #since <= :high", {":high": {"S": high}}) if high else ("", {})


def _query(
    company_id: str, asked: Asked, condition: tuple[str, dict[str, Any]], limit: int, start: dict[str, Any] | None
) -> dict[str, Any]:
    partition = waiting_in(company_id) if asked.tab == WAITING else held_in(company_id)
    query = index_query(partition, SUMMARY_ATTRIBUTES, limit)
    expression, values = condition
    if expression:
        query["KeyConditionExpression"] += expression
        query["ExpressionAttributeNames"]["#since"] = "hand_off_requested_at"
        query["ExpressionAttributeValues"] |= values
    query["ScanIndexForward"] = not asked.back
    if start:
        query["ExclusiveStartKey"] = start
    return query


def index_query(partition: str, attributes: Iterable[str], limit: int) -> dict[str, Any]:
    """A Query of the queue's index, longest wait first: a partition (`waiting_in`, `held_in`), at most `limit` rows."""
    names = {f"#s{number}": name for number, name in enumerate(attributes)}
    return {
        "TableName": table_name("CONVERSATIONS"),
        "IndexName": INDEX,
        "KeyConditionExpression": "#queue = :queue",
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names | {"#queue": "gsi_hand_off_queue"},
        "ExpressionAttributeValues": {":queue": {"S": partition}},
        "Limit": limit,
        "ReturnConsumedCapacity": "TOTAL",
    }
