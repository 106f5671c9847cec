"""What tokens cost: of a period, by day, model and project."""

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
from conversations.insight.reports.parts import (
    MOST_ROWS,
    ChartPanel,
    Figure,
    NumberLink,
    Numbers,
    chart_steps,
    ranked,
)
from conversations.insight.sums import REMEMBERED, InsightQuery, StepNumbers, TopicNumbers, sum_packed
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
    return _summed(usage.steps)


def _summed(steps: Iterable[StepNumbers]) -> tuple[Decimal, int]:
    costs = _costs_in(steps)
    return sum((each.spent for each in costs), Decimal(0)), sum(each.unpriced for each in costs)


def _costs_in(steps: Iterable[StepNumbers]) -> list[TokenCost]:
    return [each for step in steps for each in _costs_of(step, settings.INSIGHT_PRICES)]


@lru_cache(maxsize=REMEMBERED)
def _costs_of(step: StepNumbers, prices: str) -> Sequence[TokenCost]:
    """Sum up first if no model's price changes during the step. `prices` is part of the cache key: it may change."""
    models = {measure[1] for measure in step.counts if measure[0] in _PRICED}
    if all(len({price_of(model, day) for day, _ in step.days}) < 2 for model in models):
        return tuple(_costs_on(step.days[0][0], step.counts)) if step.days else ()
    return tuple(each for day, packed in step.days for each in _costs_on(day, sum_packed(packed)))


def _costs_on(day: date, counts: Mapping[Measure, int]) -> list[TokenCost]:
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


@dataclass(frozen=True, slots=True)
class CostFigure:
    """The cost of a topic's tokens."""

    name: str
    topic: Topic = Topic.USAGE

    def __call__(self, numbers: Numbers) -> Figure:
        """Return its figure."""
        usage = numbers[self.topic]
        before = None if usage.earlier is None else _summed(usage.earlier)[0]
        return Figure(self.name, cost_of(usage)[0], "money", COST_MEANS, None, before, usage.earlier is not None)


def show_cost_per_conversation(numbers: Numbers) -> Figure:
    """Return the cost divided by the number of conversations."""
    usage = numbers[Topic.USAGE]
    episodes = usage.amount("episodes")
    means = "Cost divided by the number of conversations, including those without tokens."
    return Figure("Cost per conversation", cost_of(usage)[0] / episodes if episodes else None, "money", means)


def _tokens(usage: TopicNumbers) -> int:
    return sum(usage.amount(kind, ANY, ANY) for kind in ("prompt", "completion", "unpriced"))


def show_tokens(numbers: Numbers) -> Figure:
    """Return the number of tokens."""
    means = "Tokens that the AI’s models read and wrote, as the platform recorded them."
    return Figure("Tokens", _tokens(numbers[Topic.USAGE]), "count", means)


def show_tokens_per_answer(numbers: Numbers) -> Figure:
    """Return the number of tokens divided by that of answers."""
    usage = numbers[Topic.USAGE]
    answers = usage.amount("answers", ANY, ANY)
    means = "Tokens divided by the number of the AI’s answers."
    return Figure("Tokens per answer", _tokens(usage) / answers if answers else None, "count", means)


def show_unpriced(numbers: Numbers) -> Figure:
    """Return the number of tokens without a known price."""
    means = "Tokens of models without a known price, or with only a total on record. They cost something too."
    return Figure("Tokens without a price", cost_of(numbers[Topic.USAGE])[1], "count", means)


def chart_cost(numbers: Numbers, query: InsightQuery) -> ChartPanel:
    """Return a chart of the cost by the steps of the period."""
    usage = numbers[Topic.USAGE]
    chart = chart_steps(
        usage,
        lambda step: (_summed([step])[0],),
        "cost",
        "Cost over time",
        "bars",
        "money",
        ["Cost"],
        totals=ChartRow("Total", (cost_of(usage)[0],)),
        empty=_NO_COST,
    )
    return ChartPanel(chart, COST_MEANS)


@dataclass(frozen=True, slots=True)
class CostChart:
    """A chart of the cost by model or project. `measure` leads to what is behind a row, which is its first part."""

    id: str
    caption: str
    category: str
    measure: Measure

    def __call__(self, numbers: Numbers, query: InsightQuery) -> ChartPanel:
        """Return its panel."""
        spent: dict[str, Decimal] = defaultdict(Decimal)
        unpriced: Counter[str] = Counter()
        for each in _costs_in(numbers[Topic.USAGE].steps):
            name = each.model if self.category == "Model" else each.project
            spent[name] += each.spent
            unpriced[name] += each.unpriced
        names = ranked(spent)
        shown, rest = names[:MOST_ROWS], names[MOST_ROWS:]
        measure, *more = self.measure
        links = {(row, 0): NumberLink(Topic.USAGE, (measure, name, *more)) for row, name in enumerate(shown)}
        # An unknown cost is not a cost of 0.
        known = {name: None if unpriced[name] and not cost else cost for name, cost in spent.items()}
        rows = [ChartRow(name or UNKNOWN, (known[name],)) for name in shown]
        if rest:
            rows.append(ChartRow(f"{len(rest)} more", (sum((spent[name] for name in rest), Decimal(0)),)))
        chart = Chart(
            self.id,
            self.caption,
            "bars",
            "money",
            (ChartColumn("Cost"),),
            tuple(rows),
            category=self.category,
            totals=ChartRow("Total", (sum(spent.values(), Decimal(0)),)),
            empty=_NO_COST,
        )
        means = "The cost of the tokens in its conversations. There is no number if no token has a known price."
        return ChartPanel(chart, means, links)


BY_MODEL = CostChart("models", "Cost by model", "Model", ("answers", ANY))
BY_PROJECT = CostChart("projects", "Cost by project", "Project", ("of project",))
