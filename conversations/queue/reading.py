"""What pages call: one page of the queue, from its index where that can be relied on, else by looking through."""

from collections.abc import Iterable
from dataclasses import replace

from console import clock
from console.caching import cached_for
from console.store.presence import index_ready
from console.store.streams import Keyset
from conversations.indexer.health import IndexerHealth, read_health
from conversations.models import Conversation
from conversations.queue.entries import QueueEntry
from conversations.queue.filtered import read_filtered
from conversations.queue.filters import QueueFilters
from conversations.queue.indexed import INDEX, read_indexed
from conversations.queue.pages import QueuePage, QueueParameters, at_once

PAGE_SIZE = 25
# How old what is said of the indexer may be.
HEALTH_SECONDS = 10


@cached_for(HEALTH_SECONDS)
def indexer_health() -> IndexerHealth:
    """How the indexer is doing; read at most every `HEALTH_SECONDS` of each worker."""
    return read_health()


def is_indexed() -> bool:
    """Whether the queue's index is there and holds what waits: a sweep of the indexer has filled it."""
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
    """Rows of a tab of the queue from a place on (or, `back`, before it), longest wait first (last first).

    One Query per company from the index, at most `COMPANIES_AT_ONCE` companies, the chosen one of the filters first.
    Raises the store's errors.
    """
    wanted = sorted(company_ids, key=lambda company_id: company_id != filters.company)
    if filters.company:
        wanted = wanted[:1] if wanted and wanted[0] == filters.company else []
    companies, left_out = at_once(wanted)
    parameters = QueueParameters(tab, username, filters, size, clock.now(), place, back)
    if not companies:
        return QueuePage((), indexed=True)
    read = read_indexed(companies, parameters) if is_indexed() else read_filtered(companies, parameters)
    return replace(read, left_out=left_out)


def beside(
    tab: str, company_ids: Iterable[str], username: str, filters: QueueFilters, item: Conversation | None, *, back: bool
) -> QueueEntry | None:
    """The row after a conversation in a tab, or before it; one that has left the tab keeps its place by its wait.

    After one that says nothing of a wait (handed back meanwhile), or is gone (None), comes the first.
    """
    row = QueueEntry.of(item) if item else None
    place = Keyset(row.since, (row.mark,)) if row and row.since else None
    if place is None and back:
        return None
    found = read_tab(tab, company_ids, username, filters, place=place, back=back, size=1)
    return found.entries[0] if found.entries else None
