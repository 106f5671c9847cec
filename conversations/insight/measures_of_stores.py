"""What is counted of a fact of the other stores: threads, chats, the middleware, tenants. See `measures`.

Each yields measures with how much a fact adds to them; docs/insight.md says what they mean.
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
    """What readers thought of answers, with and without sources, and by the hosts of these."""
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
    """Messages, why answers ended, and what they took, by model."""
    yield ("threads",), 1
    for name, count in _of_days(data).items():
        what, *rest = name.split("|")
        if what in ROLES:
            yield ("messages", what), count
        elif what == "stop":
            yield ("stop", *rest), count
        elif what in MODEL_MEASURES:
            # As of conversations: model, then project, which threads have none of.
            yield (what, *rest, ""), count


def _of_days(data: Mapping[str, Any]) -> Counter[str]:
    totals: Counter[str] = Counter()
    for counts in data.get("days", {}).values():
        totals.update(counts)
    return totals


# --- Chats ----------------------------------------------------------------------------------------------------------


def chat_outcomes(data: Mapping[str, Any]) -> Counted:
    """How sessions ended, how long they were, and whether all that could be sent was."""
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
    """Messages by who wrote them, images, and answers by model."""
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
    """What was done, with what outcome, and why it failed."""
    if "done" in data:
        yield ("conversations",), 1
    for name, count in data.get("done", {}).items():
        yield ("done", *name.split("|")), count
    for name, count in data.get("failed", {}).items():
        yield ("failed", *name.split("|")), count


def middleware_events(data: Mapping[str, Any]) -> Counted:
    """Events by mode and intent, those that came again, and those that a kill switch held back."""
    if "events" in data:
        yield ("conversations",), 1
    for words in data.get("events", {}).values():
        mode, intent, *marks = words.split(" ")
        yield ("events", mode), 1
        yield ("intent", intent), 1
        for mark in marks:
            yield (mark,), 1


def middleware_flows(data: Mapping[str, Any]) -> Counted:
    """Flows that stalled for more than a day, and which of these went on later."""
    if "since" in data:
        yield ("stalled", data.get("flow", UNKNOWN)), 1
        if data.get("on"):
            yield ("went on", data.get("flow", UNKNOWN)), 1


# --- Tenants --------------------------------------------------------------------------------------------------------


def tenant_usage(data: Mapping[str, Any]) -> Counted:
    """Messages of a tenant's conversations, and what it may send."""
    if data.get("limit"):
        yield ("limit",), data["limit"]
        return
    yield ("conversations",), 1
    yield from _messages(data)
