"""What leaves the AI and why, and what fails and where."""

from console.charts import Chart, ChartColumn, ChartRow
from conversations.insight.measures import ANY, Outcome, Topic
from conversations.insight.reading import InsightQuery, TopicNumbers
from conversations.insight.reports.base import (
    ChartPanel,
    Figure,
    NumberLink,
    Numbers,
    Report,
    Series,
    daily,
    links_by_place,
)
from conversations.insight.reports.outcomes import outcome_share
from conversations.insight.reports.parts import MOST_ROWS, by_part, counted, hand_off_rate, left_out
from conversations.insight.words import CONFIDENCE, UNKNOWN


def asked_for_people(found: TopicNumbers) -> Figure:
    """Return the number of conversations in which a person was asked for."""
    means = "Conversations in which the AI, or a colleague, asked for a person."
    return counted("A person was asked for", found, Topic.HAND_OFFS, ("asked",), means)


def failed_conversations(found: TopicNumbers) -> Figure:
    """Return the number of conversations that failed."""
    means = "Conversations whose status says that they failed."
    return counted("Failed conversations", found, Topic.FAILURES, ("failed", ANY), means)


def hand_offs(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report about what leaves the AI, and why."""
    found = numbers[Topic.HAND_OFFS]
    figures = (
        hand_off_rate(found, Topic.HAND_OFFS),
        asked_for_people(found),
        counted(
            "Taken over without a request",
            found,
            Topic.HAND_OFFS,
            ("over",),
            "Conversations that a colleague took from the AI without being asked.",
        ),
    )
    panels = (
        _by_confidence(
            "reasons",
            "Why a person was asked for",
            "The first request in each conversation, grouped by its reason. Service codes that fit no group are "
            "shown as they are.",
            "Reason",
            found,
            "reason",
        ),
        _by_confidence(
            "intents",
            "Intents handed to people",
            "What the customer wanted, as the middleware last understood it. Only conversations whose state it keeps.",
            "Intent",
            found,
            "intent",
        ),
    )
    return Report(figures, panels, left_out(query))


def _by_confidence(
    chart_id: str, caption: str, means: str, category: str, numbers: TopicNumbers, measure: str
) -> ChartPanel:
    """Return bars of a measure, most frequent first, divided by the middleware's confidence in its last routing."""
    counts, names = numbers.parts(measure, 1, 2), numbers.parts(measure, 1)
    bands = [*(band for _, band in CONFIDENCE), UNKNOWN]
    shown = [name for (name,) in sorted(names, key=lambda name: (-names[name], name))[:MOST_ROWS]]
    rows = [ChartRow(name, tuple(counts[name, band] for band in bands)) for name in shown]
    links = [[NumberLink(Topic.HAND_OFFS, (measure, name, band)) for band in bands] for name in shown]
    columns = tuple(ChartColumn(f"Confidence {band}") for band in bands)
    chart = Chart(chart_id, caption, "stacked", "count", columns, tuple(rows), category=category)
    definition = f"{means} Grouped by the confidence of the middleware’s last routing, from 0 to 1."
    return ChartPanel(chart, definition, links_by_place(rows, links))


def failures(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report about what fails, and where."""
    found = numbers[Topic.FAILURES]
    failed = ("failed", ANY)
    figures = (
        failed_conversations(found),
        outcome_share(numbers[Topic.OUTCOMES], Outcome.FAILED),
    )
    panels = (
        daily(
            "failed",
            "Failures",
            "Failed conversations on the day they began.",
            found,
            Topic.FAILURES,
            [Series("Failed", failed)],
        ),
        *(
            by_part(chart_id, caption, means, category, found, Topic.FAILURES, measure)
            for chart_id, caption, means, category, measure in (
                ("causes", "Causes", "The status with which it failed.", "Status", "cause"),
                (
                    "codes",
                    "Codes",
                    "The reason the service gave, if it is a code. Reasons in words count as “other”.",
                    "Code",
                    "code",
                ),
                (
                    "versions",
                    "Versions",
                    "The version of the channel processor that handled it.",
                    "Version",
                    "failed",
                ),
            )
        ),
        _by_hour(found),
    )
    return Report(figures, panels, left_out(query))


def _by_hour(found: TopicNumbers) -> ChartPanel:
    counts = found.parts("hour", 1)
    rows = [ChartRow(f"{hour:02}:00", (counts[(f"{hour:02}",)],), f"{hour}") for hour in range(24)]
    links = [[NumberLink(Topic.FAILURES, ("hour", f"{hour:02}"))] for hour in range(24)]
    chart = Chart("hours", "Hours", "bars", "count", (ChartColumn("Failed"),), tuple(rows), category="Hour (UTC)")
    return ChartPanel(chart, "The hour of the day, in UTC, at which it failed.", links_by_place(rows, links))
