"""Entries of a review counted by day, in the time zone of the person who looks."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from console import clock
from console.audit.queries import happened_at
from console.audit.review.filters import Review
from console.audit.review.gathering import Gathered, gather
from console.permissions import Staff
from console.trail.actions import HAND_OFF_ACTIONS

ENTRIES_READ = 2000
# Each is some rounds of Queries: with filters that let little through, reading ends here.
PIECES = 12
DAYS_SHOWN = 62
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayCount:
    """One day: how many hand-off actions, and how many others."""

    day: date
    hand_offs: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.hand_offs + self.others


@dataclass(frozen=True, slots=True)
class Counted:
    """The days of a chart, oldest first, without gaps.

    `read` is how many entries were read, `undated` how many of them have no readable time. `is_all`: nothing lies
    behind them; else `reaches` is the instant back to which everything was read, if anything was found. `older_days`:
    earlier days were read too, and are not among these.
    """

    days: tuple[DayCount, ...]
    read: int
    undated: int
    is_all: bool
    reaches: datetime | None
    older_days: bool

    @property
    def hand_offs(self) -> int:
        """In all days."""
        return sum(each.hand_offs for each in self.days)

    @property
    def others(self) -> int:
        """In all days."""
        return sum(each.others for each in self.days)

    @property
    def total(self) -> int:
        """Of all days, both together."""
        return self.hand_offs + self.others


def count_days(review: Review, staff: Staff, zone: ZoneInfo) -> Counted:
    """Read the newest entries of a review and count them. Raises as `read_review`."""
    return counted(gather(review, staff, ENTRIES_READ, PIECES), review, zone, clock.now())


def counted(gathered: Gathered, review: Review, zone: ZoneInfo, now: datetime) -> Counted:
    """The same of entries that were read already."""
    hand_offs, others = Counter[date](), Counter[date]()
    undated = 0
    for entry in gathered.entries:
        at = happened_at(entry)
        if at is None:
            undated += 1
            continue
        series = hand_offs if entry.plain("action_type") in HAND_OFF_ACTIONS else others
        series[at.astimezone(zone).date()] += 1
    reaches = gathered.reaches.astimezone(zone) if gathered.reaches else None
    wanted = _range(review, zone, now, sorted({*hand_offs, *others}), reaches)
    days = tuple(DayCount(day, hand_offs[day], others[day]) for day in wanted)
    first = days[0].day if days else date.max
    return Counted(
        days=days,
        read=len(gathered.entries),
        undated=undated,
        is_all=gathered.is_all,
        reaches=reaches,
        older_days=any(day < first for day in {*hand_offs, *others}),
    )


def _range(review: Review, zone: ZoneInfo, now: datetime, found: list[date], reaches: datetime | None) -> list[date]:
    """The days to show: from the first asked for (else the first with an entry) to the last asked for, else today.

    Days before the one down to which was read are left out: what is missing there is not nothing.
    """
    today = now.astimezone(zone).date()
    last = (review.until - timedelta(microseconds=1)).astimezone(zone).date() if review.until else today
    # What is still to come has no entries; but for those of clocks that are ahead of ours.
    last = max(min(last, today), found[-1] if found else date.min)
    if reaches:
        first = reaches.date()
    elif review.since:
        first = review.since.astimezone(zone).date()
    elif found:
        first = found[0]
    else:
        return []
    first = max(first, last - (DAYS_SHOWN - 1) * DAY)
    return [first + number * DAY for number in range((last - first).days + 1)]
