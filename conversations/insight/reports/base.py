"""What a report is made of. Each number says what it means, and which measures it is: so the facts behind it are found.

A report is built from what was read, and reads nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from console.charts import Chart, ChartColumn, ChartRow, Kind, Number, Unit, format_value
from conversations.insight.facts import FactKind
from conversations.insight.measures import Measure, Topic, amount_of
from conversations.insight.reading import InsightPeriod, InsightQuery, TopicNumbers
from conversations.reading import CHANNELS


@dataclass(frozen=True, slots=True)
class NumberLink:
    """Where the facts behind a number are: the topic and the pattern of its measures, and its days (None: all)."""

    topic: Topic
    pattern: Measure
    period: InsightPeriod | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its name and definition. `value` None: nothing to tell. `before` is that of the period before."""

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
        return format_value(self.value, self.unit)

    @property
    def text_before(self) -> str:
        """The number of the period before as shown."""
        return format_value(self.before, self.unit)


@dataclass(frozen=True, slots=True)
class ChartPanel:
    """A chart with what its numbers mean, and where each leads: by row and column, as the chart has them."""

    chart: Chart
    definition: str
    links: Mapping[tuple[int, int], NumberLink] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """What a page shows. `notes` are sentences that a reader must know."""

    figures: tuple[Figure, ...] = ()
    panels: tuple[ChartPanel, ...] = ()
    notes: tuple[str, ...] = ()


Numbers = Mapping[Topic, TopicNumbers]


class OwnedBy(StrEnum):
    """Whose the facts of a report are."""

    COMPANY = "company"
    TENANT = "tenant"
    # Nobody's that is known: for people with all companies.
    PLATFORM = ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report: its name in addresses, its title, what it tells, how it is built of which topics, and whose it is.

    `channels`: by which its facts can be told apart, and what they are called; none for facts that have no channel.
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
    """A chart of counts by the steps of the period."""
    rows: list[ChartRow] = []
    links: dict[tuple[int, int], NumberLink] = {}
    for number, step in enumerate(numbers.steps):
        values = tuple(amount_of(step.counts, each.pattern) for each in series)
        rows.append(ChartRow(step.period.label, values, step.period.short))
        links |= {
            (number, column): NumberLink(topic, series[column].pattern, step.period)
            for column, value in enumerate(values)
            if value
        }
    totals = ChartRow("Total", tuple(numbers.amount(*each.pattern) for each in series))
    for column, each in enumerate(series):
        if totals.values[column]:
            links[len(rows), column] = NumberLink(topic, each.pattern)
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
    return ChartPanel(chart, definition, links)


def step_name(numbers: TopicNumbers) -> str:
    """What the steps of a chart are."""
    longest = max((each.period.length for each in numbers.steps), default=1)
    return "Day" if longest == 1 else "Week" if longest <= 7 else "Month"


def share(part: int | None, whole: int | None) -> float | None:
    """A part in per cent; None of nothing."""
    return None if part is None or not whole else 100 * part / whole
