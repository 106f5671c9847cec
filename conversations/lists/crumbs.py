"""The breadcrumbs of a conversation: its company, its project, and the page below it."""

from console.answers import url_or_empty
from conversations.records import ConversationSummary


def crumbs(summary: ConversationSummary) -> list[dict[str, str]]:
    """Return the breadcrumbs of a conversation's page."""
    above = [{"label": "Conversations", "url": url_or_empty("conversations")}]
    if summary.company_id:
        above.append({"label": summary.company_name, "url": url_or_empty("company", summary.company_id)})
        if summary.project_id:
            url = url_or_empty("project", summary.company_id, summary.project_id)
            above.append({"label": summary.project_name, "url": url})
    return [*above, {"label": summary.who}]


def crumbs_below(summary: ConversationSummary, ref: str, label: str) -> list[dict[str, str]]:
    """Return the breadcrumbs of a page below the conversation."""
    return [*crumbs(summary)[:-1], {"label": summary.who, "url": url_or_empty("conversation", ref)}, {"label": label}]
