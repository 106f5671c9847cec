"""Windows of messages: together they are the whole in the order of keys, whichever kinds and however large."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.stores.adapter import ListParameters
from conversations.stores.threads.adapter import Threads
from conversations.stores.threads.keys import key_of
from conversations.stores.threads.loading import order_of, read_window
from tests.support.conversations.stores.threads.kit import ADMIN, PARTS, llm, message, msg

START = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)
GONE = {"ExpiryTime": 1_600_000_000}
KEY = key_of(PARTS, ADMIN)
SPELLINGS = {
    "seconds": lambda at: f"{int(at.timestamp()):019d}",
    "milliseconds": lambda at: f"{int(at.timestamp() * 1000):019d}",
    "microseconds": lambda at: f"{int(at.timestamp() * 10**6):019d}",
    "nanoseconds": lambda at: f"{int(at.timestamp() * 1000) * 10**6:019d}",
}


def windows(size):
    """All windows from the latest to the first."""
    found = [read_window(KEY, ADMIN, size=size)]
    while not found[-1].is_from_start:
        assert len(found) < 100, "it does not end"
        found.append(read_window(KEY, ADMIN, found[-1].reached, size))
    return found


def all_ids(size) -> list[str]:
    return [item.message_id for window in windows(size) for item in window.items]


def long_talk(store, count) -> None:
    kinds = ("LLM", "MSG")
    store.put_all("THREADS", [message(kinds[n % 2], f"{n:03}", START + timedelta(seconds=7 * n)) for n in range(count)])


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_messages_of_both_kinds_are_in_order_of_time_whatever_its_unit(store, spelling):
    for number in range(60):
        at = START + timedelta(seconds=7 * number)
        store.put("THREADS", message("MSG" if number % 2 else "LLM", f"{number:03}", at, SPELLINGS[spelling](at)))
    assert all_ids(25) == [f"{number:03}" for number in reversed(range(60))]
    talk = Threads().page(Threads().load(PARTS, ADMIN, ListParameters()), ADMIN, ListParameters(), raw=True).talk
    assert not any(each.drift for each in talk.items if each.is_message)


stamps = st.one_of(st.integers(10**17, 10**17 + 20).map(lambda n: f"{n:019d}"), st.sampled_from(["", "once", "2026"]))
plans = st.lists(st.tuples(st.sampled_from(["MSG", "LLM"]), stamps, st.booleans()), max_size=45)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans, st.integers(1, 12))
def test_windows_are_together_the_whole_in_the_order_of_keys_and_nothing_twice(store, plans, size):
    store.empty()
    items = [
        message(kind, f"m{n}", START, stamp or "-", **(GONE if gone else {}))
        for n, (kind, stamp, gone) in enumerate(plans)
    ]
    store.put_all("THREADS", items)
    living = sorted((item["SK"] for item in items if item["ExpiryTime"] != 1_600_000_000), key=order_of, reverse=True)
    assert [item.SK for window in windows(size) for item in window.items] == living


@pytest.mark.parametrize("stamp", ["once", "", "1767000000", "2026-01-15T09:00:00Z", "0000001767000000x"])
def test_a_key_that_is_not_the_schemas_is_shown_and_flagged(store, stamp):
    odd = message("LLM", "odd", START, stamp or "-")
    odd["SK"] = f"LLM#{stamp}#odd"
    store.put_all("THREADS", [msg("before", START), odd, msg("after", START + timedelta(days=1))])
    talk = Threads().page(Threads().load(PARTS, ADMIN, ListParameters()), ADMIN, ListParameters(), raw=True).talk
    flaws = {each.blocks[0].text: each.drift for each in talk.items if each.is_message}
    assert {text: bool(drift) for text, drift in flaws.items()} == {
        "What before says": False,
        "What odd says": True,
        "What after says": False,
    }
    assert "key" in flaws["What odd says"][0]


@pytest.mark.parametrize("count", [2, 400])
def test_a_window_takes_two_strongly_consistent_queries(store, count):
    long_talk(store, count)
    with store.calls() as calls:
        window = read_window(KEY, ADMIN)
    assert [(call.operation, call.request["ConsistentRead"]) for call in calls] == [("Query", True)] * 2
    assert len(window.items) == min(count, 100)
    with store.calls() as calls:
        read_window(KEY, ADMIN, window.reached)
    assert len(calls) == 2


def test_many_that_are_gone_do_not_end_a_thread(store):
    store.put_all("THREADS", [msg(f"gone{n}", START + timedelta(minutes=1, seconds=n), **GONE) for n in range(300)])
    store.put_all("THREADS", [msg("kept", START)])
    assert all_ids(10) == ["kept"]


def test_a_link_never_leads_to_nothing_but_what_is_gone(store):
    store.put_all("THREADS", [msg(f"gone{n}", START - timedelta(seconds=n + 1), **GONE) for n in range(20)])
    store.put_all("THREADS", [msg(f"{n}", START + timedelta(seconds=n)) for n in range(10)])
    assert read_window(KEY, ADMIN, size=10).is_from_start


@pytest.mark.slow
def test_messages_of_hundreds_of_kilobytes_are_read_within_bounds_and_none_is_lost(store):
    large = "x" * 350_000
    store.put_all("THREADS", [msg(f"{n:02}", START + timedelta(seconds=n), content=large) for n in range(30)])
    # Small ones between them must not run ahead of what was not read yet.
    store.put_all("THREADS", [llm(f"{n:02} small", START + timedelta(seconds=n, milliseconds=500)) for n in range(30)])
    with store.calls() as calls:
        first = read_window(KEY, ADMIN)
    assert len(calls) <= 5
    assert 0 < len(first.items) < 60
    assert all_ids(100) == [f"{n:02}{kind}" for n in reversed(range(30)) for kind in (" small", "")]


@pytest.mark.parametrize("size", [1, 10])
def test_of_many_with_the_same_time_and_id_none_is_lost(store, size):
    items = [message(kind, f"{n:02}", START, message_id=f"{kind} {n:02}") for n in range(40) for kind in ("MSG", "LLM")]
    store.put_all("THREADS", items)
    assert sorted(all_ids(size)) == sorted(item["message_id"] for item in items)
