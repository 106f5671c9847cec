"""What is counted of a fact: the only place that defines the numbers of Insight.

A *measure* is a name and the parts that distinguish it, such as `("failed", cause, why, version, hour)`. Each fact adds
amounts to some measures. The sums of a day add these up, and the facts behind a number are those that contribute to it,
so the two can never differ. Measures that a page shows together form a *topic*, which is read as a whole.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import floor, log
from typing import Any

from conversations.insight.facts import FactKind
from conversations.insight.words import UNKNOWN

Measure = tuple[str, ...]
Counts = Counter[Measure]
# What a fact adds: measures, and how much to each.
Counted = Iterator[tuple[Measure, int]]
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


ROLES = ("user", "assistant", "other")
MODEL_MEASURES = ("answers", "prompt", "completion", "cached", "unpriced")


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


# --- Threads --------------------------------------------------------------------------------------------------------


def _thread_feedback(data: Mapping[str, Any]) -> Counted:
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


def _thread_usage(data: Mapping[str, Any]) -> Counted:
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


def _chat_outcomes(data: Mapping[str, Any]) -> Counted:
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


def _chat_usage(data: Mapping[str, Any]) -> Counted:
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


def _middleware_actions(data: Mapping[str, Any]) -> Counted:
    """Count actions by outcome, and failures by cause."""
    if "done" in data:
        yield ("conversations",), 1
    for name, count in data.get("done", {}).items():
        yield ("done", *name.split("|")), count
    for name, count in data.get("failed", {}).items():
        yield ("failed", *name.split("|")), count


def _middleware_events(data: Mapping[str, Any]) -> Counted:
    """Count events by mode and intent, repeated events, and those that a kill switch held back."""
    if "events" in data:
        yield ("conversations",), 1
    for words in data.get("events", {}).values():
        mode, intent, *marks = words.split(" ")
        yield ("events", mode), 1
        yield ("intent", intent), 1
        for mark in marks:
            yield (mark,), 1


def _middleware_flows(data: Mapping[str, Any]) -> Counted:
    """Count flows that stalled for more than a day, and those of them that went on later."""
    if "since" in data:
        yield ("stalled", data.get("flow", UNKNOWN)), 1
        if data.get("on"):
            yield ("went on", data.get("flow", UNKNOWN)), 1


# --- Tenants --------------------------------------------------------------------------------------------------------


def _tenant_usage(data: Mapping[str, Any]) -> Counted:
    """Count the messages of a tenant's conversations, and its message limit."""
    if data.get("limit"):
        yield ("limit",), data["limit"]
        return
    yield ("conversations",), 1
    yield from _messages(data)


# --- All of them ------------------------------------------------------------------------------------------------------

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
    FactKind.THREADS: {Topic.FEEDBACK: _thread_feedback, Topic.USAGE: _thread_usage},
    FactKind.CHATS: {Topic.OUTCOMES: _chat_outcomes, Topic.USAGE: _chat_usage},
    FactKind.MIDDLEWARE: {
        Topic.ACTIONS: _middleware_actions,
        Topic.EVENTS: _middleware_events,
        Topic.FLOWS: _middleware_flows,
    },
    FactKind.TENANTS: {Topic.USAGE: _tenant_usage},
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


# --- Durations in buckets ---------------------------------------------------------------------------------------------

# Each bucket is 15% wider than the one before, so that quantiles are accurate to 7%. Unlike medians, buckets of
# different days can be added up. Values are whole seconds or milliseconds.
_BASE = 1.15
_LOG = log(_BASE)
# Larger than any wait, in either unit.
MOST = 10**12


def bucket_of(value: float) -> int:
    """Return the bucket of a value: 0 for less than 1."""
    if value < 1:
        return 0
    return 1 + floor(log(min(value, MOST)) / _LOG)


def value_of(bucket: int) -> float:
    """Return the value that represents a bucket: within 7% of both of its ends."""
    return 0.0 if bucket <= 0 else _BASE ** (bucket - 1) * (2 * _BASE / (1 + _BASE))


def quantile(counts: Mapping[int, int], share: float) -> float | None:
    """Return the value that this share of all values do not exceed; None if there are none."""
    total = sum(counts.values())
    if total <= 0:
        return None
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        # A share such as 0.9 has no exact binary representation.
        if passed >= share * total - 1e-9:
            return value_of(bucket)
    return value_of(max(counts))
