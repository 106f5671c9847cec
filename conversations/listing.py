"""Rows as templates show them, and the list context: the sealed note of which list a person came from."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse
from django.utils.safestring import SafeString

from console.errors import BadReference
from console.escaping import escaped
from console.refs import seal_data, unseal_data
from console.staff.permissions import Staff
from console.templatetags.icons import icon, tag
from conversations.forms import CHANNELS, words
from conversations.records import HandOffState, Summary

_KIND = "list"
_CHANNEL_ICONS = {"whatsapp": "whatsapp", "sms": "sms", "email": "mail", "web": "web", "teams": "team", "slack": "team"}
_STATUS_TONES = {"failed": "bad", "completed": "good"}


def seal_list_context(context: dict[str, Any]) -> str:
    """Seal which list with which filters: `{"list": "company", "company": id, "filters": {…}}` and the like."""
    return seal_data(_KIND, context)


def open_list_context(token: str) -> dict[str, Any] | None:
    """The context, or None for none, a foreign or a damaged one."""
    try:
        context = unseal_data(_KIND, token)
    except BadReference:
        return None
    return context if isinstance(context, dict) and isinstance(context.get("list"), str) else None


def known_list_context(token: str) -> str:
    """The token itself, or "" for one that does not open and so is of no use to the next page either."""
    return token if open_list_context(token) is not None else ""


def conversation_url(reference: str, list_context: str = "") -> str:
    """The page of a conversation; `list_context` (sealed, unchecked) keeps the list that one came from."""
    known = known_list_context(list_context)
    return reverse("conversation", args=[reference]) + (f"?in={known}" if known else "")


def url_by_id(conversation_id: str) -> str:
    """The address that leads to the conversation of that id, made without a read; the id is sealed in it."""
    context = {"list": "found", "look": "id", "terms": {"conversation_id": conversation_id}}
    return f"{reverse('conversation-find')}?{urlencode({'found': seal_list_context(context), 'open': 'one'})}"


@dataclass(frozen=True, slots=True)
class ListLink:
    """Where a list is, and what it is called."""

    url: str
    label: str


def list_link(context: dict[str, Any] | None) -> ListLink:
    """The list that a context names, for "back to the list"; the start of conversations where it names none."""
    given = context or {}
    filters = given.get("filters")
    query = {name: str(value) for name, value in filters.items()} if isinstance(filters, dict) else {}
    match given:
        case {"list": "queue", "tab": str() as tab}:
            return ListLink(_with_query(reverse("queue"), {"tab": tab, **query}), "Queue")
        case {"list": "company", "company": str() as company}:
            return ListLink(_with_query(url_of("company", company), query), "The company's conversations")
        case {"list": "project", "company": str() as company, "project": str() as project}:
            return ListLink(_with_query(url_of("project", company, project), query), "The project's conversations")
        case {"list": "recipient", "reference": str() as reference}:
            return ListLink(_with_query(reverse("recipient", args=[reference]), query), "The recipient's conversations")
        case {"list": "replies", "reference": str() as reference}:
            return ListLink(reverse("replies", args=[reference]), "Conversations with this recipient")
        case {"list": "found"}:
            query = {"found": seal_list_context(given)}
            return ListLink(_with_query(reverse("conversation-find"), query), "What was found")
    return ListLink(reverse("conversations"), "Conversations")


def _with_query(url: str, query: dict[str, Any]) -> str:
    return f"{url}?{urlencode(query)}" if query else url


def url_of(name: str, *parts: str) -> str:
    """The URL of a page named by foreign ids; the start of conversations for an id that no path can hold."""
    if any(part in ("", ".", "..") for part in parts):
        return reverse("conversations")
    try:
        return reverse(name, args=parts)
    except NoReverseMatch:
        return reverse("conversations")


class Paths:
    """The paths of one route for many conversations: each row would look the same address up again."""

    _MARK = "reference"

    def __init__(self, route: str) -> None:
        self._before, _, self._after = reverse(route, args=[self._MARK]).rpartition(self._MARK)

    def of(self, reference: str) -> str:
        """The path for one conversation."""
        return f"{self._before}{reference}{self._after}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a list: words, links and tags ready, for a page draws fifty of them. `state` says who has it.

    What is not known is "".
    """

    number: int
    url: str
    last_message_url: str
    who: str
    short_id: str
    project_url: str
    project_name: str
    channel: str
    channel_icon: SafeString
    status: SafeString | str
    state: SafeString
    reason: str
    updated_at: datetime | None
    flaws: str


def rows_of(summaries: tuple[Summary, ...], context: dict[str, Any], staff: Staff) -> tuple[Row, ...]:
    """The rows of a list, each linked with the list's context."""
    query = "?" + urlencode({"in": seal_list_context(context)})
    paths = Paths("conversation"), Paths("conversation-last-message")
    places = {(summary.company_id, summary.project_id) for summary in summaries}
    projects = {place: url_of("project", *place) for place in places}
    rows = []
    for number, summary in enumerate(summaries, 1):
        url, last_message_url = (path.of(summary.reference) + query for path in paths)
        project_url = projects[summary.company_id, summary.project_id]
        rows.append(_row(summary, number, url, last_message_url, project_url, staff))
    return tuple(rows)


def _row(summary: Summary, number: int, url: str, last_message_url: str, project_url: str, staff: Staff) -> Row:
    state, tone, icon_name = _state(summary, staff)
    status, channel, hand_off = words(summary.status), summary.channel, summary.hand_off
    return Row(
        number=number,
        url=escaped(url),
        last_message_url=escaped(last_message_url),
        who=escaped(summary.who),
        short_id=escaped(summary.short_id),
        project_url=escaped(project_url) if summary.project_id else "",
        project_name=escaped(summary.project_name),
        channel=CHANNELS.get(channel, channel),
        channel_icon=icon(_CHANNEL_ICONS.get(channel.lower(), "conversations"), small=True),
        status=tag(_cut(status, 28), _STATUS_TONES.get(summary.status, ""), title=status) if status else "",
        state=tag(_cut(state, 40), tone, icon_name, state),
        reason=_cut(hand_off.reason, 60) if hand_off.flag else "",
        updated_at=summary.updated_at,
        flaws="; ".join(summary.drift),
    )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _state(summary: Summary, staff: Staff) -> tuple[str, str, str]:
    """Who has the conversation: words, tone and icon."""
    agent = summary.hand_off.agent
    whose = "you" if agent == staff.username else agent
    match summary.hand_off.state:
        case HandOffState.WAITING:
            return "waiting for a human", "human", "clock"
        case HandOffState.HELD:
            return f"with {whose}", "human", "person"
        case HandOffState.OVERRIDDEN:
            return f"overridden ({whose})", "bad", "warning"
        case _:
            return "AI", "ai", "robot"
