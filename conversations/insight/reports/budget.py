"""A month's budget on the cost report: figures of one company."""

from collections.abc import Sequence

from conversations.insight.budgets import MonthCost
from conversations.insight.reports.base import Figure


def budget_figures(cost: MonthCost) -> Sequence[Figure]:
    """Return what is spent this month, the budget, and what is left."""
    month = f"{cost.first:%B %Y}"
    over = bool(cost.over)
    return (
        Figure(
            "Spent this month",
            cost.spent,
            "cents",
            f"The cost of conversation tokens in {month} (UTC) so far: {cost.percent}% of the budget. The filters do "
            "not apply. Tokens without a known price are not included.",
        ),
        Figure("Budget", cost.amount, "cents", "What the company plans to spend in each calendar month (UTC)."),
        Figure(
            "Over the budget" if over else "Left in the budget",
            cost.over if over else cost.left,
            "cents",
            f"The difference between the budget and what was spent in {month}.",
        ),
    )
