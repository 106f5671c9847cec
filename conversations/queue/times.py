"""How long people wait now, per company and project."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from statistics import median

from console import clock
from console.caching import cached_for
from console.store.calls import parallel
from console.store.connection import call
from conversations.models import waiting_in
from conversations.queue.entries import WAITING, QueueEntry, entry_of
from conversations.queue.filtered import read_queue
from conversations.queue.indexed import index_query
from conversations.queue.pages import at_once
from conversations.queue.reading import is_indexed

# Of one company; those who wait longest.
LOOKED_AT = 1000
SECONDS = 15
_ATTRIBUTES = (
    *("primary_channel", "conversation_id", "company_id", "company_name", "project_id", "project_name", "ttl"),
    *("hand_off_to_human", "hand_off_agent", "hand_off_requested_at"),
)


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of those who wait now: how many, and the middle, the 90th of 100 and the longest of their waits."""

    count: int
    median: timedelta | None
    ninetieth: timedelta | None
    longest: timedelta | None

    @classmethod
    def of(cls, entries: Iterable[QueueEntry], now: datetime) -> "Waits":
        """Out of rows; one that nothing tells the wait of is counted only."""
        rows = list(entries)
        waits = sorted(wait for entry in rows if (wait := entry.hand_off.waited(now)) is not None)
        if not waits:
            return cls(len(rows), None, None, None)
        # The nearest rank: a wait that somebody really has, also where few wait.
        ninetieth = waits[-(-len(waits) * 9 // 10) - 1]
        return cls(len(rows), timedelta(seconds=median(each.total_seconds() for each in waits)), ninetieth, waits[-1])


@dataclass(frozen=True, slots=True)
class CompanyWaits:
    """Of one company, in all and by project id (with the project's name). `complete`: nobody waits who was not read."""

    company_id: str
    total: Waits
    projects: tuple[tuple[str, str, Waits], ...]
    complete: bool

    def waiting_in(self, project_id: str) -> int:
        """How many wait in a project."""
        return next((waits.count for each, _, waits in self.projects if each == project_id), 0)


@cached_for(SECONDS)
def waits_in(company_id: str) -> CompanyWaits:
    """The waits in a company now. One Query from the index, which gives the `LOOKED_AT` who wait longest."""
    now = clock.now()
    if is_indexed():
        answer = call("Query", **index_query(waiting_in(company_id), _ATTRIBUTES, LOOKED_AT))
        entries = [entry for raw in answer["Items"] if (entry := entry_of(raw, now)) is not None]
        entries, complete = [each for each in entries if each.is_of(WAITING, "")], not answer.get("LastEvaluatedKey")
    else:
        found = read_queue([company_id])
        entries, complete = found.of_tab(WAITING), not found.incomplete
    by_project: dict[str, list[QueueEntry]] = defaultdict(list)
    for entry in entries:
        by_project[entry.summary.project_id].append(entry)
    projects = [
        (project_id, rows[0].summary.project_name, Waits.of(rows, now)) for project_id, rows in by_project.items()
    ]
    projects.sort(key=lambda each: each[2].longest or timedelta.max, reverse=True)
    return CompanyWaits(company_id, Waits.of(entries, now), tuple(projects), complete)


def waits_of(company_ids: Iterable[str]) -> tuple[CompanyWaits, ...]:
    """The waits in these companies, at most `COMPANIES_AT_ONCE`, those first in which somebody waits longest."""
    asked, _ = at_once(company_ids)
    found = parallel(*(partial(waits_in, company_id) for company_id in asked))
    found.sort(key=lambda each: each.total.longest or timedelta(-1), reverse=True)
    return tuple(found)
