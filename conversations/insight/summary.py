"""The summary of a company's week: its main numbers and those of the week before, for a page and a notification.

Made from the sums that the reports use; names no person. Weeks follow ISO 8601: from Monday to Sunday, in UTC; the
first week of a year contains its first Thursday.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

from console import clock
from console.trees import format_code_name, round_half_up
from conversations.companies import Company
from conversations.insight.budgets import MonthCost, month_costs, month_of
from conversations.insight.facts import FactKind
from conversations.insight.measures import ANY, Outcome, Topic, amount_of
from conversations.insight.reports.conversations import (
    ASKED,
    BEGAN,
    FAILED,
    HUMAN_WAITS,
    OUTCOME_SHARES,
    OUTCOMES_BY_DAY,
    OVERDUE,
    conversations_with_outcome,
    hand_off_rate,
)
from conversations.insight.reports.parts import ChartPanel, Figure, FigureMaker, Numbers, ranked
from conversations.insight.reports.stores import THUMBS
from conversations.insight.reports.usage import CostFigure, cost_of
from conversations.insight.sums import DAY, InsightPeriod, InsightQuery, Slice, month_end, read_topics
from conversations.insight.words import OTHER, UNKNOWN

TOPICS = (Topic.OUTCOMES, Topic.WAITS, Topic.HAND_OFFS, Topic.FAILURES, Topic.USAGE)
# The most causes and reasons that are listed.
MOST_LISTED = 5
# Decimals of a number in a notification.
_DECIMALS = {"percent": 1, "money": 2}
# Values that explain nothing.
_SAY_NOTHING = frozenset({UNKNOWN, OTHER, "failed"})
_WEEK = re.compile(r"(20\d\d)-W([0-5]\d)", re.ASCII)
_WEEK_LONG = timedelta(weeks=1)


@dataclass(frozen=True, slots=True)
class IsoWeek:
    """A week; `year` is its ISO year, which some of its days may not be in."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02}"

    @classmethod
    def of(cls, day: date) -> "IsoWeek":
        """Return the week of a day."""
        year, number, _ = day.isocalendar()
        return cls(year, number)

    @classmethod
    def parse(cls, text: str) -> "IsoWeek":
        """Parse `2026-W47`. Raises `ValueError`, also for a week that its year does not have."""
        found = _WEEK.fullmatch(text)
        if found is None:
            raise ValueError("no week")
        week = cls(int(found[1]), int(found[2]))
        return cls.of(week.first)

    @property
    def first(self) -> date:
        """Its Monday. Raises `ValueError` for a week that its year does not have."""
        return date.fromisocalendar(self.year, self.number, 1)

    @property
    def period(self) -> InsightPeriod:
        """Its days."""
        return InsightPeriod(self.first, date.fromisocalendar(self.year, self.number, 7))

    @property
    def before(self) -> "IsoWeek":
        """The week before it."""
        return IsoWeek.of(self.first - _WEEK_LONG)

    @property
    def after(self) -> "IsoWeek":
        """The week after it."""
        return IsoWeek.of(self.first + _WEEK_LONG)

    @property
    def words(self) -> str:
        """Its days in words: `16 to 22 November 2026`."""
        first, last = self.period.first, self.period.last
        begins = f"{first.day}" + ("" if first.month == last.month else f" {first:%B}")
        begins += "" if first.year == last.year else f" {first.year}"
        return f"{begins} to {last.day} {last:%B} {last.year}"


@dataclass(frozen=True, slots=True)
class SummarySection:
    """Numbers of one report (`slug`) by their names in notifications, which have their units.

    `listed` are the most frequent values of a kind, each with its counts.
    """

    slug: str
    title: str
    numbers: Mapping[str, Figure]
    listed_title: str = ""
    listed: tuple[tuple[str, int, int], ...] = ()

    @property
    def others(self) -> tuple[int, int] | None:
        """How many of the section's only number are not listed, and the week before; None if all of this week are."""
        if not self.listed:
            return None
        (total,) = self.numbers.values()
        now = int(total.value or 0) - sum(count for _, count, _ in self.listed)
        before = int(total.before or 0) - sum(count for _, _, count in self.listed)
        return (now, max(0, before)) if now > 0 else None

    @property
    def rows(self) -> tuple[tuple[str, int, int], ...]:
        """What is listed, in words, with a last row for the others."""
        shown = tuple((_words_of(name), count, before) for name, count, before in self.listed)
        return (*shown, ("others", *self.others)) if self.others else shown

    @property
    def most_common(self) -> str:
        """A sentence on the most frequent value that explains something, if there is one."""
        named = next((each for each in self.listed if each[0] not in _SAY_NOTHING), None)
        if named is None:
            return ""
        kind = self.listed_title.lower().removesuffix("s")
        which = kind if named is self.listed[0] else f"named {kind}"
        return f" Most common {which}: {_words_of(named[0])} ({named[1]:,})."


def _words_of(name: str) -> str:
    """Return a code of a service in words; a status stays as it is stored."""
    return name if name.startswith("failed") else format_code_name(name)


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
        return {key: each for section in self.sections for key, each in section.numbers.items()}

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


@dataclass(frozen=True, slots=True)
class _Section:
    """What a section is made of: its numbers, and the pattern whose first part is listed by frequency."""

    slug: str
    title: str
    numbers: Mapping[str, FigureMaker]
    listed_title: str = ""
    topic: Topic = Topic.OUTCOMES
    pattern: tuple[str, ...] = ()

    def build(self, numbers: Numbers) -> SummarySection:
        figures = {key: make(numbers) for key, make in self.numbers.items()}
        return SummarySection(self.slug, self.title, figures, self.listed_title, tuple(self._listed(numbers)))

    def _listed(self, numbers: Numbers) -> Iterator[tuple[str, int, int]]:
        """Yield the most frequent values, each with its counts this week and the week before."""
        if self.pattern:
            (name, *rest), found = self.pattern, numbers[self.topic]
            counts = found.parts(name, 1)
            for value in ranked(counts)[:MOST_LISTED]:
                _, before = found.compare(partial(amount_of, pattern=(name, value, *rest)))
                yield value, counts[value], before or 0


_SECTIONS = (
    _Section(
        "overview",
        "Conversations",
        {
            "conversations": BEGAN,
            **{
                f"{each.value.replace('-', '_')}_percent": OUTCOME_SHARES[each]
                for each in (Outcome.AI, Outcome.PERSON, Outcome.WITH_PEOPLE, Outcome.UNANSWERED, Outcome.FAILED)
            },
            "hand_off_rate_percent": hand_off_rate(Topic.OUTCOMES),
        },
    ),
    _Section(
        "waits",
        "Waits",
        {
            f"{wait}_seconds_{part}": HUMAN_WAITS[2 * number + more]
            for number, wait in enumerate(("until_taken", "first_human_answer"))
            for more, part in enumerate(("p50", "p90"))
        }
        | {"answers_overdue": OVERDUE},
    ),
    _Section("failures", "Failures", {"failed": FAILED}, "Causes", Topic.FAILURES, ("cause",)),
    _Section("hand-offs", "Hand-offs", {"asked_for_a_person": ASKED}, "Reasons", Topic.HAND_OFFS, ("reason", ANY)),
    _Section("cost", "Cost", {"cost_usd": CostFigure("Cost")}),
)
# Only if there were any threads.
_FEEDBACK = _Section("feedback", "Feedback", dict(zip(("thumbs_up", "thumbs_down"), THUMBS, strict=True)))


def read_summary(company: Company, week: IsoWeek) -> WeeklySummary:
    """Read the sums of a week and of the one before, and what is spent of the month's budget.

    One Query for each of `TOPICS` and one for feedback, two for a budget; raises the store's errors.
    """
    query = InsightQuery((company.company_id,), Slice(), week.period, compare=True)
    numbers: Numbers = read_topics(FactKind.CONVERSATIONS, query, TOPICS)
    feedback: Numbers = read_topics(FactKind.THREADS, query, (Topic.FEEDBACK,))
    threads = feedback[Topic.FEEDBACK]
    sections = [each.build(numbers) for each in _SECTIONS]
    if any(threads.compare(lambda counts: counts["threads",])):
        sections.append(_FEEDBACK.build(feedback))
    # Most days of a week are in the month of its Thursday.
    until = min(week.period.last, month_end(week.first + 3 * DAY))
    budget = month_costs({company.company_id: company.name}, until)
    return WeeklySummary(
        company,
        week,
        tuple(sections),
        OUTCOMES_BY_DAY(numbers, query),
        conversations_with_outcome(numbers[Topic.OUTCOMES].amount),
        budget[0] if budget else None,
        until,
        cost_of(numbers[Topic.USAGE])[1],
    )


# --- In words and as values -------------------------------------------------------------------------------------------


def _sentences(summary: WeeklySummary) -> Iterator[str]:
    of, sections = summary.figures, {each.slug: each for each in summary.sections}
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
    for key, slug, words in (
        ("failed", "failures", "{} failed"),
        ("asked_for_a_person", "hand-offs", "A person was asked for in {}"),
    ):
        if of[key].value or of[key].before:
            yield f"{words.format(_count(of[key], 'conversation'))}{_before(of[key])}.{sections[slug].most_common}"
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
    return float(round_half_up(value, _DECIMALS[figure.unit])) if figure.unit in _DECIMALS else int(value)


def _listed(row: tuple[str, int, int]) -> dict[str, Any]:
    return dict(zip(("name", "value", "before"), row, strict=True))
