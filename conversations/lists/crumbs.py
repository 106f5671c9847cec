"""The breadcrumbs of a conversation: its company, its project, and the page below it."""

from console.answers import url_or_empty
from console.context import list_crumbs
from conversations.records import ConversationSummary


def crumbs(summary: ConversationSummary) -> list[dict[str, str]]:
    """Return the breadcrumbs of a conversation's page."""
    return list_crumbs(*_above(summary), here=summary.who)


def crumbs_below(summary: ConversationSummary, ref: str, label: str) -> list[dict[str, str]]:
    """Return the breadcrumbs of a page below the conversation."""
    return list_crumbs(*_above(summary), (summary.who, url_or_empty("conversation", ref)), here=label)


def _above(summary: ConversationSummary) -> list[tuple[str, str]]:
    above = [("Conversations", url_or_empty("conversations"))]
    if summary.company_id:
        above.append((summary.company_name, url_or_empty("company", summary.company_id)))
        if summary.project_id:
            above.append((summary.project_name, url_or_empty("project", summary.company_id, summary.project_id)))
    return above
