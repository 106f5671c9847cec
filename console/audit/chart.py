"""Actions and hand-offs per day: entries of a review counted in the reader's time zone, as a chart."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from console import clock
from console.audit.review.plan import Review
from console.audit.review.reading import GatheredEntries, gather
from console.charts import Chart, ChartColumn, ChartRow
from console.permissions import Staff
from console.trail.actions import HAND_OFF_ACTIONS, happened_at, text_in

ENTRIES_READ = 2000
# Each piece takes a few rounds of Queries, so this bounds reading when filters match little.
PIECES = 12
DAYS_SHOWN = 62
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayCount:
    """One day: the number of hand-off actions and of other actions."""

    day: date
    hand_offs: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        """All actions of the day."""
        return self.hand_offs + self.others


@dataclass(frozen=True, slots=True)
class Counted:
    """The days of a chart, oldest first, without gaps.

    `read` entries were read, `undated` of them without a readable time. `is_all`: there are no more; else all were read
    back to `reaches`. `older_days`: earlier days were read but are not shown.
    """

    days: tuple[DayCount, ...]
    read: int
    undated: int
    is_all: bool
    reaches: datetime | None
    older_days: bool


def count_days(review: Review, staff: Staff, zone: ZoneInfo) -> Counted:
    """Read the newest entries of a review and count them by day. Raises as `read_review`."""
    return counted(gather(review, staff, ENTRIES_READ, PIECES), review, zone, clock.now())


def counted(gathered: GatheredEntries, review: Review, zone: ZoneInfo, now: datetime) -> Counted:
    """Count entries that were already read."""
    hand_offs, others = Counter[date](), Counter[date]()
    undated = 0
    for entry in gathered.entries:
        at = happened_at(entry)
        if at is None:
            undated += 1
            continue
        series = hand_offs if text_in(entry, "action_type") in HAND_OFF_ACTIONS else others
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
    """Return the days to show: from the review's first day (else the first with an entry) to its last, else today.

    Days before `reaches` are left out: they were not read and would look empty.
    """
    today = now.astimezone(zone).date()
    last = (review.until - timedelta(microseconds=1)).astimezone(zone).date() if review.until else today
    # Future days have no entries, except from servers whose clocks are ahead.
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


COLUMNS = (ChartColumn("Hand-offs"), ChartColumn("Other actions"), ChartColumn("Together", is_total=True))


def chart_of(counted: Counted) -> Chart:
    """Build the chart: a bar for each day, of hand-offs and other actions."""
    hand_offs, others = sum(day.hand_offs for day in counted.days), sum(day.others for day in counted.days)
    return Chart(
        id="actions",
        caption="Actions and hand-offs per day",
        kind="stacked",
        unit="count",
        columns=COLUMNS,
        rows=tuple(
            ChartRow(
                f"{day.day:%a} {day.day.day} {day.day:%b %Y}",
                (day.hand_offs, day.others, day.total),
                f"{day.day.day} {day.day:%b}",
                day.day.isoformat(),
            )
            for day in counted.days
        ),
        totals=ChartRow("All days", (hand_offs, others, hand_offs + others)),
        is_newest_first=True,
    )
