"""Counts of the conversations that wait and are held, and current waits.

Counts come from the rows of the queue's partitions (`handoff.partitions`): one Query for all companies, which each
worker caches for seconds.
"""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from statistics import median

from console import clock
from console.caching import cached_for
from console.errors import ConsoleError, TableMissing
from console.permissions import Staff
from console.store.calls import parallel
from conversations.converting import is_gone, summary_of
from conversations.finding.queries import is_visible
from conversations.handoff.full_items import full_keys
from conversations.handoff.partitions import PartitionSummary, QueueState, read_partitions
from conversations.handoff.stored import has_inbound_source, urgent_in, waiting_in
from conversations.models import SUMMARY_ATTRIBUTES, read_conversations
from conversations.queue.pages import (
    APPROVE,
    STATES,
    TABS,
    WAITING,
    Count,
    QueueEntry,
    count_needed,
    count_tab,
    entry_of,
)
from conversations.queue.reading import partitions_in_scope, read_index
from conversations.queue_index.readiness import is_indexed
from conversations.queue_index.refreshing import refresh_all
from conversations.receiving import not_placed
from conversations.receiving.first_messages import SHOWN_AT_MOST, FirstMessages, read_first_messages
from conversations.records import ConversationSummary

logger = logging.getLogger(__name__)

SECONDS = 5
# DynamoDB reads whole messages to count them, so they are counted less often.
NOT_PLACED_SECONDS = 15


@cached_for(SECONDS)
def all_partitions() -> tuple[PartitionSummary, ...]:
    """Return the rows of all partitions of the queue's index; () without the index. Raises the store's errors."""
    return tuple(read_partitions()) if is_indexed() else ()


def waiting(staff: Staff) -> Count:
    """Count who waits in the companies in a person's scope. Raises the store's errors."""
    return count_tab(WAITING, partitions_in_scope(staff, all_partitions()), staff.username)


def count_tabs(staff: Staff) -> dict[str, Count]:
    """Count what each tab lists for a person. Raises the store's errors."""
    found = partitions_in_scope(staff, all_partitions())
    return {tab: count_tab(tab, found, staff.username) for tab in TABS} if is_indexed() else {}


def awaited(staff: Staff) -> int:
    """Count a person's conversations whose customer waits for an answer. Raises the store's errors."""
    found = partitions_in_scope(staff, all_partitions())
    return sum(int((each.awaited or {}).get(staff.username, 0)) for each in found)


def first_messages(staff: Staff, after: str = "") -> tuple[Count, FirstMessages]:
    """Return how many first messages in a person's scope wait for approval, and the oldest after a position.

    One Query, and one for each company that they are of. Raises the store's errors.
    """
    left = [each for each in partitions_in_scope(staff, read_partitions()) if each.state == QueueState.APPROVE]
    left.sort(key=lambda each: each.since)
    total = count_tab(APPROVE, left, staff.username)
    found = shown = FirstMessages()
    while len(shown.rows) < SHOWN_AT_MOST and left:
        number = count_needed((int(each.count or 0) for each in left), SHOWN_AT_MOST - len(shown.rows))
        opening, left = left[:number], left[number:]
        try:
            found = found.joined(read_first_messages((each.company_id for each in opening), after))
        except TableMissing:
            break
        # Those of the next companies may be older than some of these.
        shown = found.before(left[0].since) if left else found
    return total, shown.first(SHOWN_AT_MOST)


@cached_for(NOT_PLACED_SECONDS)
def not_placed_now() -> Count:
    """Count customers' messages that could not be placed. Raises the store's errors."""
    return Count(*not_placed.count())


def not_placed_for(staff: Staff) -> Count | None:
    """Count the messages that could not be placed; None if there are none or the person may not resolve them.

    Logs the store's errors and returns None.
    """
    if not has_inbound_source() or not not_placed.may_resolve(staff):
        return None
    try:
        found = not_placed_now()
    except ConsoleError as error:
        logger.warning("Could not count messages that were not placed: %s", type(error).__name__)
        return None
    return found if found.number or found.more else None


@cached_for(NOT_PLACED_SECONDS)
def full_keys_now() -> tuple[tuple[str, str], ...]:
    """Return the keys of the conversations without room. Raises the store's errors."""
    return tuple(full_keys())


def full_for(staff: Staff) -> list[ConversationSummary]:
    """Return the conversations in a person's scope that have no room left, to make room in.

    One Query, and one BatchGetItem if there may be any. Logs the store's errors and returns none.
    """
    try:
        found = read_conversations(full_keys_now(), SUMMARY_ATTRIBUTES)
    except ConsoleError as error:
        logger.warning("Could not look for full conversations: %s", type(error).__name__)
        return []
    now = clock.now()
    return [summary_of(each, staff) for each in found if is_visible(each, staff) and not is_gone(each, now)]


def forget() -> None:
    """Drop the cached counts, because this worker has just changed something."""
    all_partitions.cache_clear()


def count_again(company_ids: Collection[str]) -> None:
    """Count again in companies where this worker has just changed something: its next page shows the new numbers.

    One Query, and a Query and two other calls for each of their partitions. Logs the store's errors, as the indexer
    will count too.
    """
    try:
        if company_ids and is_indexed():
            refresh_all(each.sk for each in read_partitions() if each.company_id in company_ids)
    except ConsoleError as error:
        logger.warning("Could not count again after an action: %s", type(error).__name__)
    forget()


# Maximum rows read of one company and partition, longest wait first.
LOOKED_AT = 1000
# Companies with the longest waits that one table shows.
COMPANIES_SHOWN = 25
WAITS_SECONDS = 15
_WAIT_ATTRIBUTES = (
    *("primary_channel", "conversation_id", "company_id", "company_name", "project_id", "project_name", "ttl"),
    *("hand_off_to_human", "hand_off_agent", "hand_off_requested_at", "hand_off_answered_at"),
    *("hand_off_unanswered_at", "hand_off_heard_at"),
)


@dataclass(frozen=True, slots=True)
class Waits:
    """How many wait now, and the median, 90th percentile and longest of their waits."""

    count: int
    median: timedelta | None
    ninetieth: timedelta | None
    longest: timedelta | None

    @classmethod
    def of(cls, entries: Iterable[QueueEntry], now: datetime) -> "Waits":
        """Summarize rows. One whose customer awaits no answer, or has waited for an unknown time, is only counted."""
        rows = list(entries)
        waits = sorted(wait for entry in rows if (wait := entry.waited(now)) is not None)
        if not waits:
            return cls(len(rows), None, None, None)
        # The nearest rank, so that it is a real wait even if few wait.
        ninetieth = waits[-(-len(waits) * 9 // 10) - 1]
        return cls(len(rows), timedelta(seconds=median(each.total_seconds() for each in waits)), ninetieth, waits[-1])


@dataclass(frozen=True, slots=True)
class CompanyWaits:
    """The waits in one company, in total and by project (id, name, waits). `complete`: all were read."""

    company_id: str
    total: Waits
    projects: tuple[tuple[str, str, Waits], ...]
    complete: bool

    def waiting_in(self, project_id: str) -> int:
        """Return how many wait in a project."""
        return next((waits.count for each, _, waits in self.projects if each == project_id), 0)


@cached_for(WAITS_SECONDS)
def waits_in(company_id: str) -> CompanyWaits:
    """Return the current waits in a company. Two Queries of the index, of the `LOOKED_AT` longest waits each."""
    now = clock.now()
    partitions = (urgent_in, waiting_in) if is_indexed() else ()
    reads = [read_index(each(company_id), _WAIT_ATTRIBUTES, LOOKED_AT) for each in partitions]
    items, more = [raw for found, _ in reads for raw in found], any(more for _, more in reads)
    entries = [entry for raw in items if (entry := entry_of(raw, now)) is not None and entry.is_of(WAITING, "")]
    by_project: dict[str, list[QueueEntry]] = defaultdict(list)
    for entry in entries:
        by_project[entry.summary.project_id].append(entry)
    projects = [
        (project_id, rows[0].summary.project_name, Waits.of(rows, now)) for project_id, rows in by_project.items()
    ]
    projects.sort(key=lambda each: each[2].longest or timedelta.max, reverse=True)
    return CompanyWaits(company_id, Waits.of(entries, now), tuple(projects), not more)


def longest_waits(staff: Staff) -> tuple[tuple[CompanyWaits, ...], int]:
    """Return the waits in the `COMPANIES_SHOWN` companies where somebody waits longest, and how many others there are.

    Two Queries for each of them. Raises the store's errors.
    """
    since: dict[str, str] = {}
    for each in partitions_in_scope(staff, all_partitions()):
        if each.state in STATES[WAITING] and not (each.is_certain and not each.count):
            since[each.company_id] = min(each.since, since.get(each.company_id, each.since))
    companies = sorted(since, key=lambda company_id: since[company_id])
    found = parallel(*(partial(waits_in, company_id) for company_id in companies[:COMPANIES_SHOWN]))
    waiting_there = [each for each in found if each.total.count]
    waiting_there.sort(key=lambda each: each.total.longest or timedelta(-1), reverse=True)
    return tuple(waiting_there), max(0, len(companies) - COMPANIES_SHOWN)


def sum_queue() -> tuple[dict[str, Count], timedelta]:
    """Count all conversations that wait, are held and need attention; also return the longest wait.

    Raises the store's errors.
    """
    partitions, now = all_partitions(), clock.now()
    sums = dict.fromkeys(_SUMMED, Count())
    for each in partitions:
        for name, states in _SUMMED.items():
            if each.state in states:
                sums[name] += Count(int(each.count or 0), bool(each.has_more))
    times = (clock.parse_instant(each.first) for each in partitions if each.state in STATES[WAITING] and each.count)
    return sums, max((now - at for at in times if at is not None), default=timedelta())


_SUMMED = {
    "waiting": STATES[WAITING],
    "held": (QueueState.HELD,),
    "attention": (QueueState.ATTENTION,),
}
