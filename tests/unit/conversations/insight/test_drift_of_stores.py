"""Whatever items of the other stores hold: no error, facts that can be stored, and counts that are counts."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.trail.models import AuditEntry, ConversationState, IdempotencyRecord
from conversations.insight import middleware_facts, sources, tenant_facts, thread_facts
from conversations.insight.chat_facts import SessionSource, chats_in, sessions_in
from conversations.insight.facts import UNDATED, FactDay, FactKind, expiry, serialize_fact
from conversations.insight.measures import TOPICS, Topic, counts_of
from conversations.insight.middleware_facts import (
    EventsSource,
    FlowSource,
    TrailSource,
    events_in,
    flows_in,
    trails_in,
)
from conversations.insight.tenant_facts import conversations_in
from conversations.insight.thread_facts import ThreadSource, threads_in
from conversations.stores.chats.models import ChatEvent, Session
from conversations.stores.threads.keys import ThreadKey
from conversations.stores.threads.models import Thread, ThreadMessage
from tests.dynamodb import to_dynamodb

TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        "up",
        "DOWN",
        "user",
        "assistant",
        "1",
        "-3",
        "1e400",
        "nan",
        "2026-03-02T10:00:00Z",
        "9998-12-31",
        "https://a.b/c",
    ]
)
NUMBERS = st.integers(-(10**20), 10**20) | st.decimals(-(10**9), 10**9, places=3)
NAMES = st.sampled_from(
    [
        *("model", "usage", "input_tokens", "total_tokens", "stop_reason", "url", "title", "type", "requested_at"),
        *("role", "content", "metadata", "timestamp", "status", "reason", "message"),
    ]
)
KEYS = NAMES | st.text(min_size=1, max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def drawn(*names: str, **keys: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Items that have some of these attributes, of whatever type."""
    return st.fixed_dictionaries(
        {name: st.sampled_from(values) for name, values in keys.items()}, optional=dict.fromkeys(names, VALUES)
    ).map(to_dynamodb)


@pytest.fixture(autouse=True, scope="module")
def _without_a_key():
    """Pseudonyms without a store: names are names here."""
    patch = pytest.MonkeyPatch()
    for module in (thread_facts, middleware_facts, tenant_facts):
        patch.setattr(module, "pseudonym_of", lambda kind, *parts: kind + str(abs(hash(parts))))
    yield
    patch.undo()


def check(kind: FactKind, facts: list[Any]) -> None:
    """Facts can be stored and kept, and what they add is whole and of texts."""
    for fact in facts:
        assert json.loads(serialize_fact(fact.data)) == fact.data
        assert expiry(fact.day)
        for topic in TOPICS[kind]:
            counts = counts_of(kind, topic, fact.data)
            assert ("unreadable",) not in counts
            for measure, count in counts.items():
                assert all(isinstance(part, str) and "\x1f" not in part for part in measure)
                assert type(count) is int
                assert count > 0


def key_on(kind: FactKind, day: str = "2026-03-02", owner: str = "") -> tuple[FactDay, str]:
    return FactDay(kind, owner, day), "id"


@pytest.mark.parametrize("year", [1, 1800, 9998])
def test_a_time_that_no_clock_told_is_of_no_day(year):
    assert sources.counted_day(datetime(year, 12, 31, tzinfo=UTC)) == UNDATED


MESSAGES = drawn(
    *(name for name in thread_facts.READ if name not in ("PK", "SK")),
    PK=["o#u#t", "o", "#", "t"],
    SK=["LLM#0000001772409600000#a", "MSG#12#b", "LLM#", "MSG#x#c", "THREAD#t", "OTHER"],
)


@pytest.mark.slow
@given(st.lists(MESSAGES, max_size=6))
def test_threads(items):
    list(threads_in(items))
    messages = tuple(ThreadMessage.from_raw_data(each) for each in items)
    source = ThreadSource(ThreadKey("o#u", "t"), tuple(map(Thread.from_raw_data, items[:2])), messages, is_read=True)
    assert source.owner in ("o", "")
    assert expiry(FactDay(FactKind.THREADS, "", sources.counted_day(source.begun)))
    (fact,) = source.facts({key_on(FactKind.THREADS): None})
    check(FactKind.THREADS, [fact])
    (again,) = source.facts({key_on(FactKind.THREADS): fact.data})
    assert again == fact
    counts = counts_of(FactKind.THREADS, Topic.USAGE, fact.data)
    assert sum(counts[("messages", role)] for role in ("user", "assistant", "other")) == len(items)


SESSIONS = drawn(
    "TimestampFinished", "MessagesQuota", "SessionConfig", "SessionTTL", UserId=["u"], SessionId=["u:1", "x"]
)
EVENTS = drawn(
    "UserId", "ChatAgent", "ImageId", SessionId=["u:1", "x", "u:1772409600"], TimestampCreated=[1, 1772409999]
)


@pytest.mark.slow
@given(st.lists(SESSIONS, max_size=2), st.lists(EVENTS, max_size=6))
def test_chats(sessions, events):
    list(sessions_in(sessions))
    list(chats_in(events))
    item = next(map(Session.from_raw_data, sessions), None)
    source = SessionSource("u", "u:1", item, tuple(map(ChatEvent.from_raw_data, events)))
    (fact,) = source.facts({key_on(FactKind.CHATS): None})
    check(FactKind.CHATS, [fact])
    assert source.facts({key_on(FactKind.CHATS): fact.data}) == [fact]


ENTRIES = drawn(
    *("action_type", "result", "actor", "company_id", "expires_at"),
    conversation_id=["c", "STAFF#x", "TENANT#t"],
    ts_action_id=["2026-03-02T10:00:00Z#1", "1772409600#2", "never#3", "9998-12-31#4"],
)


@pytest.mark.slow
@given(st.lists(ENTRIES, max_size=6))
def test_trails(items):
    found = list(trails_in(items))
    assert all(each.conversation_id == "c" for each in found)
    source = TrailSource("c", items=tuple(map(AuditEntry.from_raw_data, items)))
    keys = [key_on(FactKind.MIDDLEWARE, day) for day in ("2026-03-02", "undated")]
    facts = source.facts(dict.fromkeys(keys))
    check(FactKind.MIDDLEWARE, facts)
    known = dict.fromkeys(keys) | {(each.day, each.id): each.data for each in facts}
    assert source.facts(known) == facts


RECORDS = drawn(
    *(name for name in middleware_facts.EVENTS_READ if name not in ("event_id", "created_at")),
    event_id=["evt:rp:c:m1", "evt:rp:c:m2", "act:rp_tag:c:vip:m", "odd", ":"],
    created_at=["2026-03-02T10:00:00Z", "no time"],
)


@pytest.mark.slow
@given(st.lists(RECORDS, max_size=6))
def test_events(items):
    for each in events_in(items):
        each.name  # noqa: B018
    source = EventsSource("c", items=tuple(map(IdempotencyRecord.from_raw_data, items)))
    keys = [key_on(FactKind.MIDDLEWARE, day) for day in ("2026-03-02", "undated")]
    facts = source.facts(dict.fromkeys(keys))
    check(FactKind.MIDDLEWARE, facts)
    known = dict.fromkeys(keys) | {(each.day, each.id): each.data for each in facts}
    assert {each.id: each.data["events"] for each in source.facts(known)} == {
        each.id: each.data["events"] for each in facts
    }


@pytest.mark.slow
@given(st.lists(drawn("updated_at", "expires_at", "pending_flow", conversation_id=["c"]), max_size=3))
def test_flows(items):
    for source in flows_in(items):
        if source.asked is not None:
            day = sources.counted_day(source.asked)
            check(FactKind.MIDDLEWARE, source.facts({key_on(FactKind.MIDDLEWARE, day): None}))
    assert isinstance(FlowSource("c").facts({}), list)
    assert [ConversationState.from_raw_data(each).raw for each in items] == items


ENTRIES_OF_TENANTS = VALUES | st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", None, 3])},
    optional={"metadata": VALUES | st.fixed_dictionaries({"timestamp": TEXTS | NUMBERS}), "content": VALUES},
)


@pytest.mark.slow
@given(
    st.lists(ENTRIES_OF_TENANTS, max_size=6).map(lambda each: json.dumps(each, default=str)) | VALUES,
    st.sampled_from(["outlocks", "outlocks#teams#sam", "#", "o#x"]),
    VALUES,
)
def test_tenants_conversations(messages, partition, ttl):
    raw = to_dynamodb({"pk": partition, "sk": "c", "messages": messages, "ttl": ttl})
    for source in conversations_in([raw]):
        keys = dict.fromkeys(source.keys())
        facts = source.facts(keys)
        check(FactKind.TENANTS, [each for each in facts if each.data.get("limit") != 0])
        known = {(each.day, each.id): each.data for each in facts}
        assert source.facts(known) == facts
