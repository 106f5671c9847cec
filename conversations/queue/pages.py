"""Rows of the queue, their filters and counts, and one page of them."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.refs import as_letters
from console.store.streams import Keyset
from conversations.attention.causes import Cause, answer_in, causes_of, comes_first
from conversations.attention.levels import DEFAULTS
from conversations.converting import is_gone, summary_of
from conversations.handoff.partitions import PartitionSummary, QueueState
from conversations.models import Conversation
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
    def waits_since(self) -> datetime | None:
        """Since when the customer waits for an answer, or the AI's conversation needs attention; None if neither."""
        if self.hand_off.state is HandOffState.AI:
            return clock.parse_instant(self.since)
        # When a wait began does not depend on the service levels.
        answer = answer_in(self.item.raw, DEFAULTS)
        return self.hand_off.requested_at if answer.is_first else answer.since

    def waited(self, now: datetime) -> timedelta | None:
        """Return how long the customer has waited for an answer; None if no answer is awaited, or it is unknown."""
        return None if self.waits_since is None else max(timedelta(0), now - self.waits_since)

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


def is_mark(text: str) -> bool:
    """Return whether a text has the form of a `mark_of_reason`."""
    return text == NO_REASON or re.fullmatch("[a-p]{16}", text) is not None


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
        """Whether rows must be checked one by one, because the index only serves company and time of the request."""
        return bool(self.project or self.channel or self.reason or self.group or self.waited)

    def matches(self, entry: QueueEntry, now: datetime) -> bool:
        """Return whether a row matches."""
        row = entry.summary
        return (
            (not self.company or row.company_id == self.company)
            and (not self.project or row.project_id == self.project)
            and (not self.channel or row.channel == self.channel)
            and (not self.reason or mark_of_reason(entry.hand_off.reason) == self.reason)
            and (not self.group or entry.hand_off.group == self.group)
            and (self.waited is None or not entry.since or (entry.waited(now) or timedelta()) >= self.waited)
        )

    def latest_since(self, now: datetime) -> str:
        """Return the latest `since` that `waited` allows; "" for no limit. No wait began before its request."""
        return "" if self.waited is None else clock.to_iso(now - self.waited)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of conversations; `more`: there are others, which were not counted."""

    number: int = 0
    more: bool = False

    def __str__(self) -> str:
        return f"{self.number:,}{'+' if self.more else ''}"

    def __add__(self, other: "Count") -> "Count":
        return Count(self.number + other.number, self.more or other.more)


def count_needed(counts: Iterable[int], rows: int) -> int:
    """Return how many of the first partitions, with these counts, hold so many rows; all if they hold fewer."""
    number = 0
    for number, count in enumerate(counts, 1):
        rows -= count
        if rows <= 0:
            return number
    return number


def count_tab(tab: str, partitions: Iterable[PartitionSummary], username: str) -> Count:
    """Count what a tab lists for a person in partitions of the queue's index."""
    return sum((_count(tab, each, username) for each in partitions), Count())


def _count(tab: str, partition: PartitionSummary, username: str) -> Count:
    found, more = int(partition.count or 0), bool(partition.has_more)
    if partition.state == QueueState.PLACE and tab == ATTENTION:
        return Count(found, more)
    if partition.state not in STATES[tab]:
        return Count()
    if partition.state != QueueState.HELD:
        return Count(found, more)
    mine = int((partition.holders or {}).get(username, 0))
    return Count({MINE: mine, COLLEAGUES: found - mine}.get(tab, int(partition.troubled or 0)), more)


# The states of the conversations that a tab lists, urgent ones first.
STATES = {
    WAITING: (QueueState.URGENT, QueueState.WAITING),
    ATTENTION: (QueueState.ATTENTION, QueueState.HELD),
    MINE: (QueueState.HELD,),
    COLLEAGUES: (QueueState.HELD,),
    APPROVE: (QueueState.APPROVE,),
}


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

    `following` is where the next page begins (None at the end). `thin`: the budget ended before the page was full;
    `looked_at` rows were read, and `left_out` companies were not. `indexed`: there is an index to read. `partitions`
    are those of all companies in scope.
    """

    entries: tuple[QueueEntry, ...] = ()
    following: Keyset | None = None
    looked_at: int = 0
    thin: bool = False
    left_out: int = 0
    indexed: bool = True
    partitions: tuple[PartitionSummary, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether this is the last page and everything was read."""
        return self.following is None and not self.left_out
