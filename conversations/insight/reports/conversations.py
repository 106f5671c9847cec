"""The reports about conversations: how they end, waits, hand-offs, failures, cost, and what people did."""

from collections.abc import Sequence
from datetime import timedelta

from console import clock
from console.charts import Chart, ChartColumn, ChartRow
from console.staff.colleagues import colleagues_of
from console.trees import format_code_name
from conversations.insight.conversation_facts import STAFF
from conversations.insight.facts import FactKind
from conversations.insight.identity import pseudonym_of
from conversations.insight.measures import ANY, Outcome, Topic
from conversations.insight.reports.parts import (
    MOST_ROWS,
    Amount,
    ChartPanel,
    CountFigure,
    DailyChart,
    NumberLink,
    Numbers,
    PanelMaker,
    PartChart,
    QuantileFigure,
    ReportPage,
    ShareFigure,
    bars,
    chart_steps,
    link_numbers,
    ranked,
    rounded,
)
from conversations.insight.reports.usage import (
    BY_MODEL,
    BY_PROJECT,
    CostFigure,
    chart_cost,
    show_cost_per_conversation,
    show_tokens,
    show_tokens_per_answer,
    show_unpriced,
)
from conversations.insight.sums import MOST_OWNERS, InsightQuery, quantile_of
from conversations.insight.words import CONFIDENCE, UNKNOWN

_CONVERSATIONS = FactKind.CONVERSATIONS
# How long a customer may come back before an outcome is final.
OPEN_FOR = timedelta(days=7)
HALF, MOST = (0.5, "median"), (0.9, "9 of 10")

# --- Outcomes ---------------------------------------------------------------------------------------------------------

_OUTCOME_MEANS = {
    Outcome.AI: "the AI answered, or the conversation is done, and no person answered or returned it",
    Outcome.PERSON: "a person answered, or took it and returned it to the AI, and the customer did not write again",
    Outcome.WITH_PEOPLE: "a person has it, or it is waiting for one",
    Outcome.UNANSWERED: "the customer wrote last, nobody answered, and its status does not say that it is done",
    Outcome.FAILED: "the platform’s status says that it failed",
    Outcome.NO_REPLY: "the customer has not written at all",
}


def conversations_with_outcome(amount: Amount) -> int:
    """Return the number of conversations except those in which the customer never wrote."""
    return amount("episodes") - amount("outcome", Outcome.NO_REPLY)


def _outcome_share(outcome: Outcome) -> ShareFigure:
    """Return an outcome's share of the conversations in which the customer wrote, or that failed."""
    pattern = ("outcome", outcome)
    return ShareFigure(
        outcome.label,
        Topic.OUTCOMES,
        lambda amount: amount(*pattern),
        conversations_with_outcome,
        f"Conversations in which {_OUTCOME_MEANS[outcome]}, as a share of all except those in which the customer "
        "never wrote.",
        pattern,
    )


BEGAN = CountFigure(
    "Conversations",
    Topic.OUTCOMES,
    ("episodes",),
    "A conversation counts on the day it began (UTC), and again if the customer comes back after a week without a "
    "message.",
)
OUTCOME_SHARES = {each: _outcome_share(each) for each in Outcome}
OUTCOMES_BY_DAY = DailyChart(
    "outcomes",
    "Outcomes",
    "Each conversation on the day it began, by how it stands now. "
    + "; ".join(f"{each.label}: {means}" for each, means in _OUTCOME_MEANS.items())
    + ".",
    Topic.OUTCOMES,
    tuple((each.label, ("outcome", each)) for each in Outcome),
)


def hand_off_rate(topic: Topic) -> ShareFigure:
    """Return the share of conversations in which people were needed, of a topic that counts them."""
    return ShareFigure(
        "Hand-off rate",
        topic,
        lambda amount: amount("people"),
        lambda amount: amount("wrote"),
        "Conversations in which a person was asked for or took over, as a share of those and all others in which the "
        "customer wrote.",
        ("people",),
    )


def _note_unsettled(numbers: Numbers) -> tuple[str, ...]:
    """Return a note on conversations whose outcome may still change."""
    since = (clock.now() - OPEN_FOR).date().isoformat()
    total = numbers[Topic.OUTCOMES].total
    still = sum(count for measure, count in total.items() if measure[0] == "active" and measure[1] > since)
    if not still:
        return ()
    were, their, what = ("conversation", "its", "outcome") if still == 1 else ("conversations", "their", "outcomes")
    return (f"{still:,} {were} began or had a message in the last 7 days, so {their} {what} may still change.",)


OVERVIEW = ReportPage(
    "overview",
    "Overview",
    "How conversations end, and what they cost",
    _CONVERSATIONS,
    (Topic.OUTCOMES,),
    (
        BEGAN,
        *(OUTCOME_SHARES[each] for each in (Outcome.AI, Outcome.PERSON, Outcome.UNANSWERED, Outcome.FAILED)),
        hand_off_rate(Topic.OUTCOMES),
        QuantileFigure(
            "First human answer (median)",
            Topic.OUTCOMES,
            "answered",
            0.5,
            "Half of the customers who asked for a person had an answer from one within this time.",
        ),
        CostFigure("Token cost", Topic.OUTCOMES),
    ),
    (OUTCOMES_BY_DAY,),
    _note_unsettled,
)

# --- Waits ------------------------------------------------------------------------------------------------------------

_TAKEN = ("Until taken", "taken", "From asking for a person until somebody took the conversation.")
_ANSWERED = ("First human answer", "answered", "From asking for a person until one answered the customer.")
_FIRST = ("AI’s first answer", "first", "From the request that began it until the AI’s first words.")


def _quantiles(name: str, measure: str, means: str, *, in_ms: bool = False) -> tuple[QuantileFigure, ...]:
    return tuple(
        QuantileFigure(f"{name} ({words})", Topic.WAITS, measure, part, means, in_ms) for part, words in (HALF, MOST)
    )


HUMAN_WAITS = (*_quantiles(*_TAKEN), *_quantiles(*_ANSWERED))
OVERDUE = CountFigure(
    "Answers overdue",
    Topic.WAITS,
    ("missed",),
    "Answers that people gave, or still owe, later than the company’s targets allow.",
)


def _chart_answers(numbers: Numbers, query: InsightQuery) -> ChartPanel:
    chart = chart_steps(
        numbers[Topic.WAITS],
        lambda step: tuple(rounded(quantile_of(step.counts, "answered", part)) for part, _ in (HALF, MOST)),
        "answered",
        "First human answer",
        "lines",
        "seconds",
        ["Half within", "9 of 10 within"],
    )
    return ChartPanel(chart, "By the day the conversation began. Days without an answer have no point on the chart.")


WAITS = ReportPage(
    "waits",
    "Waits",
    "How long customers wait",
    _CONVERSATIONS,
    (Topic.WAITS,),
    (
        CountFigure("Asked for a person", Topic.WAITS, ("asked",), "How often a person was asked for."),
        *HUMAN_WAITS,
        *_quantiles(*_FIRST),
        *_quantiles(
            "AI’s processing",
            "processing",
            "How long the AI took for one answer, according to the platform.",
            in_ms=True,
        ),
        OVERDUE,
        ShareFigure(
            "On time",
            Topic.WAITS,
            lambda amount: max(0, amount("answered", ANY) - amount("missed")),
            lambda amount: max(amount("answered", ANY), amount("missed")),
            "Requests that a person answered, less the overdue answers, as a share of the answered ones. Unknown as "
            "long as nobody has answered and nothing is overdue. Companies without targets count as on time.",
        ),
    ),
    (
        _chart_answers,
        DailyChart(
            "asked",
            "Requests for a person",
            "How often a person was asked for, and how many answers were overdue.",
            Topic.WAITS,
            (("Asked for a person", ("asked",)), ("Answers overdue", ("missed",))),
            "lines",
        ),
    ),
)

# --- Hand-offs --------------------------------------------------------------------------------------------------------

ASKED = CountFigure(
    "A person was asked for",
    Topic.HAND_OFFS,
    ("asked",),
    "Conversations in which the AI, or a colleague, asked for a person.",
)


def _by_confidence(chart_id: str, caption: str, means: str, category: str, measure: str) -> PanelMaker:
    """Return bars of a measure, most frequent first, divided by the middleware's confidence in its last routing."""
    bands = [*(band for _, band in CONFIDENCE), UNKNOWN]

    def make(numbers: Numbers, query: InsightQuery) -> ChartPanel:
        found = numbers[Topic.HAND_OFFS]
        names = ranked(found.parts(measure, 1))
        shown, rest = names[:MOST_ROWS], names[MOST_ROWS:]
        amounts = {name: tuple(found.amount(measure, name, band) for band in bands) for name in names}
        rows = [ChartRow(format_code_name(name), amounts[name]) for name in shown]
        links = [[NumberLink(Topic.HAND_OFFS, (measure, name, band)) for band in bands] for name in shown]
        panel_links = link_numbers(rows, links)
        if rest:
            sums = tuple(map(sum, zip(*(amounts[name] for name in rest), strict=True)))
            rows.append(ChartRow(f"{len(rest)} more", sums))
        columns = tuple(ChartColumn(f"Confidence {band}") for band in bands)
        chart = Chart(chart_id, caption, "stacked", "count", columns, tuple(rows), category=category)
        definition = f"{means} Grouped by the confidence of the middleware’s last routing, from 0 to 1."
        return ChartPanel(chart, definition, panel_links)

    return make


HAND_OFFS = ReportPage(
    "hand-offs",
    "Hand-offs",
    "What goes from the AI to people, and why",
    _CONVERSATIONS,
    (Topic.HAND_OFFS,),
    (
        hand_off_rate(Topic.HAND_OFFS),
        ASKED,
        CountFigure(
            "Taken over without a request",
            Topic.HAND_OFFS,
            ("over",),
            "Conversations that a colleague took from the AI without being asked.",
        ),
    ),
    (
        _by_confidence(
            "reasons",
            "Why a person was asked for",
            "The first request in each conversation, grouped by its reason. Service codes that fit no group are "
            "shown as they are.",
            "Reason",
            "reason",
        ),
        _by_confidence(
            "intents",
            "Intents handed to people",
            "What the customer wanted, as the middleware last understood it. Only conversations whose state it keeps.",
            "Intent",
            "intent",
        ),
    ),
)

# --- Failures ---------------------------------------------------------------------------------------------------------

FAILED = CountFigure(
    "Failed conversations", Topic.FAILURES, ("failed", ANY), "Conversations whose status says that they failed."
)


def _chart_hours(numbers: Numbers, query: InsightQuery) -> ChartPanel:
    patterns = [("hour", f"{hour:02}") for hour in range(24)]
    found = numbers[Topic.FAILURES]
    rows = [ChartRow(f"{each}:00", (found.amount(name, each),), f"{int(each)}") for name, each in patterns]
    links = [[NumberLink(Topic.FAILURES, each)] for each in patterns]
    chart = bars("hours", "Hours", [ChartColumn("Failed")], rows, "Hour (UTC)")
    return ChartPanel(chart, "The hour of the day, in UTC, at which it failed.", link_numbers(rows, links))


FAILURES = ReportPage(
    "failures",
    "Failures",
    "What fails, and where",
    _CONVERSATIONS,
    (Topic.FAILURES, Topic.OUTCOMES),
    (FAILED, OUTCOME_SHARES[Outcome.FAILED]),
    (
        DailyChart(
            "failed",
            "Failures",
            "Failed conversations on the day they began.",
            Topic.FAILURES,
            (("Failed", FAILED.pattern),),
        ),
        PartChart("causes", "Causes", "The status with which it failed.", "Status", Topic.FAILURES, "cause"),
        PartChart(
            "codes",
            "Codes",
            "The reason the service gave, if it is a code. Reasons in words count as “other”.",
            "Code",
            Topic.FAILURES,
            "code",
        ),
        PartChart(
            "versions",
            "Versions",
            "The version of the channel processor that handled it.",
            "Version",
            Topic.FAILURES,
            "failed",
        ),
        _chart_hours,
    ),
)

# --- Cost, and people -------------------------------------------------------------------------------------------------

COST = ReportPage(
    "cost",
    "Cost",
    "Tokens, and what they cost",
    _CONVERSATIONS,
    (Topic.USAGE,),
    (
        CostFigure("Cost"),
        show_cost_per_conversation,
        CountFigure("AI’s answers", Topic.USAGE, ("answers", ANY, ANY), "Messages that the AI wrote."),
        show_tokens,
        show_tokens_per_answer,
        show_unpriced,
    ),
    (chart_cost, BY_MODEL, BY_PROJECT),
)
_DEEDS = tuple(
    CountFigure(name, Topic.PEOPLE, (measure, ANY), means)
    for name, measure, means in (
        ("Taken", "taken", "How often people took a conversation."),
        ("Answers", "answered", "Messages that people wrote to customers from the console."),
        ("Returned to AI", "handed back", "How often people returned a conversation to the AI."),
    )
)


def names_by_pseudonym(owners: Sequence[str]) -> dict[str, str]:
    """Return the names of companies' colleagues by the pseudonyms in facts. Raises the store's errors."""
    colleagues = {each.username: each.name for owner in owners[:MOST_OWNERS] for each in colleagues_of(owner)}
    return {pseudonym_of(STAFF, username): name for username, name in colleagues.items()}


def _chart_people(numbers: Numbers, query: InsightQuery) -> ChartPanel:
    """Return what people did, ordered by name and not by merit."""
    found, names = numbers[Topic.PEOPLE], names_by_pseudonym(query.owners)
    measures = [each.pattern[0] for each in _DEEDS]
    agents = {measure[1] for measure in found.total if measure[0] in measures}
    known = sorted((names[each], each) for each in agents if each in names)
    rows = [ChartRow(name, tuple(found.amount(each, agent) for each in measures)) for name, agent in known]
    links = [[NumberLink(Topic.PEOPLE, (each, agent)) for each in measures] for _, agent in known]
    panel_links = link_numbers(rows, links)
    if others := agents - names.keys():
        counts = tuple(sum(found.amount(each, agent) for agent in others) for each in measures)
        rows.append(ChartRow("Others, and former colleagues", counts))
    chart = bars("people", "By colleague", [ChartColumn(each.name) for each in _DEEDS], rows, "Colleague")
    means = "What each colleague did in conversations that began in the period, by name."
    return ChartPanel(chart, means, panel_links)


PEOPLE = ReportPage("people", "People", "What people did", _CONVERSATIONS, (Topic.PEOPLE,), _DEEDS, (_chart_people,))
