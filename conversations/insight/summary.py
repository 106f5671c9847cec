"""The summary of a company's week: its main numbers and those of the week before, for a page and a notification.

Made from the sums that the reports use; names no person.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from console import clock
from conversations.companies import Company
from conversations.insight.budgets import MonthCost, month_costs, month_of
from conversations.insight.facts import FactKind
from conversations.insight.measures import ANY, Outcome, Topic
from conversations.insight.reading import DAY, InsightQuery, TopicNumbers, month_end, read_topics
from conversations.insight.reports.base import ChartPanel, Figure, Numbers
from conversations.insight.reports.causes import asked_for_people, failed_conversations
from conversations.insight.reports.outcomes import (
    EPISODE_MEANS,
    conversations_with_outcome,
    outcome_share,
    outcomes_by_day,
)
from conversations.insight.reports.parts import counted, hand_off_rate, in_buckets
from conversations.insight.reports.usage import COST_MEANS, cost_before, cost_of
from conversations.insight.reports.waits import HUMAN_WAITS, overdue_answers
from conversations.insight.sums import Slice
from conversations.insight.weeks import IsoWeek
from conversations.insight.words import OTHER, UNKNOWN

TOPICS = (Topic.OUTCOMES, Topic.WAITS, Topic.HAND_OFFS, Topic.FAILURES, Topic.USAGE)
# The most causes and reasons that are listed.
MOST_LISTED = 5
# Decimals of a number in a notification.
_DECIMALS = {"percent": 1, "money": 2}


@dataclass(frozen=True, slots=True)
class SummaryNumber:
    """One number; `key` is its name in notifications, with its unit."""

    key: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class SummarySection:
    """Numbers of one report (`slug`); `listed` are the most frequent values of a kind, each with its counts."""

    slug: str
    title: str
    numbers: tuple[SummaryNumber, ...]
    listed_title: str = ""
    listed: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class WeeklySummary:
    """The whole summary. `with_customer` is the number of conversations that shares of outcomes are of.

    `budget` is that of the month with most of the week's days, None without one, and what was spent until `until`.
    """

    company: Company
    week: IsoWeek
    sections: tuple[SummarySection, ...]
    chart: ChartPanel
    with_customer: int
    budget: MonthCost | None
    until: date
    unpriced: int

    @property
    def figures(self) -> dict[str, Figure]:
        """Every number by its key."""
        return {each.key: each.figure for section in self.sections for each in section.numbers}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted, neither in the week nor in the one before."""
        began = self.figures["conversations"]
        return not began.value and not began.before

    @property
    def sentences(self) -> tuple[str, ...]:
        """The summary in words."""
        return tuple(_sentences(self))

    @property
    def data(self) -> dict[str, Any]:
        """The summary as JSON values."""
        listed = {each.slug: each.listed for each in self.sections if each.listed_title}
        budget = self.budget
        return {
            "week": str(self.week),
            "first_day": self.week.period.first.isoformat(),
            "last_day": self.week.period.last.isoformat(),
            "numbers": {key: _values(each) for key, each in self.figures.items()},
            "failures": [_listed(each) for each in listed["failures"]],
            "hand_off_reasons": [_listed(each) for each in listed["hand-offs"]],
            "tokens_without_price": self.unpriced,
            "budget": None if budget is None else budget_data(budget),
        }


def read_summary(company: Company, week: IsoWeek) -> WeeklySummary:
    """Read the sums of a week and of the one before, and what is spent of the month's budget.

    One Query for each of `TOPICS` and one for feedback, two for a budget; raises the store's errors.
    """
    query = InsightQuery((company.company_id,), Slice(), week.period, compare=True)
    numbers = read_topics(FactKind.CONVERSATIONS, query, TOPICS)
    feedback = read_topics(FactKind.THREADS, query, (Topic.FEEDBACK,))[Topic.FEEDBACK]
    usage = numbers[Topic.USAGE]
    # Most days of a week are in the month of its Thursday.
    until = min(week.period.last, month_end(week.first + 3 * DAY))
    budget = month_costs({company.company_id: company.name}, until)
    spent, unpriced = cost_of(usage)
    cost = Figure("Cost", spent, "money", COST_MEANS, None, cost_before(usage), is_compared=True)
    return WeeklySummary(
        company,
        week,
        (
            *_sections(numbers),
            SummarySection("cost", "Cost", (SummaryNumber("cost_usd", cost),)),
            *_feedback(feedback),
        ),
        outcomes_by_day(numbers[Topic.OUTCOMES]),
        conversations_with_outcome(numbers[Topic.OUTCOMES].amount),
        budget[0] if budget else None,
        until,
        unpriced,
    )


def _sections(numbers: Numbers) -> Iterator[SummarySection]:
    outcomes, waits, failures = (numbers[each] for each in (Topic.OUTCOMES, Topic.WAITS, Topic.FAILURES))
    yield SummarySection(
        "overview",
        "Conversations",
        (
            SummaryNumber(
                "conversations",
                counted("Conversations", outcomes, Topic.OUTCOMES, ("episodes",), EPISODE_MEANS),
            ),
            *(
                SummaryNumber(f"{each.value.replace('-', '_')}_percent", outcome_share(outcomes, each))
                for each in (Outcome.AI, Outcome.PERSON, Outcome.WITH_PEOPLE, Outcome.UNANSWERED, Outcome.FAILED)
            ),
            SummaryNumber("hand_off_rate_percent", hand_off_rate(outcomes, Topic.OUTCOMES)),
        ),
    )
    yield SummarySection("waits", "Waits", tuple(_waits(waits)))
    yield SummarySection(
        "failures",
        "Failures",
        (SummaryNumber("failed", failed_conversations(failures)),),
        "Causes",
        _most_frequent(failures, "cause"),
    )
    yield SummarySection(
        "hand-offs",
        "Hand-offs",
        (SummaryNumber("asked_for_a_person", asked_for_people(numbers[Topic.HAND_OFFS])),),
        "Reasons",
        _most_frequent(numbers[Topic.HAND_OFFS], "reason", ANY),
    )


def _feedback(threads: TopicNumbers) -> Iterator[SummarySection]:
    """Yield a section about the ratings of the assistant's answers, if there were any threads."""
    if not threads.amount("threads") and not threads.amount_before("threads"):
        return
    numbers = (
        ("thumbs_up", "Thumbs up", "up", "Answers rated thumbs up."),
        ("thumbs_down", "Thumbs down", "down", "Answers rated thumbs down."),
    )
    figures = (
        SummaryNumber(key, counted(name, threads, Topic.FEEDBACK, ("feedback", verso), means))
        for key, name, verso, means in numbers
    )
    yield SummarySection("feedback", "Feedback", tuple(figures))


def _waits(waits: TopicNumbers) -> Iterator[SummaryNumber]:
    for name, measure, means in HUMAN_WAITS:
        key = name.lower().replace(" ", "_")
        for part, words, quantile in ((0.5, "median", "p50"), (0.9, "9 of 10", "p90")):
            figure = in_buckets(f"{name} ({words})", waits, measure, part, means)
            yield SummaryNumber(f"{key}_seconds_{quantile}", figure)
    yield SummaryNumber("answers_overdue", overdue_answers(waits))


def _most_frequent(numbers: TopicNumbers, name: str, *rest: str) -> tuple[tuple[str, int, int], ...]:
    """Return the most frequent values of a measure's first part, each with its counts this week and the week before."""
    counts = {value: count for (value,), count in numbers.parts(name, 1).items()}
    values = sorted(counts, key=lambda value: (-counts[value], value))[:MOST_LISTED]
    return tuple((value, counts[value], numbers.amount_before(name, value, *rest) or 0) for value in values)


# --- In words and as values -------------------------------------------------------------------------------------------


# Values that explain nothing.
_SAY_NOTHING = frozenset({UNKNOWN, OTHER, "failed"})


def _sentences(summary: WeeklySummary) -> Iterator[str]:
    of, listed = summary.figures, {each.slug: each.listed for each in summary.sections}
    if not of["conversations"].value:
        yield f"No conversations began this week (the week before: {of['conversations'].text_before})."
    else:
        yield f"{_count(of['conversations'], 'conversation')} began{_before(of['conversations'])}."
    if of["ai_percent"].value is not None:
        number = summary.with_customer
        whose = f"Of the {number:,} conversation{'' if number == 1 else 's'} in which the customer wrote"
        yield (
            f"{whose}, the AI resolved {of['ai_percent'].text}{_before(of['ai_percent'])} and people "
            f"{of['person_percent'].text}; {of['unanswered_percent'].text} went unanswered."
        )
    if (rate := of["hand_off_rate_percent"]).value is not None:
        yield f"A person was needed in {rate.text} of the conversations in which the customer wrote{_before(rate)}."
    if of["first_human_answer_seconds_p50"].value is not None:
        half, most = (of[f"first_human_answer_seconds_{each}"] for each in ("p50", "p90"))
        yield (
            f"Half of the customers who asked for a person had an answer within {half.text}, and 9 of 10 within "
            f"{most.text}{_before(half, ' and '.join((half.text_before, most.text_before)))}."
        )
    if (overdue := of["answers_overdue"]).value or overdue.before:
        verb = "was" if overdue.value == 1 else "were"
        yield f"{_count(overdue, 'answer')} {verb} overdue{_before(overdue)}."
    for key, slug, words, label in (
        ("failed", "failures", "{} failed", "Most common cause"),
        ("asked_for_a_person", "hand-offs", "A person was asked for in {}", "Most common reason"),
    ):
        if of[key].value or of[key].before:
            named = next((each for each in listed[slug] if each[0] not in _SAY_NOTHING), None)
            worst = f" {label}: {named[0]} ({named[1]:,})." if named else ""
            yield f"{words.format(_count(of[key], 'conversation'))}{_before(of[key])}.{worst}"
    yield f"AI tokens cost {of['cost_usd'].text}{_before(of['cost_usd'])}."
    if summary.budget is not None:
        is_past = summary.until < clock.now().date()
        yield budget_sentence(summary.budget, summary.until if is_past else None)
    if summary.unpriced:
        yield unpriced_sentence(summary.unpriced)


def _count(figure: Figure, noun: str) -> str:
    return f"{figure.text} {noun}" if figure.value == 1 else f"{figure.text} {noun}s"


def _before(figure: Figure, text: str = "") -> str:
    return "" if figure.before is None else f" (the week before: {text or figure.text_before})"


def budget_sentence(cost: MonthCost, until: date | None = None) -> str:
    """Return what is spent of a month's budget, in words; with `until`, what was spent by the end of that day."""
    when, verb = (f"By the end of {until.day} {until:%B}, ", "was") if until else ("", "is")
    rest = f"${cost.over:,.2f} over budget" if cost.over else f"${cost.left:,.2f} {verb} left"
    return (
        f"{when}{cost.percent}% of the budget for {cost.first:%B %Y} {verb} spent: ${cost.spent:,.2f} of "
        f"${cost.amount:,.2f}, {rest}."
    )


def unpriced_sentence(tokens: int) -> str:
    """Return a sentence about tokens without a price."""
    verbs = ("token has", "is") if tokens == 1 else ("tokens have", "are")
    return f"{tokens:,} {verbs[0]} no known price and {verbs[1]} not in this cost."


def budget_data(cost: MonthCost) -> dict[str, Any]:
    """Return a month's budget and what is spent of it, as JSON values in US dollars."""
    return {
        "month": month_of(cost.first),
        "budget_usd": float(round(cost.amount, 2)),
        "spent_usd": float(round(cost.spent, 2)),
        "tokens_without_price": cost.unpriced,
    }


def _values(figure: Figure) -> dict[str, Any]:
    return {"value": _plain(figure, figure.value), "before": _plain(figure, figure.before)}


def _plain(figure: Figure, value: Any) -> float | int | None:
    if value is None:
        return None
    return round(float(value), _DECIMALS[figure.unit]) if figure.unit in _DECIMALS else int(value)


def _listed(row: tuple[str, int, int]) -> dict[str, Any]:
    return dict(zip(("name", "value", "before"), row, strict=True))
