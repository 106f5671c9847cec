"""The rows behind a number: the cells of each kind of fact, and the id and URL of its source."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from django.urls import reverse

from console import clock
from console.trees import format_code_name
from conversations.converting import CHANNELS, conversation_url, reference_of, short_id, text_of, url_by_id, url_of
from conversations.insight.facts import FactKind, InsightFact
from conversations.insight.measures import ANY, Outcome, Topic, outcome_of
from conversations.insight.reports.conversations import names_by_pseudonym
from conversations.insight.reports.parts import NumberLink
from conversations.stores.records import address_of, record_place
from conversations.stores.tenant_conversations.reading import reference_of as tenant_conversation

Parts = tuple[str, ...]
_WRITERS = ("customer", "ai", "human", "user", "assistant", "other")


@dataclass(frozen=True, slots=True)
class RowNames:
    """The names that rows show: of projects by id, and of colleagues by pseudonym."""

    projects: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)


def row_of(fact: InsightFact, parts: Parts | None, names: RowNames) -> dict[str, Any]:
    """Return a row: its id and URL ("" if the source no longer exists), when it began, its day, and its cells."""
    shown = SHOWN[fact.day.kind]
    return {
        "id": shown.id(parts) if parts else "",
        "url": shown.url(parts) if parts else "",
        "started": clock.parse_instant(fact.data.get("started")),
        "day": _day_label(fact.day.day),
        "cells": list(zip(shown.columns, map(str, shown.cells(fact.data, names)), strict=True)),
    }


def file_row_of(fact: InsightFact, parts: Parts | None, names: RowNames, company: str) -> dict[str, str]:
    """Return a row of a file by column; times are ISO 8601 in UTC."""
    row = row_of(fact, parts, names)
    began = clock.to_iso(row["started"], "seconds") if row["started"] else fact.day.day
    return {SHOWN[fact.day.kind].name: row["id"], "Began": began, "Company": company, **dict(row["cells"])}


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


def describe_number(link: NumberLink, owners: Sequence[str], projects: Mapping[str, str]) -> str:
    """Describe what a number counts: its measure, then the chosen parts of it."""
    measure, *rest = link.pattern
    parts = [each for each in rest if each != ANY]
    names = _NAMES
    if link.topic is Topic.PEOPLE:
        names = _NAMES_OF_PEOPLE
        known = names_by_pseudonym(owners) if parts else {}
        parts = [known.get(each, "a colleague") for each in parts]
    elif measure == "of project":
        parts = [projects.get(each, each) for each in parts]
    elif measure in ("reason", "intent"):
        parts = [format_code_name(each) for each in parts]
    elif measure == "outcome":
        labels = {str(each): each.label for each in Outcome}
        parts = [labels.get(each, each) for each in parts]
    return " · ".join(filter(None, (names.get(measure, measure.capitalize()), *parts)))


def _of_conversation(data: Mapping[str, Any], names: RowNames) -> tuple[Any, ...]:
    channel, project = str(data.get("channel", "")), str(data.get("project", ""))
    why = data.get("why", "") if data.get("failed") else format_code_name(str(data.get("reason", "")))
    people = sorted({names.people.get(each, "a colleague") for each in data.get("agents", {})})
    return (
        outcome_of(data).label,
        CHANNELS.get(channel, channel),
        names.projects.get(project, project),
        ", ".join(people),
        _messages(data),
        why,
    )


def _messages(data: Mapping[str, Any]) -> int:
    return sum(count for name in _WRITERS if isinstance(count := data.get(name, 0), int))


def _of_thread(data: Mapping[str, Any], names: RowNames) -> tuple[Any, ...]:
    days = data.get("days", {})
    found = [count for counts in days.values() for name, count in counts.items() if name in _WRITERS]
    return data.get("channel", ""), sum(found)


def _of_tenant(parts: Parts) -> str:
    if len(parts) == 1:
        return url_of("tenant", *parts)
    # Some writers put more than the tenant id into the partition key.
    tenant_id = parts[0].partition("#")[0]
    return reverse("tenant-conversation", args=[tenant_id, tenant_conversation(*parts)])


def _last(parts: Parts) -> str:
    return text_of(parts[-1])


@dataclass(frozen=True, slots=True)
class ShownRows:
    """What the rows of a kind of facts show: what a row is, its columns and cells, and the id and URL of its source."""

    name: str
    columns: tuple[str, ...]
    cells: Callable[[Mapping[str, Any], RowNames], tuple[Any, ...]]
    id: Callable[[Parts], str]
    url: Callable[[Parts], str]


# In addition to its id and the time it began.
SHOWN = {
    FactKind.CONVERSATIONS: ShownRows(
        "Conversation",
        ("Outcome", "Channel", "Project", "Handled by", "Messages", "Reason"),
        _of_conversation,
        lambda parts: short_id(parts[1]),
        lambda parts: conversation_url(reference_of(*parts)),
    ),
    FactKind.THREADS: ShownRows(
        "Thread",
        ("Origin", "Messages"),
        _of_thread,
        _last,
        lambda parts: address_of("threads", record_place(*parts)),
    ),
    FactKind.CHATS: ShownRows(
        "Session",
        ("End", "Messages"),
        lambda data, _: (data.get("how", ""), _messages(data)),
        _last,
        lambda parts: address_of("chats", record_place(*parts)),
    ),
    FactKind.MIDDLEWARE: ShownRows(
        "Conversation",
        ("Actions", "Failed"),
        lambda data, _: tuple(sum(data.get(name, {}).values()) for name in ("done", "failed")),
        lambda parts: short_id(parts[0]),
        lambda parts: url_by_id(*parts),
    ),
    FactKind.TENANTS: ShownRows("Conversation", ("Messages",), lambda data, _: (_messages(data),), _last, _of_tenant),
}
