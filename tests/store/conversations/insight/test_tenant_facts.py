"""Facts of tenants' conversations: messages a day against what may be sent, though the platform forgets them."""

import json
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from console import clock
from conversations.insight.facts import FactDay, FactKind
from conversations.insight.identity import links_of
from conversations.insight.measures import Topic
from conversations.insight.sums import Slice
from tests.support.conversations.insight.kit import counted, list_owners, stored_facts, sums, walk
from tests.support.conversations.stores.tenant_conversations.kit import CONVERSATION, TENANT, item
from tests.support.tenants.items import SETTINGS, tenant

KIND, USAGE = FactKind.TENANTS, Topic.USAGE
NOW = clock.now().replace(hour=12, minute=0, second=0, microsecond=0)


def said(role: Any = "user", at: datetime | None = None, **more: Any) -> dict[str, Any]:
    timed = {} if at is None else {"metadata": {"timestamp": clock.to_iso(at), "phone": "+447700900123"}}
    return {"role": role, "content": "Call +447700900123"} | timed | more


def by_day(store) -> dict[str, dict[str, int]]:
    """Messages and limits as facts have them."""
    found: dict[str, dict[str, int]] = {}
    for (day, _), data in stored_facts(store, KIND).items():
        numbers = {name: data[name] for name in ("user", "assistant", "other", "limit") if name in data}
        found[day.day] = found.get(day.day, {}) | numbers
    return found


def day(**span: float) -> str:
    return (NOW - timedelta(**span)).date().isoformat()


def test_messages_are_counted_on_their_days_beside_what_the_tenant_may_send(store):
    store.put("TENANTS", tenant(TENANT))
    store.put(
        "TENANT_CONVERSATIONS",
        item(
            messages=[
                said(at=NOW - timedelta(days=2)),
                said("assistant", NOW - timedelta(days=2)),
                said(at=NOW - timedelta(days=1)),
                said("assistant"),
                said("tool", NOW - timedelta(days=1)),
            ]
        ),
    )
    assert walk(KIND) == {"read": 1, "counted": 2}
    assert by_day(store) == {
        day(days=2): {"user": 1, "assistant": 1, "limit": 1000},
        day(days=1): {"user": 1, "assistant": 1, "other": 1, "limit": 1000},
    }
    assert sums(KIND, USAGE, TENANT) == {
        ("conversations",): 2,
        ("messages", "user"): 2,
        ("messages", "assistant"): 2,
        ("messages", "other"): 1,
        ("limit",): 2000,
    }
    assert list_owners(KIND) == [TENANT]
    ways = links_of([fact_id.partition("#")[0] for _, fact_id in stored_facts(store, KIND)])
    assert set(ways.values()) == {(TENANT, CONVERSATION), (TENANT,)}


def test_messages_that_the_platform_remembers_no_more_stay_counted(store):
    talk = [said(("user", "assistant")[number % 2], NOW - timedelta(minutes=60 - number)) for number in range(30)]
    for end in (8, 20, 30):
        store.put("TENANT_CONVERSATIONS", item(messages=talk[max(0, end - 10) : end]))
        walk(KIND)
        walk(KIND)
    assert by_day(store)[NOW.date().isoformat()] == {"user": 14, "assistant": 14}
    # 8, then the 10 of the 12 since that it still remembers, then 10: two were gone before a walk came by.


def test_messages_without_any_time_are_in_no_period(store):
    store.put("TENANT_CONVERSATIONS", item(messages=[said(), said("assistant"), said(at=NOW)]))
    walk(KIND)
    assert by_day(store) == {"undated": {"user": 1, "assistant": 1}, NOW.date().isoformat(): {"user": 1}}


def test_a_partition_may_name_channel_and_user_and_the_tenant_is_its_first_part(store):
    store.put("TENANT_CONVERSATIONS", item(pk=f"{TENANT}#teams#sam@example.com", messages=[said(at=NOW)]))
    store.put("TENANT_CONVERSATIONS", item(pk=f"{TENANT}#sam#x", messages=[said(at=NOW)]))
    walk(KIND)
    assert list_owners(KIND) == [TENANT]
    assert sums(KIND, USAGE, TENANT, Slice(channel="teams"))[("messages", "user")] == 1
    assert sums(KIND, USAGE, TENANT, Slice(channel=""))[("messages", "user")] == 1


@pytest.mark.parametrize("stored", [None, "no JSON", json.dumps(SETTINGS | {"messages_per_day": "1000"}), "{}"])
def test_without_a_limit_that_can_be_read_there_is_none(store, stored):
    store.put("TENANTS", tenant(TENANT, settings=stored))
    store.put("TENANT_CONVERSATIONS", item(messages=[said(at=NOW)]))
    walk(KIND)
    assert by_day(store) == {NOW.date().isoformat(): {"user": 1}}


def test_a_day_that_is_over_keeps_its_limit(store, monkeypatch):
    store.put("TENANTS", tenant(TENANT))
    today, before = clock.now(), clock.now() - timedelta(days=1)
    store.put("TENANT_CONVERSATIONS", item(messages=[said(at=before), said(at=today)]))
    walk(KIND)
    store.put("TENANTS", tenant(TENANT, settings=json.dumps(SETTINGS | {"messages_per_day": 5})))
    walk(KIND)
    limits = {name: each["limit"] for name, each in by_day(store).items()}
    assert limits == {before.date().isoformat(): 1000, today.date().isoformat(): 5}


def test_a_conversation_past_its_time_to_live_is_not_counted(store):
    store.put("TENANT_CONVERSATIONS", item(messages=[said(at=NOW)], ttl=clock.to_epoch(clock.now()) - 60))
    walk(KIND)
    assert not stored_facts(store, KIND)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_those_of_the_messages(store, seed):
    rng = Random(seed)
    tenants = ["outlocks", "other"]
    expected: dict[tuple[str, str], int] = {}
    talks: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(4):
        for _ in range(8):
            key = (rng.choice(tenants), f"c{rng.randint(1, 3)}")
            role = rng.choice(["user", "assistant"])
            talk = talks.setdefault(key, [])
            talk.append(said(role, NOW - timedelta(days=4) + timedelta(hours=len(talk) * 5)))
            expected[key[0], role] = expected.get((key[0], role), 0) + 1
            store.put("TENANT_CONVERSATIONS", item(key[1], talk[-12:], pk=key[0]))
        walk(KIND)
    for tenant_id in tenants:
        found = sums(KIND, USAGE, tenant_id)
        for role in ("user", "assistant"):
            assert found[("messages", role)] == expected.get((tenant_id, role), 0)
    assert {USAGE: sums(KIND, USAGE)} == counted(store, KIND)
    assert all(each == FactDay(KIND, each.owner, each.day) for each, _ in stored_facts(store, KIND))
    assert walk(KIND)["counted"] == 0
