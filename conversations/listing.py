"""Addresses of lists, and the list context: the sealed note of which list a person came from."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from console.errors import BadReference
from console.refs import seal_data, unseal_data

_KIND = "list"


def seal_list_context(context: dict[str, Any]) -> str:
    """Seal which list with which filters, such as `{"list": "company", "company": id, "filters": {…}}`."""
    return seal_data(_KIND, context)


def open_list_context(token: str) -> dict[str, Any] | None:
    """Open a context; None if there is none, or it is foreign or damaged."""
    try:
        context = unseal_data(_KIND, token)
    except BadReference:
        return None
    return context if isinstance(context, dict) and isinstance(context.get("list"), str) else None


def known_list_context(token: str) -> str:
    """Return the token itself, or "" if it does not open."""
    return token if open_list_context(token) is not None else ""


def conversation_url(reference: str, list_context: str = "") -> str:
    """Return the page of a conversation; `list_context` (sealed, unchecked) is the list that the person came from."""
    known = known_list_context(list_context)
    return reverse("conversation", args=[reference]) + (f"?in={known}" if known else "")


def url_by_id(conversation_id: str) -> str:
    """Return an address that leads to the conversation of that id, which is sealed in it. No read."""
    context = {"list": "found", "look": "id", "terms": {"conversation_id": conversation_id}}
    return f"{reverse('conversation-find')}?{urlencode({'found': seal_list_context(context), 'open': 'one'})}"


class ListLink(NamedTuple):
    """Where a list is, and what it is called."""

    url: str
    label: str


def list_link(context: dict[str, Any] | None) -> ListLink:
    """Link "back to the list" to the list that a context names, or to the start of conversations."""
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
            return ListLink(_with_query(reverse("conversation-find"), query), "Results")
    return ListLink(reverse("conversations"), "Conversations")


def _with_query(url: str, query: dict[str, Any]) -> str:
    return f"{url}?{urlencode(query)}" if query else url


def url_of(name: str, *parts: str) -> str:
    """Return the URL of a page named by foreign ids; the start of conversations if no path can hold the id."""
    if any(part in ("", ".", "..") for part in parts):
        return reverse("conversations")
    try:
        return reverse(name, args=parts)
    except NoReverseMatch:
        return reverse("conversations")
