"""What leaves the AI and why, and what fails and where."""

from console.charts import Chart, ChartColumn, ChartRow
from conversations.insight.behind import ANY
from conversations.insight.measures import Topic
from conversations.insight.reading import InsightQuery, TopicNumbers
from conversations.insight.reports.base import ChartPanel, Figure, NumberLink, Numbers, Report, Series, daily, share
from conversations.insight.reports.parts import by_part, counted, hand_off_rate, left_out


def hand_offs(numbers: Numbers, query: InsightQuery) -> Report:
    found = numbers[Topic.HAND_OFFS]
    asked = ("asked", ANY, ANY, ANY)
    figures = (
        hand_off_rate(found, Topic.HAND_OFFS, asked),
        counted(
            "A person was asked for", found, Topic.HAND_OFFS, asked, "Conversations in which the AI asked for a person."
        ),
        counted(
            "Taken over unasked",
            found,
            Topic.HAND_OFFS,
            ("over",),
            "Conversations that a colleague took from the AI without being asked.",
        ),
    )
    panels = tuple(
        by_part(chart_id, caption, means, category, found, Topic.HAND_OFFS, "asked", position, 3)
        for chart_id, caption, means, category, position in (
            (
                "reasons",
                "Why a person was asked for",
                "The first request of a conversation, by what its reason is about. Codes stand as they are.",
                "Reason",
                1,
            ),
            (
                "intents",
                "Intents that leave the AI",
                "What the middleware last took the customer to want, where it keeps a state of the conversation.",
                "Intent",
                2,
            ),
            (
                "confidence",
                "How sure the middleware was",
                "The confidence of its last routing, from 0 to 1.",
                "Confidence",
                3,
            ),
        )
    )
    return Report(figures, panels, left_out(query))


def failures(numbers: Numbers, query: InsightQuery) -> Report:
    found = numbers[Topic.FAILURES]
    failed = ("failed", ANY, ANY, ANY, ANY)
    figures = (
        counted(
            "Failed",
            found,
            Topic.FAILURES,
            failed,
            "Conversations whose status says that they failed.",
        ),
        Figure(
            "Failure rate",
            share(found.amount(*failed), found.amount("episodes", ANY)),
            "percent",
            "Failed conversations of all.",
            NumberLink(Topic.FAILURES, failed),
            share(found.amount_before(*failed), found.amount_before("episodes", ANY)),
            query.compare,
        ),
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
        by_part(
            "causes", "Causes", "The status with which it failed.", "Status", found, Topic.FAILURES, "failed", 1, 4
        ),
        by_part(
            "codes",
            "Codes",
            "The reason that the service gave, where it is a code. Words are told as “other”.",
            "Code",
            found,
            Topic.FAILURES,
            "failed",
            2,
            4,
        ),
        by_part(
            "versions",
            "Versions",
            "The version of the channel processor that handled it.",
            "Version",
            found,
            Topic.FAILURES,
            "failed",
            3,
            4,
        ),
        _by_hour(found),
    )
    return Report(figures, panels, left_out(query))


def _by_hour(found: TopicNumbers) -> ChartPanel:
    counts = found.parts("failed", 4)
    rows, links = [], {}
    for hour in range(24):
        count = counts[(f"{hour:02}",)]
        rows.append(ChartRow(f"{hour:02}:00", (count,), f"{hour}"))
        if count:
            links[hour, 0] = NumberLink(Topic.FAILURES, ("failed", ANY, ANY, ANY, f"{hour:02}"))
    chart = Chart("hours", "Hours", "bars", "count", (ChartColumn("Failed"),), tuple(rows), category="Hour (UTC)")
    return ChartPanel(chart, "The hour of the day, in UTC, at which it failed.", links)
