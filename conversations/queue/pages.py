"""What is asked of the queue, and the page that a read found."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from console.store.streams import Keyset, Stream, merge
from conversations.queue.counts import Count
from conversations.queue.entries import WAITING, QueueEntry
from conversations.queue.filters import QueueFilters

# So many companies are read for one page, count or table, all at the same time.
COMPANIES_AT_ONCE = 20


def at_once(company_ids: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """The companies that are read at the same time, each once, and those that are left out."""
    wanted = list(dict.fromkeys(company_ids))
    return wanted[:COMPANIES_AT_ONCE], tuple(wanted[COMPANIES_AT_ONCE:])


@dataclass(frozen=True, slots=True)
class QueueParameters:
    """What is asked of each company: rows of a tab, from a place on (or back from it)."""

    tab: str
    username: str
    filters: QueueFilters
    size: int
    now: datetime
    place: Keyset | None = None
    back: bool = False

    @property
    def looks_at_rows(self) -> bool:
        """Whether the partition holds rows that are not asked for."""
        return self.tab != WAITING or self.filters.narrows_rows

    def wants(self, entry: QueueEntry) -> bool:
        """Whether a row belongs to what was asked."""
        if self.place is not None and self.place.has_seen(*entry.order):
            return False
        return entry.is_of(self.tab, self.username) and self.filters.matches(entry, self.now)


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Rows in the order of waiting, and how far the read looked.

    `following` is where the next page begins (None at the end). `thin`: the budget of reads ended before the page was
    full. `indexed`: read from the queue's index. Without it, `incomplete` names the companies that hold more
    conversations than one page may read, so that someone may wait there unseen, and `totals` says how many each tab
    lists. `left_out` were not looked at at all.
    """

    entries: tuple[QueueEntry, ...]
    following: Keyset | None = None
    looked_at: int = 0
    thin: bool = False
    indexed: bool = False
    incomplete: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    totals: dict[str, Count] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether nothing follows and everything was looked at."""
        return self.following is None and not self.incomplete and not self.left_out


def page_of(streams: Sequence[Stream[QueueEntry]], parameters: QueueParameters) -> QueuePage:
    """The first rows of all streams, whose orders are those of rows."""
    page = merge(streams, parameters.size, descending=parameters.back)
    shown = tuple(entry for entry, _ in page.items)
    following = None
    if page.after is not None and page.reached is not None:
        since, _ = page.reached
        following = (parameters.place or Keyset()).after(since, *(each.mark for each in shown if each.since == since))
    return QueuePage(shown, following, thin=page.after is not None and len(shown) < parameters.size)
