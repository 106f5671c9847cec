"""The parts of reports, as rows of a table: each says what it counts, and makes a figure or a chart of it.

A figure is made of the numbers that were already read, by topic. Each number has a definition (`means`), and the
measures behind it, which lead to its facts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any

from console.charts import Chart, ChartColumn, ChartRow, Kind, Number, Unit, format_value
from conversations.converting import CHANNELS
from conversations.insight.facts import FactKind
from conversations.insight.measures import ANY, Measure, Topic, amount_of
from conversations.insight.sums import InsightPeriod, InsightQuery, StepNumbers, TopicNumbers, quantile_of

# The most rows of a chart by cause, model or project; the rest are added up.
MOST_ROWS = 20


@dataclass(frozen=True, slots=True)
class NumberLink:
    """The facts behind a number: the topic and the pattern of its measures, and its days (None: all)."""

    topic: Topic
    pattern: Measure
    period: InsightPeriod | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its name and definition. `value` is None if unknown. `before` is that of the period before."""

    name: str
    value: Number | None
    unit: Unit
    definition: str
    link: NumberLink | None = None
    before: Number | None = None
    is_compared: bool = False

    @property
    def text(self) -> str:
        """The number as shown."""
        return self._format(self.value)

    @property
    def text_before(self) -> str:
        """The number of the period before as shown."""
        return self._format(self.before)

    def _format(self, value: Number | None) -> str:
        return format_value(value, self.unit, max(self.value or 0, self.before or 0))


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """A chart, the definition of its numbers, and the link of each number by row and column of the chart."""

    chart: Chart
    definition: str
    links: Mapping[tuple[int, int], NumberLink] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """The content of a page. `notes` are sentences that a reader must know."""

    figures: tuple[Figure, ...] = ()
    panels: tuple[ChartPanel, ...] = ()
    notes: tuple[str, ...] = ()


Numbers = Mapping[Topic, TopicNumbers]
FigureMaker = Callable[[Numbers], Figure]
PanelMaker = Callable[[Numbers, InsightQuery], ChartPanel]


class OwnedBy(StrEnum):
    """Who owns the facts of a report."""

    COMPANY = "company"
    TENANT = "tenant"
    # No known owner: for staff with all companies in their scope.
    PLATFORM = ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report: its slug in addresses, title and summary, of which topics its parts are made, and who owns its facts.

    `channels`: labels of the channels that its facts can be filtered by; empty for facts without a channel.
    """

    slug: str
    title: str
    summary: str
    kind: FactKind
    topics: tuple[Topic, ...]
    figures: tuple[FigureMaker, ...]
    panels: tuple[PanelMaker, ...]
    notes: Callable[[Numbers], tuple[str, ...]] = lambda _: ()
    owned_by: OwnedBy = OwnedBy.COMPANY
    channels: Mapping[str, str] = field(default_factory=lambda: CHANNELS)

    def build(self, numbers: Numbers, query: InsightQuery) -> Report:
        """Return the report of a query, of whose topics these are the numbers."""
        left_out = f"{query.left_out} more companies are not counted here. Choose one to see it."
        return Report(
            tuple(make(numbers) for make in self.figures),
            tuple(make(numbers, query) for make in self.panels),
            (*self.notes(numbers), *([left_out] if query.left_out else [])),
        )


# --- Figures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CountFigure:
    """A count, linked to what it counts."""

    name: str
    topic: Topic
    pattern: Measure
    means: str

    def __call__(self, numbers: Numbers) -> Figure:
        """Return its figure."""
        found = numbers[self.topic]
        count, before = found.compare(lambda counts: amount_of(counts, self.pattern))
        link = NumberLink(self.topic, self.pattern) if count else None
        return Figure(self.name, count, "count", self.means, link, before, found.before is not None)


# Returns how much was counted of a measure.
Amount = Callable[..., int]


@dataclass(frozen=True, slots=True)
class ShareFigure:
    """A part as a percentage of a whole; with a `pattern`, linked to it and compared with the period before."""

    name: str
    topic: Topic
    part: Callable[[Amount], int]
    whole: Callable[[Amount], int]
    means: str
    pattern: Measure = ()

    def __call__(self, numbers: Numbers) -> Figure:
        """Return its figure."""
        found = numbers[self.topic]
        value, before = found.compare(self._value)
        if not self.pattern:
            return Figure(self.name, value, "percent", self.means)
        link = NumberLink(self.topic, self.pattern) if found.amount(*self.pattern) else None
        return Figure(self.name, value, "percent", self.means, link, before, found.before is not None)

    def _value(self, counts: Mapping[Measure, int]) -> float | None:
        def amount(*pattern: str) -> int:
            return amount_of(counts, pattern)

        return share(self.part(amount), self.whole(amount))


def share(part: int, whole: int) -> float | None:
    """Return a part as a percentage of the whole; None if the whole is 0."""
    return 100 * part / whole if whole else None


@dataclass(frozen=True, slots=True)
class QuantileFigure:
    """A quantile of durations in buckets (`part`, 0 to 1), in seconds; `in_ms`: stored in milliseconds, not linked."""

    name: str
    topic: Topic
    measure: str
    part: float
    means: str
    in_ms: bool = False

    def __call__(self, numbers: Numbers) -> Figure:
        """Return its figure."""
        found = numbers[self.topic]
        value, before = found.compare(self._value)
        link = None if value is None or self.in_ms else NumberLink(self.topic, (self.measure, ANY))
        return Figure(self.name, value, "seconds", self.means, link, before, found.before is not None)

    def _value(self, counts: Mapping[Measure, int]) -> float | None:
        exact = quantile_of(counts, self.measure, self.part)
        return exact / 1000 if self.in_ms and exact is not None else rounded(exact)


def rounded(seconds: float | None) -> int | None:
    """Return whole seconds, None for None."""
    return None if seconds is None else round(seconds)


# --- Charts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DailyChart:
    """A chart of counts by the steps of the period; `series` are the names and patterns of what is counted."""

    id: str
    caption: str
    means: str
    topic: Topic
    series: tuple[tuple[str, Measure], ...]
    kind: Kind = "stacked"

    def __call__(self, numbers: Numbers, query: InsightQuery) -> ChartPanel:
        """Return its panel."""
        found, patterns = numbers[self.topic], [pattern for _, pattern in self.series]
        totals = ChartRow("Total", tuple(found.amount(*each) for each in patterns))
        chart = chart_steps(
            found,
            lambda step: tuple(amount_of(step.counts, each) for each in patterns),
            self.id,
            self.caption,
            self.kind if len(patterns) > 1 else "bars",
            "count",
            [name for name, _ in self.series],
            totals=totals,
        )
        periods = (*(step.period for step in found.steps), None)
        links = [[NumberLink(self.topic, each, period) for each in patterns] for period in periods]
        return ChartPanel(chart, self.means, link_numbers([*chart.rows, totals], links))


def chart_steps(
    numbers: TopicNumbers,
    values: Callable[[StepNumbers], tuple[Number | None, ...]],
    chart_id: str,
    caption: str,
    kind: Kind,
    unit: Unit,
    columns: Sequence[str],
    **options: Any,
) -> Chart:
    """Return a chart by the steps of a period: days, weeks or months."""
    rows = (ChartRow(each.period.label, values(each), each.period.short, each.period.iso) for each in numbers.steps)
    longest = max((each.period.length for each in numbers.steps), default=1)
    category = "Day" if longest == 1 else "Week" if longest <= 7 else "Month"
    return Chart(
        chart_id, caption, kind, unit, tuple(map(ChartColumn, columns)), tuple(rows), category=category, **options
    )


def link_numbers(rows: Sequence[ChartRow], links: Iterable[Sequence[NumberLink]]) -> dict[tuple[int, int], NumberLink]:
    """Return the link of each number that is not 0 by row and column. `links` are those of the rows' numbers."""
    return {
        (number, column): link
        for number, (row, of_row) in enumerate(zip(rows, links, strict=True))
        for column, (value, link) in enumerate(zip(row.values, of_row, strict=True))
        if value
    }


def ranked(counts: Mapping[str, Any]) -> list[str]:
    """Return names by how much was counted of each, most first."""
    return sorted(counts, key=lambda name: (-counts[name], name))


@dataclass(frozen=True, slots=True)
class PartChart:
    """Bars of a measure by one of its parts, most frequent first; the rows beyond `MOST_ROWS` are added up.

    The part is the one at `position` of `length`; `what` names the things that are counted.
    """

    id: str
    caption: str
    means: str
    category: str
    topic: Topic
    measure: str
    position: int = 1
    length: int = 1
    what: str = "Conversations"

    def __call__(self, numbers: Numbers, query: InsightQuery) -> ChartPanel:
        """Return its panel."""
        found = numbers[self.topic]
        names = ranked(counts := found.parts(self.measure, self.position))
        patterns = [
            (self.measure, *(name if each == self.position else ANY for each in range(1, self.length + 1)))
            for name in names
        ]
        columns = [ChartColumn(self.what)]
        values: list[tuple[int | None, ...]] = [(counts[name],) for name in names]
        if found.before is not None:
            values = [found.compare(partial(amount_of, pattern=each)) for each in patterns]
            columns.append(ChartColumn("Period before", is_compare=True))
        rows = [ChartRow(*each) for each in zip(names[:MOST_ROWS], values, strict=False)]
        links = {(number, 0): NumberLink(self.topic, each) for number, each in enumerate(patterns[:MOST_ROWS])}
        if rest := values[MOST_ROWS:]:
            sums = tuple(sum(filter(None, each)) for each in zip(*rest, strict=True))
            rows.append(ChartRow(f"{len(rest)} more", sums))
        return ChartPanel(bars(self.id, self.caption, columns, rows, self.category), self.means, links)


def bars(chart_id: str, caption: str, columns: Sequence[ChartColumn], rows: Sequence[ChartRow], category: str) -> Chart:
    """Return a chart of counts by something else than time."""
    return Chart(chart_id, caption, "bars", "count", tuple(columns), tuple(rows), category=category)
