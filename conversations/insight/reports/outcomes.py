"""The overview: how conversations end, and what they cost."""

from collections.abc import Callable
from datetime import timedelta

from console import clock
from conversations.insight.measures import Outcome, Topic
from conversations.insight.reading import InsightQuery, TopicNumbers
from conversations.insight.reports.base import ChartPanel, Figure, NumberLink, Numbers, Report, Series, daily, share
from conversations.insight.reports.parts import counted, hand_off_rate, in_buckets, left_out
from conversations.insight.reports.usage import COST_MEANS, cost_before, cost_of

# How long a customer may come back before an outcome is final.
OPEN_FOR = timedelta(days=7)
EPISODE_MEANS = (
    "A conversation counts on the day it began (UTC), and again if the customer comes back after a week without a "
    "message."
)


_OUTCOME_MEANS = {
    Outcome.AI: "the AI answered, or the conversation is done, and no person answered or returned it",
    Outcome.PERSON: "a person answered, or took it and returned it to the AI, and the customer did not write again",
    Outcome.WITH_PEOPLE: "a person has it, or it is waiting for one",
    Outcome.UNANSWERED: "the customer wrote last, nobody answered, and its status does not say that it is done",
    Outcome.FAILED: "the platform’s status says that it failed",
    Outcome.NO_REPLY: "the customer has not written at all",
}


def overview(numbers: Numbers, query: InsightQuery) -> Report:
    """Return the report on how conversations ended, what they cost, and how soon people answered."""
    outcomes = numbers[Topic.OUTCOMES]
    spent, _ = cost_of(outcomes)
    figures = (
        counted("Conversations", outcomes, Topic.OUTCOMES, ("episodes",), EPISODE_MEANS),
        outcome_share(outcomes, Outcome.AI),
        outcome_share(outcomes, Outcome.PERSON),
        outcome_share(outcomes, Outcome.UNANSWERED),
        outcome_share(outcomes, Outcome.FAILED),
        hand_off_rate(outcomes, Topic.OUTCOMES),
        in_buckets(
            "First human answer (median)",
            outcomes,
            "answered",
            0.5,
            "Half of the customers who asked for a person had an answer from one within this time.",
            Topic.OUTCOMES,
        ),
        Figure("Token cost", spent, "money", COST_MEANS, None, cost_before(outcomes), query.compare),
    )
    return Report(figures, (outcomes_by_day(outcomes),), _notes(outcomes, query))


def outcome_share(numbers: TopicNumbers, outcome: Outcome) -> Figure:
    """Return an outcome's share of the conversations in which the customer wrote, or that failed."""
    means, count = _OUTCOME_MEANS[outcome], numbers.amount("outcome", outcome)
    return Figure(
        outcome.label,
        share(count, conversations_with_outcome(numbers.amount)),
        "percent",
        f"Conversations in which {means}, as a share of all except those in which the customer never wrote.",
        NumberLink(Topic.OUTCOMES, ("outcome", outcome)) if count else None,
        share(numbers.amount_before("outcome", outcome), conversations_with_outcome(numbers.amount_before)),
        numbers.before is not None,
    )


def conversations_with_outcome(amount: Callable[..., int | None]) -> int:
    """Return the number of conversations except those in which the customer never wrote."""
    return (amount("episodes") or 0) - (amount("outcome", Outcome.NO_REPLY) or 0)


def outcomes_by_day(numbers: TopicNumbers) -> ChartPanel:
    """Return the chart of outcomes by the day on which conversations began."""
    return daily(
        "outcomes",
        "Outcomes",
        "Each conversation on the day it began, by how it stands now. "
        + "; ".join(f"{each.label}: {means}" for each, means in _OUTCOME_MEANS.items())
        + ".",
        numbers,
        Topic.OUTCOMES,
        [Series(each.label, ("outcome", each)) for each in Outcome],
    )


def _notes(numbers: TopicNumbers, query: InsightQuery) -> tuple[str, ...]:
    still = sum(
        count
        for measure, count in numbers.total.items()
        if measure[0] == "active" and measure[1] > (clock.now() - OPEN_FOR).date().isoformat()
    )
    notes = []
    if still:
        were, they = ("conversation", "its") if still == 1 else ("conversations", "their")
        what = "outcome" if still == 1 else "outcomes"
        notes.append(f"{still:,} {were} began or had a message in the last 7 days, so {they} {what} may still change.")
    return (*notes, *left_out(query))
