"""The report about how long customers wait."""

from console.charts import Chart, ChartColumn, ChartRow
from conversations.insight.measures import Topic
from conversations.insight.reading import InsightQuery, TopicNumbers, quantile_of
from conversations.insight.reports.base import (
    ChartPanel,
    Figure,
    Numbers,
    Report,
    Series,
    daily,
    share,
    step_name,
)
from conversations.insight.reports.parts import counted, in_buckets, left_out, milliseconds, rounded

# The name, measure and definition of each wait for people.
HUMAN_WAITS = (
    ("Until taken", "taken", "From asking for a person until somebody took the conversation."),
    ("First human answer", "answered", "From asking for a person until one answered the customer."),
)


def overdue_answers(waits: TopicNumbers) -> Figure:
    """Return the number of late answers."""
    means = "Answers that people gave, or still owe, later than the company’s targets allow."
    return counted("Answers overdue", waits, Topic.WAITS, ("missed",), means)


def waits_report(numbers: Numbers, query: InsightQuery) -> Report:
    """Return the report on how long customers waited for people and for the AI."""
    waits = numbers[Topic.WAITS]
    asked, missed = waits.amount("asked"), waits.amount("missed")
    figures = (
        counted("Asked for a person", waits, Topic.WAITS, ("asked",), "How often a person was asked for."),
        *(
            in_buckets(f"{name} ({words})", waits, measure, part, means)
            for name, measure, means in (
                *HUMAN_WAITS,
                (
                    "AI’s first answer",
                    "first",
                    "From the request that began it until the AI’s first words.",
                ),
            )
            for part, words in ((0.5, "median"), (0.9, "9 of 10"))
        ),
        milliseconds("AI’s processing (median)", waits, 0.5),
        milliseconds("AI’s processing (9 of 10)", waits, 0.9),
        overdue_answers(waits),
        Figure(
            "On time",
            share(max(0, asked - missed), asked),
            "percent",
            "Requests for a person without an overdue answer. Companies without targets count as on time.",
        ),
    )
    return Report(figures, (_waits_by_day(waits), _asked_by_day(waits)), left_out(query))


def _waits_by_day(waits: TopicNumbers) -> ChartPanel:
    rows = [
        ChartRow(
            step.period.label,
            tuple(rounded(quantile_of(step.counts, "answered", part)) for part in (0.5, 0.9)),
            step.period.short,
            step.period.iso,
        )
        for step in waits.steps
    ]
    chart = Chart(
        "answered",
        "First human answer",
        "lines",
        "seconds",
        (ChartColumn("Half within"), ChartColumn("9 of 10 within")),
        tuple(rows),
        category=step_name(waits),
    )
    return ChartPanel(chart, "By the day the conversation began. Days without an answer have no point on the chart.")


def _asked_by_day(waits: TopicNumbers) -> ChartPanel:
    return daily(
        "asked",
        "Requests for a person",
        "How often a person was asked for, and how many answers were overdue.",
        waits,
        Topic.WAITS,
        [Series("Asked for a person", ("asked",)), Series("Answers overdue", ("missed",))],
        kind="lines",
    )
