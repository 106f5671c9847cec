"""Actions and hand-offs per day: entries of a review counted in the reader's time zone, and a bar for each day."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from math import ceil
from zoneinfo import ZoneInfo

from console import clock
from console.audit.review.plan import Review
from console.audit.review.reading import Gathered, gather
from console.audit.rows import happened_at
from console.permissions import Staff
from console.trail.actions import HAND_OFF_ACTIONS

ENTRIES_READ = 2000
# Each is some rounds of Queries: with filters that let little through, reading ends here.
PIECES = 12
DAYS_SHOWN = 62
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayCount:
    """One day: the number of hand-off actions, and of others."""

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

    `read` entries were read, of which `undated` have no readable time. `is_all`: these were all; else `reaches` is the
    instant back to which everything was read. `older_days`: earlier days were read too, and are not shown.
    """

    days: tuple[DayCount, ...]
    read: int
    undated: int
    is_all: bool
    reaches: datetime | None
    older_days: bool

    @property
    def hand_offs(self) -> int:
        """Their number in all days."""
        return sum(each.hand_offs for each in self.days)

    @property
    def others(self) -> int:
        """Their number in all days."""
        return sum(each.others for each in self.days)

    @property
    def total(self) -> int:
        """Both together, in all days."""
        return self.hand_offs + self.others


def count_days(review: Review, staff: Staff, zone: ZoneInfo) -> Counted:
    """Read the newest entries of a review and count them. Raises as `read_review`."""
    return counted(gather(review, staff, ENTRIES_READ, PIECES), review, zone, clock.now())


def counted(gathered: Gathered, review: Review, zone: ZoneInfo, now: datetime) -> Counted:
    """Count entries that were read already."""
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

    Days that were not read to the end are left out: they would look empty.
    """
    today = now.astimezone(zone).date()
    last = (review.until - timedelta(microseconds=1)).astimezone(zone).date() if review.until else today
    # Future days have no entries, except from clocks ahead of ours.
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


# --- Drawing: pure geometry, which a template makes SVG ---------------------------------------------------------------

HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 44, 44, 14, 30
# A day's width: an equal share of all bars' width, within limits.
WIDTH_OF_BARS, NARROWEST, WIDEST = 868, 14, 56
# Room that a date needs below the bars, and a number above one.
LABEL_WIDTH, NUMBER_WIDTH = 48, 28
MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class Rect:
    """In the chart's own units, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Label:
    """Words at a place."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One day. An empty part is None; `words` say the day's numbers, `total` stands above."""

    hand_offs: Rect | None
    others: Rect | None
    total: Label | None
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything to draw. `lines` are the heights of the grid with their numbers, `days` the dates below.

    The numbers stand on both sides, because a small screen shows only one end.
    """

    width: int
    height: int
    bars: tuple[Bar, ...]
    lines: tuple[Label, ...]
    days: tuple[Label, ...]
    base: float
    left: int
    right: float


def render_chart(days: Sequence[DayCount]) -> Chart:
    """Lay out these days, oldest first; also no days, and days without entries."""
    room = min(max(WIDTH_OF_BARS / len(days), NARROWEST), WIDEST) if days else WIDEST
    width = ceil(LEFT + room * max(len(days), 1) + RIGHT)
    base = float(HEIGHT - BOTTOM)
    step, top = scale(max((each.total for each in days), default=0))
    unit = (base - TOP) / top
    bars = tuple(_bar(each, LEFT + number * room, room, base, unit) for number, each in enumerate(days))
    lines = tuple(Label(LEFT - 8, round(base - value * unit, 2), f"{value:,}") for value in range(0, top + 1, step))
    return Chart(width, HEIGHT, bars, lines, _dates(days, room), base, LEFT, float(width - RIGHT))


def scale(highest: int) -> tuple[int, int]:
    """The step between the lines of a grid (1, 2 or 5 times a power of ten) and the height of its highest line."""
    step, factors = 1, (2, 5, 10)
    while ceil(highest / step) > MOST_LINES:
        power = 10 ** (len(str(step)) - 1)
        step = next(power * factor for factor in factors if power * factor > step)
    return step, step * max(ceil(highest / step), 1)


def _bar(day: DayCount, x: float, room: float, base: float, unit: float) -> Bar:
    width, left = round(room * 0.72, 2), round(x + room * 0.14, 2)
    others, hand_offs = round(day.others * unit, 2), round(day.hand_offs * unit, 2)
    above = Label(round(x + room / 2, 2), round(base - others - hand_offs - 4, 2), f"{day.total:,}")
    return Bar(
        hand_offs=Rect(left, round(base - others - hand_offs, 2), width, hand_offs) if day.hand_offs else None,
        others=Rect(left, round(base - others, 2), width, others) if day.others else None,
        total=above if day.total and room >= NUMBER_WIDTH else None,
        words=words_of(day),
    )


def words_of(day: DayCount) -> str:
    """`12 Nov 2026: 3 hand-offs, 20 other actions`."""
    hand_offs = "1 hand-off" if day.hand_offs == 1 else f"{day.hand_offs:,} hand-offs"
    others = "1 other action" if day.others == 1 else f"{day.others:,} other actions"
    return f"{day.day.day} {day.day:%b %Y}: {hand_offs}, {others}"


def _dates(days: Sequence[DayCount], room: float) -> tuple[Label, ...]:
    """As many dates as fit, evenly spaced back from the newest."""
    every = max(ceil(LABEL_WIDTH / room), 1)
    chosen = [(number, each) for number, each in enumerate(days) if (len(days) - 1 - number) % every == 0]
    return tuple(
        Label(round(LEFT + (number + 0.5) * room, 2), HEIGHT - BOTTOM + 18, f"{each.day.day} {each.day:%b}")
        for number, each in chosen
    )
