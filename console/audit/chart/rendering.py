"""From counts to geometry: a bar for each day, hand-offs on top of other actions. Pure; a template makes it SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from console.audit.chart.counting import DayCount

HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 44, 44, 14, 30
# Room for a day: as wide as the bars may be together, within these.
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
    """One day. A part is None where there is nothing of it; `words` say the day's numbers, `total` stands above."""

    hand_offs: Rect | None
    others: Rect | None
    total: Label | None
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Everything that is drawn. `lines` are the heights of the grid with their numbers, `days` the dates below.

    The numbers stand on both sides: a small screen shows one end only.
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
    """The chart of these days, oldest first. Total: also of no day, and of days without entries."""
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
    """As many dates as there is room for, at equal distances, from the newest back: it is the one that people know."""
    every = max(ceil(LABEL_WIDTH / room), 1)
    chosen = [(number, each) for number, each in enumerate(days) if (len(days) - 1 - number) % every == 0]
    return tuple(
        Label(round(LEFT + (number + 0.5) * room, 2), HEIGHT - BOTTOM + 18, f"{each.day.day} {each.day:%b}")
        for number, each in chosen
    )
