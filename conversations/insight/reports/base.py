"""The building blocks of a report. Each number has a definition and the measures behind it, which lead to its facts.

A report is built from numbers that were already read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from console.charts import Chart, ChartColumn, ChartRow, Kind, Number, Unit, format_value
from conversations.converting import CHANNELS
from conversations.insight.facts import FactKind
from conversations.insight.measures import Measure, Topic, amount_of
from conversations.insight.reading import InsightPeriod, InsightQuery, TopicNumbers


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


class OwnedBy(StrEnum):
    """Who owns the facts of a report."""

    COMPANY = "company"
    TENANT = "tenant"
    # No known owner: for staff with all companies in their scope.
    PLATFORM = ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report: its slug in addresses, title and summary, how it is built from which topics, and who owns its facts.

    `channels`: labels of the channels that its facts can be filtered by; empty for facts without a channel.
    """

    slug: str
    title: str
    summary: str
    kind: FactKind
    topics: tuple[Topic, ...]
    build: Callable[[Numbers, InsightQuery], Report]
    owned_by: OwnedBy = OwnedBy.COMPANY
    channels: Mapping[str, str] = field(default_factory=lambda: CHANNELS)


@dataclass(frozen=True, slots=True)
class Series:
    """One column of a chart by day: its name, and the measures that it adds up."""

    name: str
    pattern: Measure


def daily(
    chart_id: str,
    caption: str,
    definition: str,
    numbers: TopicNumbers,
    topic: Topic,
    series: Sequence[Series],
    *,
    kind: Kind = "stacked",
) -> ChartPanel:
    """Return a chart of counts by the steps of the period."""
    rows = [
        ChartRow(
            step.period.label,
            tuple(amount_of(step.counts, each.pattern) for each in series),
            step.period.short,
            step.period.iso,
        )
        for step in numbers.steps
    ]
    totals = ChartRow("Total", tuple(numbers.amount(*each.pattern) for each in series))
    periods = (*(step.period for step in numbers.steps), None)
    links = [[NumberLink(topic, each.pattern, period) for each in series] for period in periods]
    chart = Chart(
        chart_id,
        caption,
        kind if len(series) > 1 else "bars",
        "count",
        tuple(ChartColumn(each.name) for each in series),
        tuple(rows),
        category=step_name(numbers),
        totals=totals,
    )
    return ChartPanel(chart, definition, links_by_place([*rows, totals], links))


def links_by_place(
    rows: Sequence[ChartRow], links: Iterable[Sequence[NumberLink]]
) -> dict[tuple[int, int], NumberLink]:
    """Return the link of each number that is not 0 by row and column. `links` are those of the rows' numbers."""
    return {
        (number, column): link
        for number, (row, of_row) in enumerate(zip(rows, links, strict=True))
        for column, (value, link) in enumerate(zip(row.values, of_row, strict=True))
        if value
    }


def step_name(numbers: TopicNumbers) -> str:
    """Return what the steps of a chart are."""
    longest = max((each.period.length for each in numbers.steps), default=1)
    return "Day" if longest == 1 else "Week" if longest <= 7 else "Month"


def share(part: int | None, whole: int | None) -> float | None:
    """Return a part as a percentage of the whole; None if the whole is 0 or unknown."""
    return None if part is None or not whole else 100 * part / whole
