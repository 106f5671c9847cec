"""Reports of the other stores: threads and their feedback, chats, the middleware, and tenants' messages."""

from console.charts import Chart, ChartColumn, ChartRow
from conversations.insight.measures import ANY, Topic
from conversations.insight.reading import InsightQuery, TopicNumbers
from conversations.insight.reports.base import ChartPanel, Figure, NumberLink, Numbers, Report, Series, daily, share
from conversations.insight.reports.parts import by_part, counted, in_buckets, left_out
from conversations.insight.reports.usage import COST_MEANS, cost_before, cost_by_model, cost_of

# --- Threads ----------------------------------------------------------------------------------------------------------


def feedback(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report about ratings of the assistant's answers and their sources."""
    found, usage = numbers[Topic.FEEDBACK], numbers[Topic.USAGE]
    up, down = found.amount("feedback", "up"), found.amount("feedback", "down")
    spent, _ = cost_of(usage)
    figures = (
        counted("Threads", found, Topic.FEEDBACK, ("threads",), "Threads that began in the period (UTC)."),
        counted("Answers", found, Topic.FEEDBACK, ("answers",), "Messages that the assistant wrote in these threads."),
        counted("Thumbs up", found, Topic.FEEDBACK, ("feedback", "up"), "Answers rated thumbs up."),
        counted("Thumbs down", found, Topic.FEEDBACK, ("feedback", "down"), "Answers rated thumbs down."),
        Figure(
            "Approval", share(up, up + down), "percent", "Answers rated thumbs up, as a share of all rated answers."
        ),
        Figure(
            "Answers with sources",
            share(found.amount("sources", "with"), found.amount("sources", ANY)),
            "percent",
            "Answers that name their sources, as a share of all answers.",
            NumberLink(Topic.FEEDBACK, ("sources", "with")),
        ),
        Figure("Token cost", spent, "money", COST_MEANS, None, cost_before(usage), query.compare),
    )
    thumbs = [Series("Thumbs up", ("feedback", "up")), Series("Thumbs down", ("feedback", "down"))]
    panels = (
        daily(
            "feedback",
            "Feedback over time",
            "Answers with feedback, on the day on which their thread began.",
            found,
            Topic.FEEDBACK,
            thumbs,
        ),
        _by_source(found),
        by_part(
            "stops",
            "Why answers ended",
            "The reason the model gave for ending its answer.",
            "Reason",
            usage,
            Topic.USAGE,
            "stop",
            what="Answers",
        ),
        cost_by_model(usage),
    )
    return Report(figures, panels, left_out(query))


def _by_source(found: TopicNumbers) -> ChartPanel:
    """Return answers by the hosts of their sources, with their ratings."""
    all_of, rated = found.parts("source", 1), found.parts("rated source", 1, 2)
    hosts = sorted((part[0] for part in all_of), key=lambda host: (-all_of[(host,)], host))[:20]
    rows, links = [], {}
    for number, host in enumerate(hosts):
        counts = [all_of[(host,)], *(_rated(rated, host, verso) for verso in ("up", "down"))]
        rows.append(ChartRow(host, tuple(counts)))
        links[number, 0] = NumberLink(Topic.FEEDBACK, ("source", host))
    columns = (ChartColumn("Answers"), ChartColumn("Thumbs up"), ChartColumn("Thumbs down"))
    chart = Chart("sources", "Feedback by source", "bars", "count", columns, tuple(rows), category="Source")
    return ChartPanel(
        chart, "Answers by the site they name as a source. An answer with several sites counts once for each.", links
    )


def _rated(rated: dict[tuple[str, ...], int], host: str, verso: str) -> int:
    return rated.get((host, verso), 0) + rated.get((verso, host), 0)


# --- Chats ------------------------------------------------------------------------------------------------------------


def chats(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report about the chatbot's sessions: how they end, and how many use up their quota."""
    found, usage = numbers[Topic.OUTCOMES], numbers[Topic.USAGE]
    figures = (
        counted("Sessions", found, Topic.OUTCOMES, ("sessions",), "Sessions that began in the period (UTC)."),
        counted("Users wrote", found, Topic.OUTCOMES, ("wrote",), "Sessions in which the user wrote."),
        counted(
            "Quota used up",
            found,
            Topic.OUTCOMES,
            ("exhausted",),
            "Sessions in which the user wrote as many messages as the quota allows, if that quota is known.",
        ),
        Figure(
            "Share of quota used up",
            share(found.amount("exhausted"), found.amount("limited")),
            "percent",
            "Sessions that used up their quota, as a share of those whose quota is known.",
        ),
        in_buckets(
            "Length (median)",
            found,
            "length",
            0.5,
            "From the beginning of a session to its last message: half of them are shorter.",
            Topic.OUTCOMES,
        ),
        counted("Images", usage, Topic.USAGE, ("images",), "Images that were made."),
    )
    panels = (
        daily(
            "sessions",
            "Sessions over time",
            "Sessions on the day on which they began.",
            found,
            Topic.OUTCOMES,
            [Series("Sessions", ("sessions",))],
        ),
        by_part(
            "ends",
            "How sessions end",
            "Ended by force, expired or still running. Unknown: the record was deleted before it was counted.",
            "End",
            found,
            Topic.OUTCOMES,
            "ended",
            what="Sessions",
        ),
    )
    return Report(figures, panels)


# --- The middleware ---------------------------------------------------------------------------------------------------


def middleware(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report about what the middleware did, what failed, and what it stopped."""
    actions, events, flows = (numbers[each] for each in (Topic.ACTIONS, Topic.EVENTS, Topic.FLOWS))
    figures = (
        counted("Actions", actions, Topic.ACTIONS, ("done", ANY, ANY), "Entries of the middleware in the trail."),
        counted("Failed", actions, Topic.ACTIONS, ("failed", ANY, ANY), "Entries that say that the action failed."),
        counted("Events", events, Topic.EVENTS, ("events", ANY), "Events and actions that the middleware processed."),
        counted("Duplicates stopped", events, Topic.EVENTS, ("again",), "Events that arrived again and were stopped."),
        counted("In safe mode", events, Topic.EVENTS, ("safe",), "Events that were processed while safe mode was on."),
        counted(
            "Automation off",
            events,
            Topic.EVENTS,
            ("off",),
            "Events that were processed while automation was off.",
        ),
        counted(
            "Flows stalled",
            flows,
            Topic.FLOWS,
            ("stalled", ANY),
            "Flows in which the middleware waited more than a day for an answer, counted on the day it asked.",
        ),
    )
    return Report(figures, _middleware_panels(actions, events, flows), left_out(query))


def _middleware_panels(actions: TopicNumbers, events: TopicNumbers, flows: TopicNumbers) -> tuple[ChartPanel, ...]:
    return (
        daily(
            "actions",
            "Actions over time",
            "Entries of the middleware on the day on which it acted, by how they ended.",
            actions,
            Topic.ACTIONS,
            [Series(name.capitalize(), ("done", ANY, name)) for name in ("success", "failed")],
        ),
        by_part(
            "kinds",
            "Actions by kind",
            "What was done.",
            "Action",
            actions,
            Topic.ACTIONS,
            "done",
            length=2,
            what="Actions",
        ),
        by_part(
            "failed-by-cause",
            "Failures by cause",
            "Failed actions, by what their result says: a kind of cause, or a code.",
            "Cause",
            actions,
            Topic.ACTIONS,
            "failed",
            position=2,
            length=2,
            what="Actions",
        ),
        by_part(
            "intents",
            "Events by intent",
            "What customers wanted.",
            "Intent",
            events,
            Topic.EVENTS,
            "intent",
            what="Events",
        ),
        by_part(
            "flows",
            "Stalled flows",
            "By what the customer was asked for.",
            "Flow",
            flows,
            Topic.FLOWS,
            "stalled",
            what="Flows",
        ),
    )


# --- Tenants ----------------------------------------------------------------------------------------------------------


def tenants(numbers: Numbers, query: InsightQuery) -> Report:
    """Build the report about tenants' messages by day, against their limits."""
    usage = numbers[Topic.USAGE]
    sent, limit = usage.amount("messages", "user"), usage.amount("limit")
    figures = (
        counted("User messages", usage, Topic.USAGE, ("messages", "user"), "Messages that users sent."),
        counted("Answers", usage, Topic.USAGE, ("messages", "assistant"), "Messages that the assistant wrote."),
        Figure(
            "Share of limit used",
            share(sent, limit),
            "percent",
            "Users’ messages as a share of what the tenant’s “messages per day” setting allows, on days when the "
            "limit is known.",
        ),
    )
    series = [Series("User messages", ("messages", "user")), Series("Limit", ("limit",))]
    panel = daily(
        "messages",
        "Messages over time",
        "Messages from users each day, and the tenant’s daily limit.",
        usage,
        Topic.USAGE,
        series,
        kind="lines",
    )
    return Report(figures, (panel,), left_out(query))
