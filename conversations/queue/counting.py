"""Counts of the conversations that wait and are held, and current waits. Each worker caches them for seconds.

A count costs one or two Queries per company, whatever its size, because it stops at `COUNTED`.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from statistics import median
from typing import TypeVar

from console import caching, clock
from console.caching import Cached, cached_for
from console.errors import ConsoleError, TableMissing
from console.permissions import Staff
from console.store.calls import parallel
from conversations.handoff.stored import attention_in, has_inbound_source, held_in, urgent_in, waiting_in
from conversations.models import Conversation
from conversations.queue.pages import (
    ATTENTION,
    COLLEAGUES,
    COUNTED,
    MINE,
    WAITING,
    Count,
    Held,
    QueueEntry,
    entry_of,
    split_for_parallel_reads,
)
from conversations.queue.reading import is_indexed, read_index, read_queue
from conversations.reading import is_gone, is_true
from conversations.receiving import approvals, not_placed

logger = logging.getLogger(__name__)

T = TypeVar("T")

HELD_COUNTED = 200
SECONDS = 5
# Without the index a count searches a whole company, so it is cached for longer.
THIN_SECONDS = 60
# DynamoDB reads whole messages to count them, so they are counted less often.
NOT_PLACED_SECONDS = 15
_ATTRIBUTES = (
    *("primary_channel", "conversation_id", "company_id", "hand_off_to_human", "hand_off_agent", "ttl"),
    *("hand_off_reply_failed_at", "hand_off_heard_at", "hand_off_taken_at", "hand_off_answered_at"),
)


_RANKS = (True, False)


@cached_for(SECONDS)
def waiting_in_company(company_id: str, urgent: bool) -> Count:
    """Count the conversations that wait in a company, the urgent ones or the others. Raises the store's errors."""
    if not is_indexed():
        return Count() if urgent else _looked_through(company_id)[0]
    partition = urgent_in(company_id) if urgent else waiting_in(company_id)
    items, more = read_index(partition, ("hand_off_to_human", "ttl"), COUNTED)
    now = clock.now()
    # Skip those whose flag the platform has cleared since, and expired ones.
    found = map(Conversation.from_raw_data, items)
    return Count(sum(is_true(each.plain("hand_off_to_human")) and not is_gone(each, now) for each in found), more)


@cached_for(SECONDS)
def attention_in_company(company_id: str) -> Count:
    """Count a company's conversations with the AI that need attention. Raises the store's errors."""
    if not is_indexed():
        return _looked_through(company_id)[2]
    items, more = read_index(attention_in(company_id), ("ttl",), COUNTED)
    now = clock.now()
    return Count(sum(not is_gone(Conversation.from_raw_data(raw), now) for raw in items), more)


@cached_for(SECONDS)
def held_in_company(company_id: str) -> Held:
    """Count a company's held conversations. Raises the store's errors."""
    if not is_indexed():
        return _looked_through(company_id)[1]
    items, more = read_index(held_in(company_id), _ATTRIBUTES, HELD_COUNTED)
    now = clock.now()
    return Held.among([entry for raw in items if (entry := entry_of(raw, now)) is not None], more=more)


@cached_for(THIN_SECONDS)
def _looked_through(company_id: str) -> tuple[Count, Held, Count]:
    found = read_queue([company_id])
    more = bool(found.incomplete)
    held = Held.among(found.entries, more=more)
    attention = len(found.of_tab(ATTENTION)) - held.troubled
    return Count(len(found.of_tab(WAITING)), more), held, Count(attention, more)


def waiting(company_ids: Iterable[str]) -> Count:
    """Count who waits in these companies; with more than `COMPANIES_AT_ONCE`, `more` is set."""
    asked, left_out = split_for_parallel_reads(company_ids)
    counts = parallel(*(partial(waiting_in_company, company_id, urgent) for company_id in asked for urgent in _RANKS))
    return sum(counts, Count(more=bool(left_out)))


def held(company_ids: Iterable[str], username: str, *, read: bool) -> dict[str, Count]:
    """Count what all tabs but the first list for a person. Without `read`, only from the cache, else {}."""
    asked, left_out = split_for_parallel_reads(company_ids)
    found, attention = _counts(held_in_company, asked, read=read), _counts(attention_in_company, asked, read=read)
    if found is None or attention is None:
        return {}
    start = Count(more=bool(left_out))
    counts = {tab: sum((each.of_tab(tab, username) for each in found), start) for tab in (ATTENTION, MINE, COLLEAGUES)}
    return counts | {ATTENTION: sum(attention, counts[ATTENTION])}


def _counts(count: Cached[T], company_ids: Sequence[str], *, read: bool) -> list[T] | None:
    """Return the count of each company. Without `read`, only from the cache: None unless it has all of them."""
    if read:
        return parallel(*(partial(count, company_id) for company_id in company_ids))
    found = [each for one in company_ids if (each := caching.cached_result(count, one)) is not None]
    return found if len(found) == len(company_ids) else None


def awaited(company_ids: Iterable[str], username: str) -> int:
    """Count a person's conversations whose customer waits for an answer. Raises the store's errors."""
    asked, _ = split_for_parallel_reads(company_ids)
    found = parallel(*(partial(held_in_company, company_id) for company_id in asked))
    return sum(each.awaited.count(username) for each in found)


@cached_for(SECONDS)
def to_approve_in_company(company_id: str) -> Count:
    """Count the first messages of a company that wait for approval. Raises the store's errors."""
    try:
        return Count(*approvals.count(company_id))
    except TableMissing:
        return Count()


def to_approve(company_ids: Iterable[str], *, read: bool) -> Count | None:
    """Count the first messages that wait for approval. Without `read`, only from the cache, else None."""
    asked, left_out = split_for_parallel_reads(company_ids)
    found = _counts(to_approve_in_company, asked, read=read)
    return None if found is None else sum(found, Count(more=bool(left_out)))


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


def forget(company_id: str) -> None:
    """Drop the cached counts of a company, because this worker has just changed something there."""
    for urgent in _RANKS:
        caching.invalidate(waiting_in_company, company_id, urgent)
    for each in (held_in_company, attention_in_company, to_approve_in_company, _looked_through):
        caching.invalidate(each, company_id)


# Maximum rows read of one company and partition, longest wait first.
LOOKED_AT = 1000
WAITS_SECONDS = 15
_WAIT_ATTRIBUTES = (
    *("primary_channel", "conversation_id", "company_id", "company_name", "project_id", "project_name", "ttl"),
    *("hand_off_to_human", "hand_off_agent", "hand_off_requested_at"),
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
        """Summarize rows. A row without a known wait is only counted."""
        rows = list(entries)
        waits = sorted(wait for entry in rows if (wait := entry.hand_off.waited(now)) is not None)
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
    if is_indexed():
        reads = [read_index(each(company_id), _WAIT_ATTRIBUTES, LOOKED_AT) for each in (urgent_in, waiting_in)]
        items, more = [raw for found, _ in reads for raw in found], any(more for _, more in reads)
        entries = [entry for raw in items if (entry := entry_of(raw, now)) is not None and entry.is_of(WAITING, "")]
    else:
        found = read_queue([company_id])
        entries, more = found.of_tab(WAITING), bool(found.incomplete)
    by_project: dict[str, list[QueueEntry]] = defaultdict(list)
    for entry in entries:
        by_project[entry.summary.project_id].append(entry)
    projects = [
        (project_id, rows[0].summary.project_name, Waits.of(rows, now)) for project_id, rows in by_project.items()
    ]
    projects.sort(key=lambda each: each[2].longest or timedelta.max, reverse=True)
    return CompanyWaits(company_id, Waits.of(entries, now), tuple(projects), not more)


def waits_of(company_ids: Iterable[str]) -> tuple[CompanyWaits, ...]:
    """Return the waits in these companies (at most `COMPANIES_AT_ONCE`), the longest first."""
    asked, _ = split_for_parallel_reads(company_ids)
    found = parallel(*(partial(waits_in, company_id) for company_id in asked))
    found.sort(key=lambda each: each.total.longest or timedelta(-1), reverse=True)
    return tuple(found)
