"""What the queue is narrowed to, and a place in it to go on from."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from console import clock
from console.refs import as_letters, seal_cursor, unseal_cursor
from conversations.queue.entries import Entry

NO_REASON = "none"


def mark_of_reason(reason: str) -> str:
    """A reason as it stands in a URL: reasons are free text, and nothing that people typed belongs there."""
    return as_letters(hashlib.sha256(reason.encode("utf-8", "surrogatepass")).digest()[:8]) if reason else NO_REASON


@dataclass(frozen=True, slots=True)
class QueueFilters:
    """What rows are let through; the defaults let everything through.

    `company` says which company is read. `reason` is a `mark_of_reason`; `waited` the shortest wait shown.
    """

    company: str = ""
    project: str = ""
    channel: str = ""
    reason: str = ""
    waited: timedelta | None = None

    @property
    def narrows_rows(self) -> bool:
        """Whether rows must be looked at one by one: company and wait are served by the index."""
        return bool(self.project or self.channel or self.reason)

    def matches(self, entry: Entry, now: datetime) -> bool:
        """Whether a row passes."""
        row = entry.summary
        return (
            (not self.company or row.company_id == self.company)
            and (not self.project or row.project_id == self.project)
            and (not self.channel or row.channel == self.channel)
            and (not self.reason or mark_of_reason(entry.hand_off.reason) == self.reason)
            and (self.waited is None or entry.since <= self.latest_since(now))
        )

    def latest_since(self, now: datetime) -> str:
        """The end of the order by waiting time that `waited` lets through; "" for no end."""
        return "" if self.waited is None else clock.to_iso(now - self.waited)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the queue: after (or before) everything of the instant `since` among which are the rows `seen`.

    Rows of the same instant that are not among `seen` are still to come, whatever their order.
    """

    since: str
    seen: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: Entry) -> "Place":
        """The place of a row."""
        return cls(entry.since, (entry.mark,))

    def after(self, shown: list[Entry], before: "Place | None") -> "Place":
        """This place with those rows seen that stand at its instant, and what `before` had seen there."""
        seen = [entry.mark for entry in shown if entry.since == self.since]
        if before is not None and before.since == self.since:
            seen = [*before.seen, *seen]
        return replace(self, seen=tuple(dict.fromkeys(seen)))

    def sealed(self, *binding: str) -> str:
        """As a page's cursor, of use with the same binding only."""
        return seal_cursor([self.since, *self.seen], *binding)

    @classmethod
    def unsealed(cls, cursor: str, *binding: str) -> "Place | None":
        """The place of a cursor; None for none, a foreign or a stale one."""
        data = unseal_cursor(cursor, *binding) if cursor else None
        if isinstance(data, list) and data and all(isinstance(each, str) for each in data):
            return cls(data[0], tuple(data[1:]))
        return None
