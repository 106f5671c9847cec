"""The reports of Insight: each is a page of a few figures and charts, made from the sums of some topics."""

from conversations.insight.reports.conversations import COST, FAILURES, HAND_OFFS, OVERVIEW, PEOPLE, WAITS
from conversations.insight.reports.parts import ReportPage
from conversations.insight.reports.stores import CHATS, FEEDBACK, MIDDLEWARE, TENANTS

PAGES: dict[str, ReportPage] = {
    each.slug: each
    for each in (OVERVIEW, WAITS, HAND_OFFS, FAILURES, COST, PEOPLE, FEEDBACK, CHATS, MIDDLEWARE, TENANTS)
}
