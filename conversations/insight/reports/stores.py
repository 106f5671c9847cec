"""The reports about the other stores: threads and their feedback, chats, the middleware, and tenants' messages."""

from console.charts import ChartColumn, ChartRow
from conversations.converting import CHANNELS
from conversations.insight.facts import FactKind
from conversations.insight.measures import ANY, Topic
from conversations.insight.reports.parts import (
    MOST_ROWS,
    ChartPanel,
    CountFigure,
    DailyChart,
    Figure,
    NumberLink,
    Numbers,
    OwnedBy,
    PartChart,
    QuantileFigure,
    ReportPage,
    ShareFigure,
    bars,
    ranked,
    share,
)
from conversations.insight.reports.usage import BY_MODEL, CostFigure
from conversations.insight.sums import InsightQuery
from tenants.keys import TYPES, label_of

UP, DOWN = ("feedback", "up"), ("feedback", "down")
THUMBS = (
    CountFigure("Thumbs up", Topic.FEEDBACK, UP, "Answers rated thumbs up."),
    CountFigure("Thumbs down", Topic.FEEDBACK, DOWN, "Answers rated thumbs down."),
)


def _show_sources(numbers: Numbers) -> Figure:
    found, pattern = numbers[Topic.FEEDBACK], ("sources", "with")
    value = share(found.amount(*pattern), found.amount("sources", ANY))
    means = "Answers that name their sources, as a share of all answers."
    return Figure("Answers with sources", value, "percent", means, NumberLink(Topic.FEEDBACK, pattern))


def _chart_sources(numbers: Numbers, query: InsightQuery) -> ChartPanel:
    """Return answers by the hosts of their sources, with their ratings."""
    found = numbers[Topic.FEEDBACK]
    hosts = ranked(counts := found.parts("source", 1))[:MOST_ROWS]
    rows = [
        # Some sums have the two parts in the other order.
        ChartRow(
            host,
            (
                counts[host],
                *(
                    found.amount("rated source", host, each) + found.amount("rated source", each, host)
                    for each in ("up", "down")
                ),
            ),
        )
        for host in hosts
    ]
    links = {(number, 0): NumberLink(Topic.FEEDBACK, ("source", host)) for number, host in enumerate(hosts)}
    columns = [ChartColumn(name) for name in ("Answers", "Thumbs up", "Thumbs down")]
    means = "Answers by the site they name as a source. An answer with several sites counts once for each."
    return ChartPanel(bars("sources", "Feedback by source", columns, rows, "Source"), means, links)


FEEDBACK = ReportPage(
    "feedback",
    "Feedback",
    "What readers thought of the assistant’s answers",
    FactKind.THREADS,
    (Topic.FEEDBACK, Topic.USAGE),
    (
        CountFigure("Threads", Topic.FEEDBACK, ("threads",), "Threads that began in the period (UTC)."),
        CountFigure("Answers", Topic.FEEDBACK, ("answers",), "Messages that the assistant wrote in these threads."),
        *THUMBS,
        ShareFigure(
            "Approval",
            Topic.FEEDBACK,
            lambda amount: amount(*UP),
            lambda amount: amount(*UP) + amount(*DOWN),
            "Answers rated thumbs up, as a share of all rated answers.",
        ),
        _show_sources,
        CostFigure("Token cost"),
    ),
    (
        DailyChart(
            "feedback",
            "Feedback over time",
            "Answers with feedback, on the day on which their thread began.",
            Topic.FEEDBACK,
            tuple((each.name, each.pattern) for each in THUMBS),
        ),
        _chart_sources,
        PartChart(
            "stops",
            "Why answers ended",
            "The reason the model gave for ending its answer.",
            "Reason",
            Topic.USAGE,
            "stop",
            what="Answers",
        ),
        BY_MODEL,
    ),
    channels=CHANNELS | {"web": "Web", "slack": "Slack", "teams": "Teams"},
)

CHATS = ReportPage(
    "chats",
    "Chats",
    "The chatbot’s sessions",
    FactKind.CHATS,
    (Topic.OUTCOMES, Topic.USAGE),
    (
        CountFigure("Sessions", Topic.OUTCOMES, ("sessions",), "Sessions that began in the period (UTC)."),
        CountFigure("Users wrote", Topic.OUTCOMES, ("wrote",), "Sessions in which the user wrote."),
        CountFigure(
            "Quota used up",
            Topic.OUTCOMES,
            ("exhausted",),
            "Sessions in which the user wrote as many messages as the quota allows, if that quota is known.",
        ),
        ShareFigure(
            "Share of quota used up",
            Topic.OUTCOMES,
            lambda amount: amount("exhausted"),
            lambda amount: amount("limited"),
            "Sessions that used up their quota, as a share of those whose quota is known.",
        ),
        QuantileFigure(
            "Length (median)",
            Topic.OUTCOMES,
            "length",
            0.5,
            "From the beginning of a session to its last message: half of them are shorter.",
        ),
        CountFigure("Images", Topic.USAGE, ("images",), "Images that were made."),
    ),
    (
        DailyChart(
            "sessions",
            "Sessions over time",
            "Sessions on the day on which they began.",
            Topic.OUTCOMES,
            (("Sessions", ("sessions",)),),
        ),
        PartChart(
            "ends",
            "How sessions end",
            "Ended by force, expired or still running. Unknown: the record was deleted before it was counted.",
            "End",
            Topic.OUTCOMES,
            "ended",
            what="Sessions",
        ),
    ),
    owned_by=OwnedBy.PLATFORM,
    channels={},
)

MIDDLEWARE = ReportPage(
    "middleware",
    "Middleware",
    "What the middleware did, and what it stopped",
    FactKind.MIDDLEWARE,
    (Topic.ACTIONS, Topic.EVENTS, Topic.FLOWS),
    (
        CountFigure("Actions", Topic.ACTIONS, ("done", ANY, ANY), "Entries of the middleware in the trail."),
        CountFigure("Failed", Topic.ACTIONS, ("failed", ANY, ANY), "Entries that say that the action failed."),
        CountFigure("Events", Topic.EVENTS, ("events", ANY), "Events and actions that the middleware processed."),
        CountFigure("Duplicates stopped", Topic.EVENTS, ("again",), "Events that arrived again and were stopped."),
        CountFigure("In safe mode", Topic.EVENTS, ("safe",), "Events that were processed while safe mode was on."),
        CountFigure("Automation off", Topic.EVENTS, ("off",), "Events that were processed while automation was off."),
        CountFigure(
            "Flows stalled",
            Topic.FLOWS,
            ("stalled", ANY),
            "Flows in which the middleware waited more than a day for an answer, counted on the day it asked.",
        ),
    ),
    (
        DailyChart(
            "actions",
            "Actions over time",
            "Entries of the middleware on the day on which it acted, by how they ended.",
            Topic.ACTIONS,
            (("Success", ("done", ANY, "success")), ("Failed", ("done", ANY, "failed"))),
        ),
        PartChart(
            "kinds", "Actions by kind", "What was done.", "Action", Topic.ACTIONS, "done", length=2, what="Actions"
        ),
        PartChart(
            "failed-by-cause",
            "Failures by cause",
            "Failed actions, by what their result says: a kind of cause, or a code.",
            "Cause",
            Topic.ACTIONS,
            "failed",
            position=2,
            length=2,
            what="Actions",
        ),
        PartChart(
            "intents", "Events by intent", "What customers wanted.", "Intent", Topic.EVENTS, "intent", what="Events"
        ),
        PartChart(
            "flows",
            "Stalled flows",
            "By what the customer was asked for.",
            "Flow",
            Topic.FLOWS,
            "stalled",
            what="Flows",
        ),
    ),
    channels={},
)

_SENT = ("messages", "user")
TENANTS = ReportPage(
    "tenants",
    "Tenants",
    "Tenants’ messages against their limits",
    FactKind.TENANTS,
    (Topic.USAGE,),
    (
        CountFigure("User messages", Topic.USAGE, _SENT, "Messages that users sent."),
        CountFigure("Answers", Topic.USAGE, ("messages", "assistant"), "Messages that the assistant wrote."),
        ShareFigure(
            "Share of limit used",
            Topic.USAGE,
            lambda amount: amount(*_SENT),
            lambda amount: amount("limit"),
            "Users’ messages as a share of what the tenant’s “messages per day” setting allows, on days when the "
            "limit is known.",
        ),
    ),
    (
        DailyChart(
            "messages",
            "Messages over time",
            "Messages from users each day, and the tenant’s daily limit.",
            Topic.USAGE,
            (("User messages", _SENT), ("Limit", ("limit",))),
            "lines",
        ),
    ),
    notes=lambda _: ("Messages to which the platform wrote no time are not counted.",),
    owned_by=OwnedBy.TENANT,
    channels={each: label_of(each) for each in TYPES},
)
