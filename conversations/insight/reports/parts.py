"""Parts of reports: figures and charts of a topic's numbers. `means` is the definition that follows a name."""

from console.charts import Chart, ChartColumn, ChartRow, Number
from conversations.insight.measures import ANY, Topic
from conversations.insight.reading import InsightQuery, TopicNumbers
from conversations.insight.reports.base import ChartPanel, Figure, NumberLink, share

# The most rows of a chart by cause, model or project; the rest are added up.
MOST_ROWS = 20


def counted(name: str, numbers: TopicNumbers, topic: Topic, pattern: tuple[str, ...], means: str) -> Figure:
    """Return the figure of a count, linked to what it counts."""
    count = numbers.amount(*pattern)
    link = NumberLink(topic, pattern) if count else None
    return Figure(name, count, "count", means, link, numbers.amount_before(*pattern), numbers.before is not None)


def in_buckets(
    name: str, numbers: TopicNumbers, measure: str, part: float, means: str, topic: Topic = Topic.WAITS
) -> Figure:
    """Return the figure of a quantile (`part`, 0 to 1) of durations, in seconds."""
    return Figure(
        name,
        rounded(numbers.quantile(measure, part)),
        "seconds",
        means,
        NumberLink(topic, (measure, ANY)) if numbers.quantile(measure, part) is not None else None,
        rounded(numbers.quantile_before(measure, part)),
        numbers.before is not None,
    )


def milliseconds(name: str, numbers: TopicNumbers, part: float) -> Figure:
    """Return the figure of a quantile (`part`, 0 to 1) of the AI's processing times, stored in milliseconds."""
    found, before = numbers.quantile("processing", part), numbers.quantile_before("processing", part)
    return Figure(
        name,
        None if found is None else found / 1000,
        "seconds",
        "How long the AI took for one answer, according to the platform.",
        None,
        None if before is None else before / 1000,
        numbers.before is not None,
    )


def rounded(seconds: float | None) -> int | None:
    """Return whole seconds, None for None."""
    return None if seconds is None else round(seconds)


def by_part(
    chart_id: str,
    caption: str,
    means: str,
    category: str,
    numbers: TopicNumbers,
    topic: Topic,
    measure: str,
    *,
    position: int = 1,
    length: int = 1,
    what: str = "Conversations",
) -> ChartPanel:
    """Return bars of a measure by one of its parts, most frequent first; the rows beyond `MOST_ROWS` are added up.

    The part is the one at `position` of `length`; `what` names the things that are counted.
    """
    counts = numbers.parts(measure, position)
    names = sorted((part[0] for part in counts), key=lambda name: (-counts[(name,)], name))
    of = [(measure, *(name if each == position else ANY for each in range(1, length + 1))) for name in names]
    values: list[tuple[Number | None, ...]] = [(counts[(name,)],) for name in names]
    columns: tuple[ChartColumn, ...] = (ChartColumn(what),)
    if numbers.before is not None:
        values = [(*each, numbers.amount_before(*pattern)) for each, pattern in zip(values, of, strict=True)]
        columns += (ChartColumn("Period before", is_compare=True),)
    rows = [ChartRow(name, each) for name, each in zip(names[:MOST_ROWS], values, strict=False)]
    links = {(number, 0): NumberLink(topic, pattern) for number, pattern in enumerate(of[:MOST_ROWS])}
    if rest := values[MOST_ROWS:]:
        rows.append(ChartRow(f"{len(rest)} more", tuple(sum(filter(None, each)) for each in zip(*rest, strict=True))))
    return ChartPanel(Chart(chart_id, caption, "bars", "count", columns, tuple(rows), category=category), means, links)


def left_out(query: InsightQuery) -> tuple[str, ...]:
    """Return the note about companies that are not counted, nothing if all are."""
    return (f"{query.left_out} more companies are not counted here. Choose one to see it.",) if query.left_out else ()


def hand_off_rate(numbers: TopicNumbers, topic: Topic) -> Figure:
    """Return the share of conversations in which people were needed."""
    return Figure(
        "Hand-off rate",
        share(numbers.amount("people"), numbers.amount("wrote")),
        "percent",
        "Conversations in which a person was asked for or took over, as a share of those and all others in which the "
        "customer wrote.",
        NumberLink(topic, ("people",)) if numbers.amount("people") else None,
        share(numbers.amount_before("people"), numbers.amount_before("wrote")),
        numbers.before is not None,
    )
