"""The reports of Insight: each is a page of a few figures and charts, made from the sums of some topics."""

from conversations.converting import CHANNELS
from conversations.insight.facts import FactKind
from conversations.insight.measures import Topic
from conversations.insight.reports import stores
from conversations.insight.reports.base import OwnedBy, ReportPage
from conversations.insight.reports.causes import failures, hand_offs
from conversations.insight.reports.outcomes import overview
from conversations.insight.reports.people import people
from conversations.insight.reports.usage import usage_report
from conversations.insight.reports.waits import waits_report
from tenants.keys import TYPES, label_of

_C = FactKind.CONVERSATIONS
OVERVIEW = ReportPage(
    "overview",
    "Overview",
    "How conversations end, and what they cost",
    _C,
    (Topic.OUTCOMES,),
    overview,
)
PAGES: dict[str, ReportPage] = {
    each.slug: each
    for each in (
        OVERVIEW,
        ReportPage("waits", "Waits", "How long customers wait", _C, (Topic.WAITS,), waits_report),
        ReportPage(
            "hand-offs", "Hand-offs", "What goes from the AI to people, and why", _C, (Topic.HAND_OFFS,), hand_offs
        ),
        ReportPage("failures", "Failures", "What fails, and where", _C, (Topic.FAILURES, Topic.OUTCOMES), failures),
        ReportPage("cost", "Cost", "Tokens, and what they cost", _C, (Topic.USAGE,), usage_report),
        ReportPage("people", "People", "What people did", _C, (Topic.PEOPLE,), people),
        ReportPage(
            "feedback",
            "Feedback",
            "What readers thought of the assistant’s answers",
            FactKind.THREADS,
            (Topic.FEEDBACK, Topic.USAGE),
            stores.feedback,
            channels=CHANNELS | {"web": "Web", "slack": "Slack", "teams": "Teams"},
        ),
        ReportPage(
            "chats",
            "Chats",
            "The chatbot’s sessions",
            FactKind.CHATS,
            (Topic.OUTCOMES, Topic.USAGE),
            stores.chats,
            OwnedBy.PLATFORM,
            channels={},
        ),
        ReportPage(
            "middleware",
            "Middleware",
            "What the middleware did, and what it stopped",
            FactKind.MIDDLEWARE,
            (Topic.ACTIONS, Topic.EVENTS, Topic.FLOWS),
            stores.middleware,
            channels={},
        ),
        ReportPage(
            "tenants",
            "Tenants",
            "Tenants’ messages against their limits",
            FactKind.TENANTS,
            (Topic.USAGE,),
            stores.tenants,
            OwnedBy.TENANT,
            channels={each: label_of(each) for each in TYPES},
        ),
    )
}
