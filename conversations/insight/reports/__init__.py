"""The reports of Insight: each is a page, a few figures and charts made of the sums of some topics."""

from conversations.insight.facts import FactKind
from conversations.insight.measures import Topic
from conversations.insight.reports.base import ReportPage
from conversations.insight.reports.causes import failures, hand_offs
from conversations.insight.reports.outcomes import overview
from conversations.insight.reports.people import people
from conversations.insight.reports.usage import usage_report
from conversations.insight.reports.waits import waits_report

_C = FactKind.CONVERSATIONS
OVERVIEW = ReportPage(
    "overview",
    "Overview",
    "How conversations end, and what they take",
    _C,
    (Topic.OUTCOMES, Topic.WAITS, Topic.USAGE),
    overview,
)
PAGES: dict[str, ReportPage] = {
    each.slug: each
    for each in (
        OVERVIEW,
        ReportPage("waits", "Waits", "How long customers wait", _C, (Topic.WAITS,), waits_report),
        ReportPage("hand-offs", "Hand-offs", "What leaves the AI, and why", _C, (Topic.HAND_OFFS,), hand_offs),
        ReportPage("failures", "Failures", "What fails, and where", _C, (Topic.FAILURES,), failures),
        ReportPage("cost", "Cost", "Tokens, and what they cost", _C, (Topic.USAGE,), usage_report),
        ReportPage("people", "People", "What people did", _C, (Topic.PEOPLE,), people),
    )
}
