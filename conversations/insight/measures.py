"""What is counted of a fact: the only place that defines the numbers of Insight.

A *measure* is a name and the parts that distinguish it, such as `("failed", cause, why, version, hour)`. Each fact adds
amounts to some measures. The sums of a day add these up, and the facts behind a number are those that contribute to it,
so the two can never differ. Measures that a page shows together form a *topic*, which is read as a whole.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from conversations.insight import measures_of_stores as of_stores
from conversations.insight.buckets import bucket_of
from conversations.insight.facts import FactKind
from conversations.insight.measures_of_stores import Counted
from conversations.insight.words import UNKNOWN

Measure = tuple[str, ...]
Counts = Counter[Measure]
# Matches any part in a pattern of a measure.
ANY = "*"


def matches(pattern: Sequence[str], measure: Measure) -> bool:
    """Return whether a measure matches a pattern."""
    return len(measure) == len(pattern) and all(
        wanted in (ANY, found) for wanted, found in zip(pattern, measure, strict=True)
    )


def amount_of(counts: Mapping[Measure, int], pattern: Sequence[str]) -> int:
    """Return the sum of the counts of all measures that match a pattern."""
    if ANY not in pattern:
        return counts.get(tuple(pattern), 0)
    return sum(count for measure, count in counts.items() if matches(pattern, measure))


class Topic(StrEnum):
    """Measures that are read together. The value is the topic's name in keys and addresses."""

    OUTCOMES = "outcomes"
    WAITS = "waits"
    HAND_OFFS = "hand-offs"
    FAILURES = "failures"
    USAGE = "usage"
    PEOPLE = "people"
    # Topics of the other stores.
    FEEDBACK = "feedback"
    ACTIONS = "actions"
    EVENTS = "events"
    FLOWS = "flows"


class Outcome(StrEnum):
    """How an episode of a conversation ended, if known."""

    AI = "ai"
    PERSON = "person"
    WITH_PEOPLE = "with-people"
    UNANSWERED = "unanswered"
    FAILED = "failed"
    NO_REPLY = "no-reply"

    @property
    def label(self) -> str:
        """The outcome in words."""
        return _LABELS[self]


_LABELS = {
    Outcome.AI: "Resolved by the AI",
    Outcome.PERSON: "Resolved by a person",
    Outcome.WITH_PEOPLE: "With a person, or waiting for one",
    Outcome.UNANSWERED: "Unanswered",
    Outcome.FAILED: "Failed",
    Outcome.NO_REPLY: "Customer never wrote",
}


def outcome_of(data: Mapping[str, Any]) -> Outcome:
    """Return the current outcome of an episode (`conversation_facts`): the customer may come back within a week."""
    if data.get("failed"):
        return Outcome.FAILED
    if data.get("open"):
        return Outcome.WITH_PEOPLE
    by_hand = data.get("human", 0) > 0
    called = bool(data.get("back")) and data["back"] >= data.get("active", "")
    if data.get("last") == "customer" and not called and not data.get("done"):
        return Outcome.UNANSWERED
    if by_hand or data.get("back"):
        return Outcome.PERSON
    if not data.get("customer"):
        return Outcome.NO_REPLY
    return Outcome.AI if data.get("ai") else Outcome.UNANSWERED


def _outcomes(data: Mapping[str, Any]) -> Counted:
    yield ("episodes",), 1
    yield ("outcome", outcome_of(data)), 1
    yield ("active", str(data.get("active") or "")[:10]), 1
    if data.get("customer") or _had_people(data):
        yield ("wrote",), 1
    if _had_people(data):
        yield ("people",), 1
        yield ("turns", str(bucket_of(data.get("turns", 1) - 1))), 1
    # Only what the overview needs of waits and costs, so that it takes a single Query.
    for seconds in data.get("answers", ()):
        yield ("answered", str(bucket_of(seconds))), 1
    for kind, count in _tokens(data):
        yield (kind, data.get("model", UNKNOWN), ""), count


def _waits(data: Mapping[str, Any]) -> Counted:
    if data.get("first"):
        yield ("first", str(bucket_of(data["first"] - 1))), 1
    for bucket, count in data.get("ms", {}).items():
        yield ("processing", bucket), count
    if data.get("asked"):
        yield ("asked",), data["asked"]
    for seconds in data.get("waits", ()):
        yield ("taken", str(bucket_of(seconds))), 1
    for seconds in data.get("answers", ()):
        yield ("answered", str(bucket_of(seconds))), 1
    if data.get("missed"):
        yield ("missed",), data["missed"]


def _hand_offs(data: Mapping[str, Any]) -> Counted:
    if data.get("customer") or _had_people(data):
        yield ("wrote",), 1
    if _had_people(data):
        yield ("people",), 1
    if data.get("asked"):
        sure = data.get("sure", UNKNOWN)
        yield ("asked",), 1
        yield ("reason", data.get("reason", UNKNOWN), sure), 1
        yield ("intent", data.get("intent", UNKNOWN), sure), 1
    if data.get("over"):
        yield ("over",), 1


def _failures(data: Mapping[str, Any]) -> Counted:
    version = data.get("processor", UNKNOWN)
    yield ("episodes", version), 1
    if data.get("failed"):
        yield ("failed", version), 1
        yield ("cause", data["failed"]), 1
        yield ("code", data.get("why", UNKNOWN)), 1
        yield ("hour", f"{data.get('hour', 1) - 1:02}"), 1


def _usage(data: Mapping[str, Any]) -> Counted:
    model, project = data.get("model", UNKNOWN), data.get("project", "")
    yield ("episodes",), 1
    if data.get("ai"):
        yield ("answers", model, ""), data["ai"]
        yield ("of project", project), data["ai"]
    for kind, count in _tokens(data):
        yield (kind, model, project), count


def _tokens(data: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    tokens = data.get("tokens", {})
    for kind in ("prompt", "completion", "cached"):
        if tokens.get(kind):
            yield kind, tokens[kind]
    rest = tokens.get("total", 0) - tokens.get("prompt", 0) - tokens.get("completion", 0)
    if rest > 0:
        # Some answers only have a total, which has no price.
        yield "unpriced", rest


def _people(data: Mapping[str, Any]) -> Counted:
    for agent, counts in data.get("agents", {}).items():
        for what, count in zip(("taken", "answered", "handed back"), counts, strict=True):
            if count:
                yield (what, agent), count


def _had_people(data: Mapping[str, Any]) -> bool:
    return bool(data.get("asked") or data.get("over"))


# By kind of facts and topic: what a fact adds to the measures of the topic.
TOPICS: dict[FactKind, dict[Topic, Callable[[Mapping[str, Any]], Counted]]] = {
    FactKind.CONVERSATIONS: {
        Topic.OUTCOMES: _outcomes,
        Topic.WAITS: _waits,
        Topic.HAND_OFFS: _hand_offs,
        Topic.FAILURES: _failures,
        Topic.USAGE: _usage,
        Topic.PEOPLE: _people,
    },
    FactKind.THREADS: {Topic.FEEDBACK: of_stores.thread_feedback, Topic.USAGE: of_stores.thread_usage},
    FactKind.CHATS: {Topic.OUTCOMES: of_stores.chat_outcomes, Topic.USAGE: of_stores.chat_usage},
    FactKind.MIDDLEWARE: {
        Topic.ACTIONS: of_stores.middleware_actions,
        Topic.EVENTS: of_stores.middleware_events,
        Topic.FLOWS: of_stores.middleware_flows,
    },
    FactKind.TENANTS: {Topic.USAGE: of_stores.tenant_usage},
}


def counts_of(kind: FactKind, topic: Topic, data: Mapping[str, Any]) -> Counts:
    """Return what a fact adds to a topic. Never raises: of a fact of another version, count what can be read."""
    counts: Counts = Counter()
    try:
        for measure, amount in TOPICS[kind][topic](data):
            counts[measure] += amount
    except (AttributeError, KeyError, TypeError, ValueError):
        counts[("unreadable",)] += 1
    return +counts
