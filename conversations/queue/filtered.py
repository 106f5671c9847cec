"""The queue without its index: a bounded read of each company's conversations, merged by waiting time.

Budget of one page: at most `READS_PER_COMPANY` queries for each of at most `COMPANIES_AT_ONCE` companies, all
companies in parallel; what was not looked at is said. DynamoDB filters, so that only hand-offs travel.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from console import clock
from console.schema.tables import table_name
from console.store.calls import parallel
from console.store.connection import call
from console.store.streams import BEGINNING, END, Candidate, Place, Stream, Stretch, read_on
from conversations.models import SUMMARY_ATTRIBUTES, CompanyProjectIndex
from conversations.queue.counts import totals
from conversations.queue.entries import QueueEntry, entry_of
from conversations.queue.pages import QueuePage, QueueParameters, at_once, page_of

READS_PER_COMPANY = 4
# Left out is what is false for certain; what a drifted flag says is judged by the rows as everywhere (`is_true`), so
# that none hides a waiting customer.
_FILTER = "(attribute_exists(#flag) AND NOT #flag IN (:false, :null, :zero)) OR attribute_type(#agent, :string)"
_FALSE = {":false": {"BOOL": False}, ":null": {"NULL": True}, ":zero": {"N": "0"}}


@dataclass(frozen=True, slots=True)
class CompanyRead:
    """What was found in one company: `looked_at` conversations were read, `complete` says whether that was all."""

    company_id: str
    entries: tuple[QueueEntry, ...]
    looked_at: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Queue:
    """All hand-offs that the read found, longest wait first, and how far it looked."""

    entries: tuple[QueueEntry, ...]
    looked_at: int
    incomplete: tuple[str, ...]
    left_out: tuple[str, ...]

    def of_tab(self, tab: str, username: str = "") -> list[QueueEntry]:
        """What a tab of the queue's page lists for a person."""
        return [entry for entry in self.entries if entry.is_of(tab, username)]


def read_queue(company_ids: Iterable[str], reads_per_company: int = READS_PER_COMPANY) -> Queue:
    """Read the hand-offs of these companies within the budget. Raises the store's errors."""
    companies, left_out = at_once(company_ids)
    reads = parallel(*(partial(_read_company, company_id, reads_per_company) for company_id in companies))
    entries = sorted((entry for read in reads for entry in read.entries), key=attrgetter("order"))
    return Queue(
        entries=tuple(entries),
        looked_at=sum(read.looked_at for read in reads),
        incomplete=tuple(read.company_id for read in reads if not read.complete),
        left_out=left_out,
    )


def read_filtered(company_ids: Iterable[str], parameters: QueueParameters) -> QueuePage:
    """One page over all these companies, out of everything that the budget finds. Raises the store's errors."""
    found = read_queue(company_ids)
    rows = [
        Candidate(entry.order, BEGINNING, entry)
        for entry in (reversed(found.entries) if parameters.back else found.entries)
        if parameters.wants(entry) and _is_beyond(entry, parameters)
    ]
    return replace(
        page_of([Stream(stretch=Stretch(rows))], parameters),
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
    """Whether a row lies on the side of the place that is asked for; those of its own instant were told apart."""
    if parameters.place is None:
        return True
    return entry.since <= parameters.place.at if parameters.back else entry.since >= parameters.place.at


def _read_company(company_id: str, reads: int) -> CompanyRead:
    now = clock.now()
    looked_at = 0

    def read(start: Place) -> Stretch[QueueEntry]:
        nonlocal looked_at
        answer = call("Query", **_query(company_id, start))
        looked_at += answer.get("ScannedCount", 0)
        found = (entry_of(raw, now) for raw in answer.get("Items", []))
        # Their order is not that of the index: they are sorted when all are there.
        rows = [Candidate(None, BEGINNING, entry) for entry in found if entry is not None]
        return Stretch(rows, answer.get("LastEvaluatedKey"))

    found = read_on(read, BEGINNING, sys.maxsize, reads)
    return CompanyRead(company_id, tuple(found.items), looked_at, complete=found.end is END)


def _query(company_id: str, start: Place) -> dict[str, Any]:
    names = {f"#s{number}": name for number, name in enumerate(SUMMARY_ATTRIBUTES)}
    projection = ", ".join(names)
    names |= {"#flag": "hand_off_to_human", "#agent": "hand_off_agent", "#company": "company_id"}
    query: dict[str, Any] = {
        "TableName": table_name("CONVERSATIONS"),
        "IndexName": CompanyProjectIndex.Meta.index_name,
        "KeyConditionExpression": "#company = :company",
        "FilterExpression": _FILTER,
        "ProjectionExpression": projection,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {**_FALSE, ":string": {"S": "S"}, ":company": {"S": company_id}},
        "ReturnConsumedCapacity": "TOTAL",
    }
    if start:
        query["ExclusiveStartKey"] = start
    return query
