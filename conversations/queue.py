"""The queue without an index of its own: a bounded read of each company's conversations, merged by waiting time.

Budget of one page: at most `READS_PER_COMPANY` queries for each of at most `COMPANIES_AT_ONCE` companies, all
companies in parallel; what was not looked at is said. DynamoDB filters, so that only hand-offs travel.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from console import clock
from console.dynamodb.calls import parallel
from console.dynamodb.connection import call
from console.dynamodb.registry import table_name
from conversations.models import SUMMARY_ATTRIBUTES, CompanyProjectIndex, Conversation
from conversations.reading import hand_off_of, is_gone, summary_of
from conversations.records import HandOff, HandOffState, Summary

READS_PER_COMPANY = 4
COMPANIES_AT_ONCE = 20
# Platform writers set the flag as boolean; a drifted one as text or number must not hide a waiting customer.
_FILTER = "#flag IN (:true, :text, :title, :one) OR attribute_type(#agent, :string)"
_FILTER_VALUES = {
    ":true": {"BOOL": True},
    ":text": {"S": "true"},
    ":title": {"S": "True"},
    ":one": {"N": "1"},
    ":string": {"S": "S"},
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One conversation that a human has or waits for. `item` serves the forms of its row; templates see `summary`."""

    summary: Summary
    item: Conversation
    hand_off: HandOff


@dataclass(frozen=True, slots=True)
class CompanyRead:
    """What was found in one company: `looked_at` conversations were read, `complete` says whether that was all."""

    company_id: str
    entries: tuple[Entry, ...]
    looked_at: int
    complete: bool


@dataclass(frozen=True, slots=True)
class Queue:
    """All hand-offs that the read found, longest wait first, and how far it looked."""

    entries: tuple[Entry, ...]
    looked_at: int
    incomplete: tuple[str, ...]
    left_out: tuple[str, ...]

    def waiting(self) -> list[Entry]:
        """Nobody has these."""
        return [entry for entry in self.entries if entry.hand_off.state is HandOffState.WAITING]

    def held_by(self, username: str) -> list[Entry]:
        """This person has these, overridden ones included."""
        return [entry for entry in self.entries if entry.hand_off.agent == username]

    def of_tab(self, tab: str, username: str) -> list[Entry]:
        """What a tab of the queue's page lists for a person: waiting, mine or colleagues; nothing for another name."""
        match tab:
            case "waiting":
                return self.waiting()
            case "mine":
                return self.held_by(username)
            case "colleagues":
                return self.held_by_others(username)
        return []

    def keys_held_by(self, username: str) -> list[tuple[str, str]]:
        """Primary channel and conversation id of each of these."""
        return [(entry.item.primary_channel, entry.item.conversation_id) for entry in self.held_by(username)]

    def held_by_others(self, username: str) -> list[Entry]:
        """Colleagues have these."""
        return [entry for entry in self.entries if entry.hand_off.agent not in ("", username)]


def read_queue(company_ids: Iterable[str], reads_per_company: int = READS_PER_COMPANY) -> Queue:
    """Read the hand-offs of these companies within the budget. Raises the store's errors."""
    wanted = list(dict.fromkeys(company_ids))
    companies, left_out = wanted[:COMPANIES_AT_ONCE], wanted[COMPANIES_AT_ONCE:]
    reads = parallel(*(partial(_read_company, company_id, reads_per_company) for company_id in companies))
    entries = sorted((entry for read in reads for entry in read.entries), key=_waiting_since)
    return Queue(
        entries=tuple(entries),
        looked_at=sum(read.looked_at for read in reads),
        incomplete=tuple(read.company_id for read in reads if not read.complete),
        left_out=tuple(left_out),
    )


@dataclass(frozen=True, slots=True)
class WaitingCounts:
    """How many wait for a human in a company, in all and by project id. `complete`: all of it was looked at."""

    total: int
    by_project: Mapping[str, int]
    complete: bool


def waiting_counts(company_id: str) -> WaitingCounts:
    """Who waits in each project of a company, within the queue's budget for one company. Raises the store's errors."""
    found = read_queue([company_id])
    waiting = found.waiting()
    return WaitingCounts(
        len(waiting), Counter(entry.summary.project_id for entry in waiting), complete=not found.incomplete
    )


def _waiting_since(entry: Entry) -> tuple[datetime, str]:
    # Without any time at all it may have waited longest: first, so that it is not forgotten.
    return entry.hand_off.requested_at or datetime.min.replace(tzinfo=UTC), entry.summary.reference


def _read_company(company_id: str, reads: int) -> CompanyRead:
    now = clock.now()
    entries: list[Entry] = []
    looked_at = 0
    start: dict[str, Any] | None = None
    for _ in range(reads):
        answer = call("Query", **_query(company_id, start))
        looked_at += answer.get("ScannedCount", 0)
        entries.extend(_entries(answer.get("Items", []), now))
        start = answer.get("LastEvaluatedKey")
        if not start:
            break
    return CompanyRead(company_id, tuple(entries), looked_at, complete=not start)


def _query(company_id: str, start: dict[str, Any] | None) -> dict[str, Any]:
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
        "ExpressionAttributeValues": {**_FILTER_VALUES, ":company": {"S": company_id}},
        "ReturnConsumedCapacity": "TOTAL",
    }
    if start:
        query["ExclusiveStartKey"] = start
    return query


def _entries(items: list[dict[str, Any]], now: datetime) -> Iterable[Entry]:
    for raw in items:
        item = Conversation.from_raw_data(raw)
        hand_off = hand_off_of(item)
        if hand_off.state is not HandOffState.AI and not is_gone(item, now):
            yield Entry(summary_of(item), item, hand_off)
