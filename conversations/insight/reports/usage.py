"""The report about tokens and their cost."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from django.conf import settings

from console.charts import Chart, ChartColumn, ChartRow
from conversations.insight.measures import ANY, Measure, Topic
from conversations.insight.prices import Tokens, cost, price_of
from conversations.insight.reading import InsightQuery, StepNumbers, TopicNumbers
from conversations.insight.reports.base import (
    ChartPanel,
    Figure,
    NumberLink,
    Numbers,
    Report,
    step_name,
)
from conversations.insight.reports.parts import MOST_ROWS, counted, left_out
from conversations.insight.sums import REMEMBERED, sum_packed
from conversations.insight.words import UNKNOWN

_PRICED = frozenset({"prompt", "completion", "cached", "unpriced"})
COST_MEANS = (
    "Tokens at the price of their model on the day the conversation began. Prices are the console’s own list or come "
    "from its settings. Tokens of models without a known price are left out and counted separately."
)

_NO_COST = "No cost is known for this period."


@dataclass(frozen=True, slots=True)
class TokenCost:
    """The cost of the tokens of a model in a project, and the number of tokens without a known price."""

    model: str
    project: str
    spent: Decimal
    unpriced: int


def cost_of(usage: TopicNumbers) -> tuple[Decimal, int]:
    """Return the cost of a period's tokens, and the number of tokens without a known price."""
    return _summed(costs_in_steps(usage.steps))


def cost_before(usage: TopicNumbers) -> Decimal | None:
    """Return the cost of the tokens of the period before; None if it is not compared."""
    return None if usage.earlier is None else _summed(costs_in_steps(usage.earlier))[0]


def costs_in_steps(steps: Iterable[StepNumbers]) -> list[TokenCost]:
    """Return the costs of the tokens of some steps."""
    return [each for step in steps for each in _costs_of(step, settings.INSIGHT_PRICES)]


def _summed(costs: Iterable[TokenCost]) -> tuple[Decimal, int]:
    total, unpriced = Decimal(0), 0
    for each in costs:
        total += each.spent
        unpriced += each.unpriced
    return total, unpriced


@lru_cache(maxsize=REMEMBERED)
def _costs_of(step: StepNumbers, prices: str) -> Sequence[TokenCost]:
    """Sum up first if no model's price changes during the step. `prices` is part of the cache key: it may change."""
    models = {measure[1] for measure in step.counts if measure[0] in _PRICED}
    if all(len({price_of(model, day) for day, _ in step.days}) < 2 for model in models):
        return tuple(costs_in(step.days[0][0], step.counts)) if step.days else ()
    return tuple(each for day, packed in step.days for each in costs_in(day, sum_packed(packed)))


def costs_in(day: date, counts: Mapping[Measure, int]) -> list[TokenCost]:
    """Return the cost of a day's tokens by model and project."""
    tokens: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for measure, count in counts.items():
        if measure[0] in _PRICED:
            tokens[measure[1], measure[2]][measure[0]] += count
    found = []
    for (model, project), each in tokens.items():
        used = Tokens(each["prompt"], each["completion"], each["cached"])
        spent = None if model == UNKNOWN else cost(model, used, day)
        unknown = each["unpriced"] + (used.input + used.output if spent is None else 0)
        found.append(TokenCost(model, project, spent or Decimal(0), unknown))
    return found


def usage_report(numbers: Numbers, query: InsightQuery) -> Report:
    """Return the report on what tokens cost: by day, model and project."""
    usage = numbers[Topic.USAGE]
    priced = costs_in_steps(usage.steps)
    spent, unpriced = _summed(priced)
    episodes, answers = usage.amount("episodes"), usage.amount("answers", ANY, ANY)
    tokens = sum(usage.amount(kind, ANY, ANY) for kind in ("prompt", "completion", "unpriced"))
    figures = (
        Figure("Cost", spent, "money", COST_MEANS, None, cost_before(usage), query.compare),
        Figure(
            "Cost per conversation",
            spent / episodes if episodes else None,
            "money",
            "Cost divided by the number of conversations, including those without tokens.",
        ),
        counted("AI’s answers", usage, Topic.USAGE, ("answers", ANY, ANY), "Messages that the AI wrote."),
        Figure("Tokens", tokens, "count", "Tokens that the AI’s models read and wrote, as the platform recorded them."),
        Figure(
            "Tokens per answer",
            tokens / answers if answers else None,
            "count",
            "Tokens divided by the number of the AI’s answers.",
        ),
        Figure(
            "Tokens without a price",
            unpriced,
            "count",
            "Tokens of models without a known price, or with only a total on record. They cost something too.",
        ),
    )
    panels = (
        _cost_in_time(usage),
        _cost_by("models", "Cost by model", "Model", 1, priced),
        _cost_by("projects", "Cost by project", "Project", 2, priced),
    )
    return Report(figures, panels, left_out(query))


def cost_by_model(usage: TopicNumbers) -> ChartPanel:
    """Return a chart of the cost of tokens by model."""
    return _cost_by("models", "Cost by model", "Model", 1, costs_in_steps(usage.steps))


def _cost_in_time(usage: TopicNumbers) -> ChartPanel:
    rows = [
        ChartRow(each.period.label, (_summed(costs_in_steps([each]))[0],), each.period.short, each.period.iso)
        for each in usage.steps
    ]
    columns = (ChartColumn("Cost"),)
    totals = ChartRow("Total", (_summed(costs_in_steps(usage.steps))[0],))
    chart = Chart(
        "cost",
        "Cost over time",
        "bars",
        "money",
        columns,
        tuple(rows),
        category=step_name(usage),
        totals=totals,
        empty=_NO_COST,
    )
    return ChartPanel(chart, COST_MEANS)


def _cost_by(
    chart_id: str,
    caption: str,
    category: str,
    position: int,
    priced: Sequence[TokenCost],
) -> ChartPanel:
    spent: dict[str, Decimal] = defaultdict(Decimal)
    unpriced: Counter[str] = Counter()
    for each in priced:
        name = each.model if position == 1 else each.project
        spent[name] += each.spent
        unpriced[name] += each.unpriced
    names = sorted(spent, key=lambda name: (-spent[name], name))
    shown, rest = names[:MOST_ROWS], names[MOST_ROWS:]
    links = {
        (number, 0): NumberLink(Topic.USAGE, ("answers", name, ANY) if position == 1 else ("of project", name))
        for number, name in enumerate(shown)
    }
    # An unknown cost is not a cost of 0.
    known = {name: None if unpriced[name] and not cost else cost for name, cost in spent.items()}
    rows = [ChartRow(name or UNKNOWN, (known[name],)) for name in shown]
    if rest:
        rows.append(ChartRow(f"{len(rest)} more", (sum((spent[name] for name in rest), Decimal(0)),)))
    chart = Chart(
        chart_id,
        caption,
        "bars",
        "money",
        (ChartColumn("Cost"),),
        tuple(rows),
        category=category,
        totals=ChartRow("Total", (sum(spent.values(), Decimal(0)),)),
        empty=_NO_COST,
    )
    return ChartPanel(
        chart, "The cost of the tokens in its conversations. There is no number if no token has a known price.", links
    )
