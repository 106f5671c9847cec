"""One page of the queue, longest wait first: from its sparse index, or without it by searching each company.

The index costs two Queries per company, whatever its size. Without it, or before a sweep has filled it, at most
`READS_PER_COMPANY` Queries search each company's conversations; the page says what was not searched.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from pynamodb.expressions.condition import Condition

from console import clock
from console.caching import cached_for
from console.store.calls import parallel, table_name
from console.store.connection import call
from console.store.models import query
from console.store.presence import index_ready
from console.store.streams import BEGINNING, Candidate, Chunk, Keyset, Place, Stream, read_on
from conversations.handoff.stored import attention_in, held_in, urgent_in, waiting_in
from conversations.indexer.health import IndexerHealth, read_health
from conversations.models import SUMMARY_ATTRIBUTES, CompanyProjectIndex, Conversation, HandOffQueueIndex
from conversations.queue.pages import (
    ATTENTION,
    URGENT,
    USUAL,
    WAITING,
    QueueEntry,
    QueueFilters,
    QueuePage,
    QueueParameters,
    entry_of,
    page_of,
    split_for_parallel_reads,
    totals,
)

# Maximum reads per company and page. Without filters one is enough, unless rows have to be dropped.
READS_PER_COMPANY = 4
# Maximum rows of one read if they must be checked one by one.
FILTERED_LIMIT = 200
INDEX = HandOffQueueIndex.Meta.index_name


def read_indexed(company_ids: Iterable[str], parameters: QueueParameters) -> QueuePage:
    """Read one page of these companies from the index. Raises the store's errors."""
    partitions = _PARTITIONS.get(parameters.tab, ((held_in, USUAL),))
    reads = parallel(
        *(
            partial(_read_partition, partition(company_id), rank, parameters, is_mixed=partition is held_in)
            for company_id in company_ids
            for partition, rank in partitions
        )
    )
    page = page_of([Stream(chunk=read) for read in reads], parameters)
    return replace(page, looked_at=sum(len(read.candidates) for read in reads), indexed=True)


# The partitions and ranks to read of a company for a tab. Other tabs only read held conversations.
_PARTITIONS = {
    WAITING: ((urgent_in, URGENT), (waiting_in, USUAL)),
    ATTENTION: ((attention_in, USUAL), (held_in, USUAL)),
}


def _read_partition(partition: str, rank: str, parameters: QueueParameters, *, is_mixed: bool) -> Chunk[QueueEntry]:
    """Read one partition of the index. `is_mixed`: it also contains rows that the tab does not list."""
    place, low, high = parameters.place, "", parameters.filters.latest_since(parameters.now)
    if place is not None and place.at[:1] != rank:
        if (place.at[:1] > rank) is not parameters.back:
            return Chunk()
    elif place is not None:
        low = "" if parameters.back else place.at[1:]
        high = min(filter(None, (high, place.at[1:]))) if parameters.back else high
    if low and high and low > high:
        return Chunk()
    seen = len(parameters.place.seen) if parameters.place else 0
    looks_at_rows = is_mixed or parameters.filters.narrows_rows
    limit = FILTERED_LIMIT if looks_at_rows else parameters.size + 1 + seen

    def read(start: Place) -> Chunk[QueueEntry]:
        items, end = query(
            Conversation,
            partition,
            _between(low, high),
            limit=limit,
            index=INDEX,
            forward=not parameters.back,
            start=start or None,
            attributes=SUMMARY_ATTRIBUTES,
        )
        return Chunk([_candidate(raw, rank, parameters) for raw in items], end)

    return read_on(read, BEGINNING, parameters.size + 1, READS_PER_COMPANY)


def _between(low: str, high: str) -> Condition | None:
    since = Conversation.hand_off_requested_at
    if low and high:
        return since.between(low, high)
    return since >= low if low else since <= high if high else None


def _candidate(raw: dict[str, dict[str, Any]], rank: str, parameters: QueueParameters) -> Candidate[QueueEntry]:
    """Build a candidate from a row of the index; one without an entry still marks how far the partition was read."""
    entry = entry_of(raw, parameters.now, rank)
    if entry is None:
        return Candidate((rank + raw["hand_off_requested_at"]["S"], ""), BEGINNING, None)
    return Candidate(entry.order, BEGINNING, entry if parameters.wants(entry) else None)


def read_index(partition: str, attributes: Iterable[str], limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Read the `limit` longest waits of a partition of the index, as stored, and return whether there are more."""
    items, end = query(Conversation, partition, limit=limit, index=INDEX, attributes=attributes)
    return items, end is not None


# DynamoDB only drops flags that are certainly false. Drifted flags are then read with `is_true`, so that none hides a
# waiting customer.
_FILTER = (
    "(attribute_exists(#flag) AND NOT #flag IN (:false, :null, :zero)) OR attribute_type(#agent, :string)"
    " OR attribute_exists(#attention)"
)
_FALSE = {":false": {"BOOL": False}, ":null": {"NULL": True}, ":zero": {"N": "0"}}


@dataclass(frozen=True, slots=True)
class Queue:
    """The rows that a search found, longest wait first, and how far it went."""

    entries: tuple[QueueEntry, ...]
    looked_at: int
    incomplete: tuple[str, ...]
    left_out: tuple[str, ...]

    def of_tab(self, tab: str, username: str = "") -> list[QueueEntry]:
        """Return the rows that a tab lists for a person."""
        return [entry for entry in self.entries if entry.is_of(tab, username)]


def read_queue(company_ids: Iterable[str], reads_per_company: int = READS_PER_COMPANY) -> Queue:
    """Search these companies for hand-offs within the read budget. Raises the store's errors."""
    companies, left_out = split_for_parallel_reads(company_ids)
    reads = parallel(*(partial(_search_company, company_id, reads_per_company) for company_id in companies))
    return Queue(
        entries=tuple(sorted((entry for entries, _, _ in reads for entry in entries), key=attrgetter("order"))),
        looked_at=sum(looked_at for _, looked_at, _ in reads),
        incomplete=tuple(each for each, (_, _, complete) in zip(companies, reads, strict=True) if not complete),
        left_out=left_out,
    )


def read_filtered(company_ids: Iterable[str], parameters: QueueParameters) -> QueuePage:
    """Read one page of these companies without the index. Raises the store's errors."""
    found = read_queue(company_ids)
    rows = [
        Candidate(entry.order, BEGINNING, entry)
        for entry in (reversed(found.entries) if parameters.back else found.entries)
        if parameters.wants(entry) and _is_beyond(entry, parameters)
    ]
    return replace(
        page_of([Stream(chunk=Chunk(rows))], parameters),
        looked_at=found.looked_at,
        incomplete=found.incomplete,
        left_out=found.left_out,
        totals=totals(
            (entry for entry in found.entries if parameters.filters.matches(entry, parameters.now)),
            parameters.username,
            more=bool(found.incomplete or found.left_out),
        ),
    )


def _is_beyond(entry: QueueEntry, parameters: QueueParameters) -> bool:
    """Return whether a row is on the wanted side of the place, or of its instant, where `wants` compares the marks."""
    if parameters.place is None:
        return True
    at = entry.order[0]
    return at <= parameters.place.at if parameters.back else at >= parameters.place.at


def _search_company(company_id: str, reads: int) -> tuple[list[QueueEntry], int, bool]:
    """Return the rows of one company, how many conversations were read, and whether these were all."""
    now, entries, looked_at = clock.now(), [], 0
    names = {f"#s{number}": name for number, name in enumerate(SUMMARY_ATTRIBUTES)}
    query: dict[str, Any] = {
        "TableName": table_name("CONVERSATIONS"),
        "IndexName": CompanyProjectIndex.Meta.index_name,
        "KeyConditionExpression": "#company = :company",
        "FilterExpression": _FILTER,
        "ProjectionExpression": ", ".join(names),
        "ExpressionAttributeNames": names
        | {"#flag": "hand_off_to_human", "#agent": "hand_off_agent", "#company": "company_id"}
        | {"#attention": "hand_off_attention"},
        "ExpressionAttributeValues": {**_FALSE, ":string": {"S": "S"}, ":company": {"S": company_id}},
        "ReturnConsumedCapacity": "TOTAL",
    }
    for _ in range(reads):
        answer = call("Query", **query)
        looked_at += answer.get("ScannedCount", 0)
        entries += [entry for raw in answer.get("Items", []) if (entry := entry_of(raw, now)) is not None]
        if not (last := answer.get("LastEvaluatedKey")):
            return entries, looked_at, True
        query["ExclusiveStartKey"] = last
    return entries, looked_at, False


PAGE_SIZE = 25
# Maximum age of the indexer's state on a page.
HEALTH_SECONDS = 10


@cached_for(HEALTH_SECONDS)
def indexer_health() -> IndexerHealth:
    """Return the indexer's health. Each worker reads it at most every `HEALTH_SECONDS`."""
    return read_health()


def is_indexed() -> bool:
    """Return whether the queue's index exists and a sweep of the indexer has filled it."""
    return index_ready("CONVERSATIONS", INDEX) and indexer_health().backfilled


def read_tab(
    tab: str,
    company_ids: Iterable[str],
    username: str,
    filters: QueueFilters,
    *,
    place: Keyset | None = None,
    back: bool = False,
    size: int = PAGE_SIZE,
) -> QueuePage:
    """Read rows of a tab after a place, longest wait first, or with `back` before it, shortest first.

    Reads at most two partitions of the index for each of at most `COMPANIES_AT_ONCE` companies, or for the filtered
    company only. Raises the store's errors.
    """
    wanted = sorted(company_ids, key=lambda company_id: company_id != filters.company)
    if filters.company:
        wanted = wanted[:1] if wanted and wanted[0] == filters.company else []
    companies, left_out = split_for_parallel_reads(wanted)
    parameters = QueueParameters(tab, username, filters, size, clock.now(), place, back)
    if not companies:
        return QueuePage((), indexed=True)
    read = read_indexed(companies, parameters) if is_indexed() else read_filtered(companies, parameters)
    return replace(read, left_out=left_out)


def neighbour_in_tab(
    tab: str, company_ids: Iterable[str], username: str, filters: QueueFilters, item: Conversation | None, *, back: bool
) -> QueueEntry | None:
    """Return the row after (or before) a conversation in a tab. One that has left the tab keeps its place by its wait.

    After one that is gone (`item` is None) or was handed back, return the first row.
    """
    row = QueueEntry.of(item, clock.now()) if item else None
    place = Keyset(*row.order[:1], (row.mark,)) if row and row.since else None
    if place is None and back:
        return None
    found = read_tab(tab, company_ids, username, filters, place=place, back=back, size=1)
    return found.entries[0] if found.entries else None
