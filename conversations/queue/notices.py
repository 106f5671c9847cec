"""What the queue's page says: its heading, how far it looked, and the indexer that it depends on: one line each."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from console.store.presence import index_ready
from conversations.queue.counts import Count
from conversations.queue.entries import COLLEAGUES, MINE, OVERRIDDEN, WAITING
from conversations.queue.indexed import INDEX
from conversations.queue.pages import QueuePage
from conversations.queue.reading import indexer_health


@dataclass(frozen=True, slots=True)
class Notice:
    """One line; `tone` as components/_notice.html has it."""

    text: str
    tone: str = "human"


def of_page(page: QueuePage, names: Mapping[str, str]) -> Notice | None:
    """What was not looked at. `names` are those of the companies in scope, by id."""
    parts = []
    if not names:
        parts.append(
            "No companies are known yet. The indexer adds them, or an administrator runs manage.py companies discover."
        )
    if page.incomplete:
        listed = ", ".join(names.get(company_id, company_id) for company_id in page.incomplete)
        parts.append(
            f"Looked at {page.looked_at} conversations. There are more in {listed} than one page can read, so "
            "somebody waiting there may not be listed."
        )
    if page.thin:
        found = len(page.entries)
        words = {0: "none of them matches", 1: "1 of them matches"}.get(found, f"{found} of them match")
        parts.append(f"Searched the {page.looked_at} who have waited longest: {words}. There are more to search.")
    if page.left_out:
        parts.append(f"{len(page.left_out)} more companies were not searched. Choose one in the filter.")
    return Notice(" ".join(parts)) if parts else None


# Of no conversation in a tab, of one, and of several.
_HEADINGS = {
    WAITING: ("Nobody is waiting", "1 person is waiting", "{} people are waiting"),
    MINE: ("You hold no conversation", "You hold 1 conversation", "You hold {} conversations"),
    COLLEAGUES: (
        "Colleagues hold no conversation",
        "Colleagues hold 1 conversation",
        "Colleagues hold {} conversations",
    ),
    OVERRIDDEN: ("Nothing was overridden", "1 take-over was overridden", "{} take-overs were overridden"),
}
_UNCOUNTED = {
    WAITING: "Who is waiting",
    MINE: "What you hold",
    COLLEAGUES: "What colleagues hold",
    OVERRIDDEN: "What was overridden",
}


def heading(tab: str, count: Count | None, *, partial: bool) -> str:
    """How many a tab lists, in words; `partial`: not all was looked at, so that nothing found is no "nobody"."""
    if count is None:
        return _UNCOUNTED[tab]
    none, one, several = _HEADINGS[tab]
    if count.number == 0 and not count.more:
        return ("Nobody found waiting" if tab == WAITING else "Nothing found") if partial else none
    return one if count.number == 1 and not count.more else several.format(count)


def of_indexer(*, indexed: bool, now: datetime) -> Notice | None:
    """What to know of the index behind the page, which was read from it or not; None where all is well."""
    if not indexed:
        if not index_ready("CONVERSATIONS", INDEX):
            return Notice(f"Without the index {INDEX}, conversations are looked through one by one.", "")
        return Notice("The queue's index is not filled yet, so conversations are looked through one by one.", "")
    health = indexer_health()
    if health.is_stale:
        return Notice(health.describe(now), "bad")
    return Notice(health.describe(now)) if health.is_behind else None
