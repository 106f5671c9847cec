"""The queue by its sparse index: one Query per company, longest wait first, at the same cost in a company of any size.

Rows whose flag and key disagree (a writer that knows the flag only) are dropped; the indexer mends them.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from console.schema.tables import table_name
from console.store.calls import parallel
from console.store.connection import call
from console.store.streams import BEGINNING, Candidate, Place, Stream, Stretch, read_on
from conversations.models import SUMMARY_ATTRIBUTES, HandOffQueueIndex, held_in, waiting_in
from conversations.queue.entries import WAITING, QueueEntry, entry_of
from conversations.queue.pages import QueuePage, QueueParameters, page_of

# For one company and page. Without filters the first is enough, unless rows have to be dropped.
READS_PER_COMPANY = 4
# How many rows one read looks at where rows have to be looked at one by one.
FILTERED_LIMIT = 200
INDEX = HandOffQueueIndex.Meta.index_name


def read_indexed(company_ids: Iterable[str], parameters: QueueParameters) -> QueuePage:
    """One page over all these companies. Raises the store's errors."""
    reads = parallel(*(partial(_read_company, company_id, parameters) for company_id in company_ids))
    page = page_of([Stream(stretch=read) for read in reads], parameters)
    return replace(page, looked_at=sum(len(read.candidates) for read in reads), indexed=True)


def _read_company(company_id: str, parameters: QueueParameters) -> Stretch[QueueEntry]:
    condition = _range(parameters)
    if condition is None:
        return Stretch()
    limit = (
        FILTERED_LIMIT
        if parameters.looks_at_rows
        else parameters.size + 1 + len(parameters.place.seen if parameters.place else ())
    )

    def read(start: Place) -> Stretch[QueueEntry]:
        answer = call("Query", **_query(company_id, parameters, condition, limit, start))
        return Stretch([_candidate(raw, parameters) for raw in answer.get("Items", [])], answer.get("LastEvaluatedKey"))

    return read_on(read, BEGINNING, parameters.size + 1, READS_PER_COMPANY)


def _candidate(raw: dict[str, dict[str, Any]], parameters: QueueParameters) -> Candidate[QueueEntry]:
    """A row of the index; what is not asked for still says how far the company was read."""
    entry = entry_of(raw, parameters.now)
    if entry is None:
        return Candidate((raw["hand_off_requested_at"]["S"], ""), BEGINNING, None)
    return Candidate(entry.order, BEGINNING, entry if parameters.wants(entry) else None)


def _range(parameters: QueueParameters) -> tuple[str, dict[str, Any]] | None:
    """The condition on the sort key with its values; None where nothing can match."""
    low = parameters.place.at if parameters.place and not parameters.back else ""
    high = parameters.filters.latest_since(parameters.now)
    if parameters.place and parameters.back:
        high = min(high, parameters.place.at) if high else parameters.place.at
    if low and high:
        if low > high:
            return None
        return " AND #since BETWEEN :low AND :high", {":low": {"S": low}, ":high": {"S": high}}
    if low:
        return " AND #since >= :low", {":low": {"S": low}}
    return (" AND #since <= :high", {":high": {"S": high}}) if high else ("", {})


def _query(
    company_id: str, parameters: QueueParameters, condition: tuple[str, dict[str, Any]], limit: int, start: Place
) -> dict[str, Any]:
    partition = waiting_in(company_id) if parameters.tab == WAITING else held_in(company_id)
    query = index_query(partition, SUMMARY_ATTRIBUTES, limit)
    expression, values = condition
    if expression:
        query["KeyConditionExpression"] += expression
        query["ExpressionAttributeNames"]["#since"] = "hand_off_requested_at"
        query["ExpressionAttributeValues"] |= values
    query["ScanIndexForward"] = not parameters.back
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
