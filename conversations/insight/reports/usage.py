"""Tokens, and what they cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal

from console.charts import Chart, ChartColumn, ChartRow
from conversations.insight.behind import ANY
from conversations.insight.measures import Counts, Topic
from conversations.insight.prices import Tokens, cost
from conversations.insight.reading import InsightQuery, TopicNumbers
from conversations.insight.reports.base import (
    ChartPanel,
    Figure,
    NumberLink,
    Numbers,
    Report,
    day_label,
    short_day,
)
from conversations.insight.reports.parts import MOST_ROWS, counted, left_out
from conversations.insight.words import UNKNOWN

COST_MEANS = (
    "Tokens at the price of their model on the day the conversation began, by the list prices that this console has or "
    "its settings name. Tokens of models without a known price are left out and counted beside it."
)


def cost_of(usage: TopicNumbers) -> tuple[Decimal, int]:
    """What the tokens of a period cost, and how many have no known price."""
    return _cost(usage.by_day.items())


def cost_before(usage: TopicNumbers, query: InsightQuery) -> Decimal | None:
    """What those of the period before cost; None where that is not asked for."""
    if usage.before is None:
        return None
    return _cost(zip(query.period.before.days(), usage.before_by_day, strict=True))[0]


def _cost(days: Iterable[tuple[date, Counts]]) -> tuple[Decimal, int]:
    total, unpriced = Decimal(0), 0
    for day, counts in days:
        for _, _, spent, unknown in costs_in(day, counts):
            total += spent
            unpriced += unknown
    return total, unpriced


def costs_in(day: date, counts: Counts) -> list[tuple[str, str, Decimal, int]]:
    """By model and project, what a day's tokens cost, and how many have no known price."""
    tokens: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for measure, count in counts.items():
        if measure[0] in ("prompt", "completion", "unpriced"):
            tokens[measure[1], measure[2]][measure[0]] += count
    found = []
    for (model, project), each in tokens.items():
        spent = None if model == UNKNOWN else cost(model, Tokens(each["prompt"], each["completion"]), day)
        unknown = each["unpriced"] + (each["prompt"] + each["completion"] if spent is None else 0)
        found.append((model, project, spent or Decimal(0), unknown))
    return found


def usage_report(numbers: Numbers, query: InsightQuery) -> Report:
    usage = numbers[Topic.USAGE]
    spent, unpriced = cost_of(usage)
    priced = [each for day, counts in usage.by_day.items() for each in costs_in(day, counts)]
    episodes, answers = usage.amount("episodes", ANY, ANY), usage.amount("answers", ANY, ANY)
    tokens = sum(usage.amount(kind, ANY, ANY) for kind in ("prompt", "completion", "unpriced"))
    figures = (
        Figure("Cost", spent, "money", COST_MEANS, None, cost_before(usage, query), query.compare),
        Figure(
            "Cost of a conversation",
            spent / episodes if episodes else None,
            "money",
            "Cost divided by the number of conversations, those without tokens among them.",
        ),
        counted("AI’s answers", usage, Topic.USAGE, ("answers", ANY, ANY), "Messages that the AI wrote."),
        Figure("Tokens", tokens, "count", "Tokens that the AI’s models read and wrote, as the platform noted them."),
        Figure(
            "Tokens of an answer",
            tokens / answers if answers else None,
            "count",
            "Tokens divided by the number of the AI’s answers.",
        ),
        Figure(
            "Tokens without a price",
            unpriced,
            "count",
            "Tokens of models whose price is not known, or of which only a total was noted. They cost something too.",
        ),
    )
    panels = (
        _cost_by_day(usage),
        cost_by_model(usage),
        _cost_by("projects", "Cost by project", "Project", 2, priced),
    )
    return Report(figures, panels, left_out(query))


def cost_by_model(usage: TopicNumbers) -> ChartPanel:
    """What tokens cost by model."""
    priced = [each for day, counts in usage.by_day.items() for each in costs_in(day, counts)]
    return _cost_by("models", "Cost by model", "Model", 1, priced)


def _cost_by_day(usage: TopicNumbers) -> ChartPanel:
    rows = [
        ChartRow(day_label(day), (_cost([(day, counts)])[0],), short_day(day)) for day, counts in usage.by_day.items()
    ]
    chart = Chart("cost", "Cost by day", "bars", "money", (ChartColumn("Cost"),), tuple(rows))
    return ChartPanel(chart, COST_MEANS)


def _cost_by(
    chart_id: str,
    caption: str,
    category: str,
    position: int,
    priced: Sequence[tuple[str, str, Decimal, int]],
) -> ChartPanel:
    spent: dict[str, Decimal] = defaultdict(Decimal)
    for each in priced:
        spent[each[0] if position == 1 else each[1]] += each[2]
    names = sorted(spent, key=lambda name: (-spent[name], name))[:MOST_ROWS]
    links = {
        (number, 0): NumberLink(Topic.USAGE, ("answers", name, ANY) if position == 1 else ("answers", ANY, name))
        for number, name in enumerate(names)
    }
    chart = Chart(
        chart_id,
        caption,
        "bars",
        "money",
        (ChartColumn("Cost"),),
        tuple(ChartRow(name or UNKNOWN, (spent[name],)) for name in names),
        category=category,
    )
    return ChartPanel(chart, "What its conversations’ tokens cost. Models without a known price show nothing.", links)
