"""What the queue is narrowed to."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from console import clock
from console.refs import as_letters
from conversations.queue.entries import QueueEntry

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

    def matches(self, entry: QueueEntry, now: datetime) -> bool:
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
