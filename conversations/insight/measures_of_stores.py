"""What is counted of a fact of the other stores: threads, chats, the middleware, tenants. See `measures`.

Each function yields measures and the amount that a fact adds to them; docs/insight.md explains their meaning.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from conversations.insight.buckets import bucket_of
from conversations.insight.words import UNKNOWN

Counted = Iterator[tuple[tuple[str, ...], int]]

ROLES = ("user", "assistant", "other")
MODEL_MEASURES = ("answers", "prompt", "completion", "cached", "unpriced")


# --- Threads --------------------------------------------------------------------------------------------------------


def thread_feedback(data: Mapping[str, Any]) -> Counted:
    """Count the ratings of answers, with and without sources, and by the hosts of the sources."""
    yield ("threads",), 1
    totals = _of_days(data)
    if any(totals[each] for each in ("up", "down", "unclear")):
        yield ("rated",), 1
    for name, count in totals.items():
        what, *rest = name.split("|")
        if what == "assistant":
            yield ("answers",), count
        elif what in ("up", "down", "unclear"):
            yield ("feedback", what), count
        elif what == "comment":
            yield (what, *rest), count
        elif what in ("sources", "source"):
            yield (what if len(rest) == 1 else f"rated {what}", *rest), count


def thread_usage(data: Mapping[str, Any]) -> Counted:
    """Count messages, why answers ended, and the tokens they used, by model."""
    yield ("threads",), 1
    for name, count in _of_days(data).items():
        what, *rest = name.split("|")
        if what in ROLES:
            yield ("messages", what), count
        elif what == "stop":
            yield ("stop", *rest), count
        elif what in MODEL_MEASURES:
            # Same shape as for conversations: model, then project, which threads do not have.
            yield (what, *rest, ""), count


def _of_days(data: Mapping[str, Any]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for counts in data.get("days", {}).values():
        totals.update(counts)
    return totals


# --- Chats ----------------------------------------------------------------------------------------------------------


def chat_outcomes(data: Mapping[str, Any]) -> Counted:
    """Count how sessions ended, how long they were, and whether their quota was used up."""
    yield ("sessions",), 1
    yield ("ended", data.get("how", UNKNOWN)), 1
    if data.get("user"):
        yield ("wrote",), 1
    if data.get("seconds"):
        yield ("length", str(bucket_of(data["seconds"] - 1))), 1
    if data.get("quota"):
        yield ("limited",), 1
        if data.get("user", 0) >= data["quota"] - 1:
            yield ("exhausted",), 1


def chat_usage(data: Mapping[str, Any]) -> Counted:
    """Count messages by author, images, and answers by model."""
    yield ("sessions",), 1
    yield from _messages(data)
    if data.get("images"):
        yield ("images",), data["images"]
        yield ("with images",), 1
    if data.get("assistant"):
        yield ("answers", data.get("model", UNKNOWN), ""), data["assistant"]


def _messages(data: Mapping[str, Any]) -> Counted:
    for role in ROLES:
        if data.get(role):
            yield ("messages", role), data[role]


# --- The middleware -------------------------------------------------------------------------------------------------


def middleware_actions(data: Mapping[str, Any]) -> Counted:
    """Count actions by outcome, and failures by cause."""
    if "done" in data:
        yield ("conversations",), 1
    for name, count in data.get("done", {}).items():
        yield ("done", *name.split("|")), count
    for name, count in data.get("failed", {}).items():
        yield ("failed", *name.split("|")), count


def middleware_events(data: Mapping[str, Any]) -> Counted:
    """Count events by mode and intent, repeated events, and those that a kill switch held back."""
    if "events" in data:
        yield ("conversations",), 1
    for words in data.get("events", {}).values():
        mode, intent, *marks = words.split(" ")
        yield ("events", mode), 1
        yield ("intent", intent), 1
        for mark in marks:
            yield (mark,), 1


def middleware_flows(data: Mapping[str, Any]) -> Counted:
    """Count flows that stalled for more than a day, and those of them that went on later."""
    if "since" in data:
        yield ("stalled", data.get("flow", UNKNOWN)), 1
        if data.get("on"):
            yield ("went on", data.get("flow", UNKNOWN)), 1


# --- Tenants --------------------------------------------------------------------------------------------------------


def tenant_usage(data: Mapping[str, Any]) -> Counted:
    """Count the messages of a tenant's conversations, and its message limit."""
    if data.get("limit"):
        yield ("limit",), data["limit"]
        return
    yield ("conversations",), 1
    yield from _messages(data)
