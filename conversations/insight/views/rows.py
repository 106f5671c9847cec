"""The rows behind a number: the cells of each kind of fact, and the URL of its source."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from django.urls import reverse

from console import clock
from conversations.insight.facts import FactKind, InsightFact
from conversations.insight.measures import ANY, Outcome, Topic, outcome_of
from conversations.insight.reports.base import NumberLink
from conversations.insight.reports.people import names_by_pseudonym
from conversations.reading import CHANNELS, conversation_url, reference_of, url_by_id, url_of
from conversations.stores.records import address_of, record_place
from conversations.stores.tenant_conversations.reading import reference_of as tenant_conversation

Parts = tuple[str, ...]
_WRITERS = ("customer", "ai", "human", "user", "assistant", "other")
# In addition to the time it began.
COLUMNS: dict[FactKind, tuple[str, ...]] = {
    FactKind.CONVERSATIONS: ("Outcome", "Channel", "Project", "Messages", "Reason"),
    FactKind.THREADS: ("Origin", "Messages"),
    FactKind.CHATS: ("End", "Messages"),
    FactKind.MIDDLEWARE: ("Actions", "Failed"),
    FactKind.TENANTS: ("Messages",),
}


def row_of(fact: InsightFact, parts: Parts | None) -> dict[str, Any]:
    """Return a row: its URL ("" if the source no longer exists), when it began, its day, and its cells."""
    return {
        "url": _URLS[fact.day.kind](parts) if parts else "",
        "started": clock.parse_instant(fact.data.get("started")),
        "day": _day_label(fact.day.day),
        "cells": list(zip(COLUMNS[fact.day.kind], map(str, _CELLS[fact.day.kind](fact.data)), strict=True)),
    }


def _day_label(day: str) -> str:
    """Format an ISO date as `26 Nov 2026`; return anything else unchanged."""
    try:
        read = date.fromisoformat(day)
    except ValueError:
        return day
    return f"{read.day} {read:%b %Y}"


_NAMES = {
    "episodes": "Conversations",
    "outcome": "",
    "people": "A person was needed",
    "answered": "First human answer",
    "taken": "Until taken",
    "first": "AI’s first answer",
    "asked": "Asked for a person",
    "missed": "Answers overdue",
    "over": "Taken over unasked",
    "of project": "Project",
    "answers": "AI’s answers",
}
_NAMES_OF_PEOPLE = {"taken": "Taken", "answered": "Answers"}


def describe_number(link: NumberLink, owners: Sequence[str]) -> str:
    """Describe what a number counts: its measure, then the chosen parts of it."""
    measure, *rest = link.pattern
    parts = [each for each in rest if each != ANY]
    names = _NAMES
    if link.topic is Topic.PEOPLE:
        names = _NAMES_OF_PEOPLE
        known = names_by_pseudonym(owners) if parts else {}
        parts = [known.get(each, "a colleague") for each in parts]
    elif measure == "outcome":
        labels = {str(each): each.label for each in Outcome}
        parts = [labels.get(each, each) for each in parts]
    return " · ".join(filter(None, (names.get(measure, measure.capitalize()), *parts)))


def _of_conversation(data: Mapping[str, Any]) -> tuple[Any, ...]:
    channel = str(data.get("channel", ""))
    why = data.get("why", "") if data.get("failed") else data.get("reason", "")
    return outcome_of(data).label, CHANNELS.get(channel, channel), data.get("project", ""), _messages(data), why


def _messages(data: Mapping[str, Any]) -> int:
    return sum(count for name in _WRITERS if isinstance(count := data.get(name, 0), int))


def _of_thread(data: Mapping[str, Any]) -> tuple[Any, ...]:
    days = data.get("days", {})
    found = [count for counts in days.values() for name, count in counts.items() if name in _WRITERS]
    return data.get("channel", ""), sum(found)


_CELLS: dict[FactKind, Callable[[Mapping[str, Any]], tuple[Any, ...]]] = {
    FactKind.CONVERSATIONS: _of_conversation,
    FactKind.THREADS: _of_thread,
    FactKind.CHATS: lambda data: (data.get("how", ""), _messages(data)),
    FactKind.MIDDLEWARE: lambda data: tuple(sum(data.get(name, {}).values()) for name in ("done", "failed")),
    FactKind.TENANTS: lambda data: (_messages(data),),
}


def _of_tenant(parts: Parts) -> str:
    if len(parts) == 1:
        return url_of("tenant", *parts)
    # Some writers put more than the tenant id into the partition key.
    tenant_id = parts[0].partition("#")[0]
    return reverse("tenant-conversation", args=[tenant_id, tenant_conversation(*parts)])


_URLS: dict[FactKind, Callable[[Parts], str]] = {
    FactKind.CONVERSATIONS: lambda parts: conversation_url(reference_of(*parts)),
    FactKind.THREADS: lambda parts: address_of("threads", record_place(*parts)),
    FactKind.CHATS: lambda parts: address_of("chats", record_place(*parts)),
    FactKind.MIDDLEWARE: lambda parts: url_by_id(*parts),
    FactKind.TENANTS: _of_tenant,
}
