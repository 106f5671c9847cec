"""Facts of sessions with the chatbot: how they ended, who wrote, and what is kept once their items are gone."""

from datetime import timedelta

import pytest

from console import clock
from conversations.insight.facts import FactDay, FactKind
from conversations.insight.identity import links_of
from conversations.insight.measures import Topic, bucket_of
from tests.support.conversations.insight.kit import list_owners, stored_facts, sums, walk
from tests.support.conversations.stores.chats.kit import IMAGE, USER, ago, event, session, session_id

KIND = FactKind.CHATS
GONE = {"SessionTTL": ago(minutes=5)}


def test_a_session_is_one_fact_of_nobody_on_the_day_of_its_id(store):
    begun = ago(days=2)
    store.put_all("CHATS", [event(begun, begun + 5), event(begun, begun + 65, "assistant", ImageId=IMAGE)])
    assert walk(KIND) == {"read": 2, "counted": 1}
    (((day, fact_id), _),) = stored_facts(store, KIND).items()
    assert day == FactDay(KIND, "", clock.parse_instant(begun).date().isoformat())
    assert links_of([fact_id]) == {fact_id: ("session", USER, session_id(begun))}
    assert list_owners(KIND) == [""]
    assert sums(KIND, Topic.OUTCOMES) == {
        ("sessions",): 1,
        ("ended", "unknown"): 1,
        ("wrote",): 1,
        ("length", str(bucket_of(65))): 1,
    }
    assert sums(KIND, Topic.USAGE) == {
        ("sessions",): 1,
        ("messages", "user"): 1,
        ("messages", "assistant"): 1,
        ("images",): 1,
        ("with images",): 1,
        ("answers", "unknown", ""): 1,
    }


@pytest.mark.parametrize(
    ("item", "how"),
    [
        ({}, "running"),
        ({"TimestampFinished": None}, "running"),
        ({"TimestampFinished": ago(minutes=1)}, "forced"),
        (GONE, "expired"),
        (GONE | {"TimestampFinished": ago(minutes=9)}, "forced"),
    ],
)
def test_how_a_session_ended_is_told_by_its_item(store, item, how):
    store.put("SESSIONS", session(**item))
    walk(KIND)
    assert sums(KIND, Topic.OUTCOMES)[("ended", how)] == 1


def test_what_the_item_told_is_kept_when_it_is_gone(store):
    begun = ago(hours=1)
    store.put("SESSIONS", session(begun, MessagesQuota=2, TimestampFinished=ago(minutes=1)))
    store.put_all("CHATS", [event(begun, begun + at) for at in (1, 2)] + [event(begun, begun + 3, "assistant")])
    walk(KIND)
    before = stored_facts(store, KIND)
    store.delete("SESSIONS", UserId=USER, SessionId=session_id(begun))
    walk(KIND)
    assert stored_facts(store, KIND) == before
    found = sums(KIND, Topic.OUTCOMES)
    assert (found[("ended", "forced")], found[("limited",)], found[("exhausted",)]) == (1, 1, 1)
    assert sums(KIND, Topic.USAGE)[("answers", "gpt-4", "")] == 1


@pytest.mark.parametrize(("quota", "exhausted"), [(0, 1), (1, 1), (2, 0), ("many", 0)])
def test_a_session_is_exhausted_once_all_was_sent_that_could_be(store, quota, exhausted):
    begun = ago(hours=1)
    store.put("SESSIONS", session(begun, MessagesQuota=quota))
    store.put_all("CHATS", [event(begun, begun + 1), event(begun, begun + 2, "assistant")])
    walk(KIND)
    found = sums(KIND, Topic.OUTCOMES)
    assert (found[("exhausted",)], found[("limited",)]) == (exhausted, int(quota != "many"))


def test_a_session_that_ran_has_expired_a_day_later(store, monkeypatch):
    begun = ago(hours=1)
    store.put("SESSIONS", session(begun))
    store.put("CHATS", event(begun, begun + 1))
    walk(KIND)
    store.delete("SESSIONS", UserId=USER, SessionId=session_id(begun))
    walk(KIND)
    assert sums(KIND, Topic.OUTCOMES)[("ended", "running")] == 1
    later = clock.now() + timedelta(days=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    walk(KIND)
    assert sums(KIND, Topic.OUTCOMES)[("ended", "expired")] == 1


def test_a_session_whose_id_tells_no_time_stays_where_it_was_counted_first(store):
    at = ago(days=3)
    store.put("CHATS", event("x", at, SessionId="odd", UserId="somebody"))
    walk(KIND)
    places = list(stored_facts(store, KIND))
    store.put("CHATS", event("x", at - 200_000, SessionId="odd", UserId="somebody"))
    walk(KIND)
    assert list(stored_facts(store, KIND)) == places
    assert sums(KIND, Topic.USAGE)[("messages", "user")] == 2
