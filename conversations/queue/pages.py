"""Rows of the queue, their filters and counts, and one page of them."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.refs import as_letters
from console.store.streams import Keyset, Stream, merge
from conversations.attention.causes import Cause, causes_of, comes_first, is_awaited
from conversations.models import Conversation
from conversations.reading import is_gone, summary_of
from conversations.records import ConversationSummary, HandOff, HandOffState

WAITING, ATTENTION, MINE, COLLEAGUES = "waiting", "attention", "mine", "colleagues"
TABS = (WAITING, ATTENTION, MINE, COLLEAGUES)
# First messages that wait for a decision, which have a page of their own next to the tabs.
APPROVE = "approve"
# Leading characters of a sealed reference that tell rows apart: it begins with 16 bytes of a keyed digest.
_MARK = 12
# Ranks, as text that sorts: urgent conversations that wait, and all others.
URGENT, USUAL = "0", "1"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A row of the queue: a conversation that waits for a human, is held or needs attention.

    `item` is for the row's forms; templates see `summary`. Rows sort by `rank` (urgent ones that wait come first), then
    by `since`: when the wait began, as text that sorts by time. If unknown it is "" and comes first, so that nobody is
    forgotten. `causes` say why it needs attention.
    """

    summary: ConversationSummary
    item: Conversation
    since: str
    rank: str
    causes: tuple[Cause, ...] = ()

    @classmethod
    def of(cls, item: Conversation, now: datetime, rank: str = "") -> "QueueEntry":
        """Build the row of an item, whoever has it. `rank` is that of the partition it was read from."""
        summary = summary_of(item)
        requested = summary.hand_off.requested_at
        is_first = summary.hand_off.state is HandOffState.WAITING and comes_first(item.raw, now)
        since = item.hand_off_requested_at or ("" if requested is None else clock.to_iso(requested))
        return cls(summary, item, since, rank or (URGENT if is_first else USUAL), causes_of(item.raw, now))

    @property
    def hand_off(self) -> HandOff:
        """The hand-off of the conversation."""
        return self.summary.hand_off

    @property
    def order(self) -> tuple[str, str]:
        """The sort key: urgent first, then the longest wait."""
        return self.rank + self.since, self.mark

    @property
    def mark(self) -> str:
        """Text that tells this row from others of the same instant."""
        return self.summary.reference[:_MARK]

    @property
    def key(self) -> tuple[str, str]:
        """Primary channel and conversation id."""
        return self.item.primary_channel, self.item.conversation_id

    def is_of(self, tab: str, username: str) -> bool:
        """Return whether a tab of the queue lists this row for a person."""
        state, agent = self.hand_off.state, self.hand_off.agent
        match tab:
            case "waiting":
                return state is HandOffState.WAITING
            case "mine":
                return bool(agent) and agent == username
            case "colleagues":
                return agent not in ("", username)
            case "attention":
                return bool(self.causes) and state is not HandOffState.WAITING
        return False


def entry_of(raw: dict[str, dict[str, Any]], now: datetime, rank: str = "") -> QueueEntry | None:
    """Return the row of a stored item; None if it is past its TTL, or with the AI and needs no attention."""
    item = Conversation.from_raw_data(raw)
    if is_gone(item, now):
        return None
    entry = QueueEntry.of(item, now, rank)
    return None if entry.hand_off.state is HandOffState.AI and not entry.causes else entry


NO_REASON = "none"


def mark_of_reason(reason: str) -> str:
    """Return the digest that stands for a reason in URLs, because reasons are free text."""
    return as_letters(hashlib.sha256(reason.encode("utf-8", "surrogatepass")).digest()[:8]) if reason else NO_REASON


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """The filters of the queue; the defaults match everything.

    `company` selects the company to read. `reason` is a `mark_of_reason`, `waited` the shortest wait shown.
    """

    company: str = ""
    project: str = ""
    channel: str = ""
    reason: str = ""
    group: str = ""
    waited: timedelta | None = None

    @property
    def narrows_rows(self) -> bool:
        """Whether rows must be checked one by one, because the index only serves company and wait."""
        return bool(self.project or self.channel or self.reason or self.group)

    def matches(self, entry: QueueEntry, now: datetime) -> bool:
        """Return whether a row matches."""
        row = entry.summary
        return (
            (not self.company or row.company_id == self.company)
            and (not self.project or row.project_id == self.project)
            and (not self.channel or row.channel == self.channel)
            and (not self.reason or mark_of_reason(entry.hand_off.reason) == self.reason)
            and (not self.group or entry.hand_off.group == self.group)
            and (self.waited is None or entry.since <= self.latest_since(now))
        )

    def latest_since(self, now: datetime) -> str:
        """Return the latest `since` that `waited` allows; "" for no limit."""
        return "" if self.waited is None else clock.to_iso(now - self.waited)


COUNTED = 100


@dataclass(frozen=True, slots=True)
class Count:
    """A number of conversations; `more`: counting stopped there, so there may be more."""

    number: int = 0
    more: bool = False

    def __str__(self) -> str:
        if self.number >= COUNTED:
            return f"{COUNTED - 1}+"
        return f"{self.number}+" if self.more else str(self.number)

    def __add__(self, other: "Count") -> "Count":
        return Count(self.number + other.number, self.more or other.more)


@dataclass(frozen=True, slots=True)
class Held:
    """The held conversations of a company: the agent of each, and how many need attention."""

    agents: tuple[str, ...] = ()
    troubled: int = 0
    more: bool = False
    # The agents of those whose customer has written and waits for an answer.
    awaited: tuple[str, ...] = ()

    def of_tab(self, tab: str, username: str) -> Count:
        """Return the number that a tab lists for a person."""
        mine = self.agents.count(username)
        return Count({MINE: mine, COLLEAGUES: len(self.agents) - mine}.get(tab, self.troubled), self.more)

    @classmethod
    def among(cls, entries: Iterable[QueueEntry], *, more: bool) -> "Held":
        """Count the held ones among these rows; `more`: there are others."""
        held = [entry for entry in entries if entry.hand_off.agent]
        agents = tuple(entry.hand_off.agent for entry in held)
        awaited = tuple(entry.hand_off.agent for entry in held if is_awaited(entry.item.raw))
        return cls(agents, sum(bool(entry.causes) for entry in held), more, awaited)


def totals(entries: Iterable[QueueEntry], username: str, *, more: bool) -> dict[str, Count]:
    """Count what each tab lists for a person; `more`: there may be other rows."""
    rows = list(entries)
    held = Held.among(rows, more=more)
    waiting = Count(sum(entry.is_of(WAITING, username) for entry in rows), more)
    attention = Count(sum(entry.is_of(ATTENTION, username) for entry in rows), more)
    return {WAITING: waiting, ATTENTION: attention} | {tab: held.of_tab(tab, username) for tab in (MINE, COLLEAGUES)}


# Maximum companies that one page, count or table reads, all in parallel.
COMPANIES_AT_ONCE = 20


def split_for_parallel_reads(company_ids: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split companies, without duplicates, into those to read in parallel and those left out."""
    wanted = list(dict.fromkeys(company_ids))
    return wanted[:COMPANIES_AT_ONCE], tuple(wanted[COMPANIES_AT_ONCE:])


@dataclass(frozen=True, slots=True)
class QueueParameters:
    """The parameters of a read: the rows of a tab after `place`, or before it with `back`."""

    tab: str
    username: str
    filters: QueueFilters
    size: int
    now: datetime
    place: Keyset | None = None
    back: bool = False

    def wants(self, entry: QueueEntry) -> bool:
        """Return whether a row belongs to the result."""
        if self.place is not None and self.place.has_seen(*entry.order):
            return False
        return entry.is_of(self.tab, self.username) and self.filters.matches(entry, self.now)


@dataclass(frozen=True, slots=True)
class QueuePage:
    """Rows by waiting time, and how far the read went.

    `following` is where the next page begins (None at the end). `thin`: the budget ended before the page was full.
    `indexed`: read from the queue's index. Without the index, `incomplete` names the companies with more conversations
    than one page may read, where somebody may wait unseen, and `totals` counts each tab. `left_out` companies were not
    read at all.
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
        """Whether this is the last page and everything was read."""
        return self.following is None and not self.incomplete and not self.left_out


def page_of(streams: Sequence[Stream[QueueEntry]], parameters: QueueParameters) -> QueuePage:
    """Merge the first rows of all streams into a page."""
    page = merge(streams, parameters.size, descending=parameters.back)
    shown = tuple(entry for entry, _ in page.items)
    following = None
    if page.after is not None and page.reached is not None:
        at, _ = page.reached
        following = (parameters.place or Keyset()).after(at, *(each.mark for each in shown if each.order[0] == at))
    return QueuePage(shown, following, thin=page.after is not None and len(shown) < parameters.size)
