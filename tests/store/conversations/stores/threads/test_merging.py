"""Windows of messages: together they are the whole in order of time, whatever spelling their keys have."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from console import clock
from conversations.stores.threads import merging
from conversations.stores.threads.key_formats import FORMATS, bounds, format_of, instant_in, text_below, text_from
from conversations.stores.threads.key_ranges import KeySource
from conversations.stores.threads.models import ThreadMessage
from tests.support.conversations.stores.threads.kit import PK, llm, message, msg

START = datetime(2026, 1, 15, 9, 0, tzinfo=UTC)
SPELLINGS = {
    "seconds": lambda at: f"{int(at.timestamp()):019d}",
    "milliseconds": lambda at: f"{int(at.timestamp() * 1000):019d}",
    "microseconds": lambda at: f"{int(at.timestamp() * 1000) * 1000:019d}",
    "nanoseconds": lambda at: f"{int(at.timestamp() * 1000) * 10**6:019d}",
    "plain seconds": lambda at: f"{int(at.timestamp())}",
    "plain milliseconds": lambda at: f"{int(at.timestamp() * 1000)}",
    "decimal": lambda at: f"{at.timestamp():.3f}",
    "padded decimal": lambda at: f"{int(at.timestamp()):019d}.5",
    "iso": lambda at: clock.to_iso(at),
    "none": lambda at: "",
    "word": lambda at: "once",
}


def source(**more) -> KeySource[ThreadMessage]:
    return KeySource(ThreadMessage, PK, ("MSG#", "LLM#"), "SK", **more)


def ids(window) -> list[str]:
    return [each.item.message_id for each in window.items]


def windows(read, size):
    """All windows from the latest to the first."""
    found = [merging.latest(read, size)]
    while found[-1].rest:
        assert len(found) < 100, "it does not end"
        found.append(merging.window(read, found[-1].rest, size, found[-1].formats))
    return found


def all_ids(read, size) -> list[str]:
    return [each for window in windows(read, size) for each in ids(window)]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_messages_of_any_spelling_are_merged_in_order_of_time(store, spelling):
    items = [
        message("MSG" if number % 2 else "LLM", f"{number:03}", at, stamp=SPELLINGS[spelling](at) or "-")
        for number in range(60)
        for at in [START + timedelta(seconds=7 * number)]
    ]
    for item in items:
        item["SK"] = item["SK"].replace("#-#", "##")
    store.put_all("THREADS", Random(4).sample(items, 60))
    assert all_ids(source(), 25) == [f"{number:03}" for number in reversed(range(60))]


plans = st.lists(
    st.tuples(
        st.sampled_from(sorted(SPELLINGS)),
        st.sampled_from(["MSG", "LLM"]),
        st.integers(0, 400_000),
        st.sampled_from([0, 0, 0, 250, 500]),
        st.sampled_from(["", "", "", "expired", "timestamp as text", "no attributes"]),
    ),
    min_size=0,
    max_size=45,
    unique_by=lambda plan: plan[2],
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans, st.integers(1, 12))
@example([("seconds", "MSG", 5, 0, ""), ("iso", "LLM", 4, 0, ""), ("none", "LLM", 3, 0, "")], 1)
def test_windows_are_together_the_whole_in_order_of_time_and_nothing_twice(store, plans, size):
    store.empty()
    items, expected = [], []
    for number, (spelling, kind, second, millis, drift) in enumerate(plans):
        at = START + timedelta(seconds=second, milliseconds=millis)
        item = message(kind, f"m{number}", at, stamp=SPELLINGS[spelling](at) or "-")
        item["SK"] = item["SK"].replace("#-#", "##")
        if drift == "expired":
            item["ExpiryTime"] = "1600000000.5"
        if drift == "timestamp as text":
            item["timestamp"] = str(item["timestamp"])
        if drift == "no attributes" and spelling not in ("none", "word"):
            del item["timestamp"], item["created_at"], item["updated_at"]
        items.append(item)
        if drift != "expired":
            expected.append((second, f"m{number}"))
    store.put_all("THREADS", items)
    assert all_ids(source(), size) == [each for _, each in sorted(expected, reverse=True)]


def test_what_tells_no_time_at_all_is_there_once_and_comes_first(store):
    bare = {"timestamp": ..., "created_at": None, "updated_at": ...}
    store.put_all("THREADS", [msg("early", START), llm("late", START + timedelta(hours=1))])
    store.put_all("THREADS", [msg(f"odd{number}", stamp="x", **bare) for number in range(5)])
    store.put_all("THREADS", [msg("within", stamp="00x", **bare)])
    found = all_ids(source(), 2)
    assert sorted(found) == sorted(["late", "early", "within", *(f"odd{number}" for number in range(5))])
    assert found[0] == "late"


def test_a_short_thread_takes_two_queries_and_a_long_one_two_more_for_its_ends(store):
    store.put_all("THREADS", [msg("a", START), llm("b", START + timedelta(seconds=3))])
    with store.calls() as calls:
        assert ids(merging.latest(source(), 100)) == ["b", "a"]
    assert [(call.operation, call.request["ConsistentRead"]) for call in calls] == [("Query", True)] * 2
    long = [
        message("MSG" if number % 2 else "LLM", f"{number:03}", START + timedelta(seconds=number))
        for number in range(400)
    ]
    store.put_all("THREADS", long)
    with store.calls() as calls:
        first = merging.latest(source(), 100)
    assert len(first.items) == 100
    assert len(calls) == 4
    with store.calls() as calls:
        second = merging.window(source(), first.rest, 100, first.formats)
    assert ids(second)[0] == "299"
    assert len(calls) == 2


def test_a_window_goes_upwards_from_a_second(store):
    items = [
        message("MSG" if number % 2 else "LLM", f"{number:03}", START + timedelta(seconds=number))
        for number in range(300)
    ]
    store.put_all("THREADS", items)
    formats = merging.latest(source(), 10).formats
    second = int((START + timedelta(seconds=100)).timestamp())
    around, more = merging.upwards(source(), formats, second, 20, 40)
    assert more
    assert ids(around) == [f"{number:03}" for number in range(119, 79, -1)]
    ended, more = merging.upwards(source(), formats, second + 190, 20, 40)
    assert not more
    assert ids(ended)[0] == "299"


def test_many_that_are_gone_do_not_end_a_thread(store):
    gone = {"ExpiryTime": 1_600_000_000}
    store.put_all("THREADS", [msg(f"gone{n}", START + timedelta(minutes=1, seconds=n), **gone) for n in range(300)])
    store.put_all("THREADS", [msg("kept", START)])
    assert all_ids(source(), 10) == ["kept"]


def test_a_link_never_leads_to_nothing_but_what_is_gone(store):
    store.put_all("THREADS", [msg(f"gone{n}", START - timedelta(seconds=n + 1), ExpiryTime=1) for n in range(20)])
    store.put_all("THREADS", [msg(f"{n}", START + timedelta(seconds=n)) for n in range(10)])
    assert not merging.latest(source(), 10).rest


def test_bounds_of_time_are_right_in_every_spelling(store):
    items, expected = [], []
    for number, spelling in enumerate(SPELLINGS):
        for hours in (0, 1, 2, 30):
            at = START + timedelta(hours=hours, seconds=number)
            item = message("MSG", f"{spelling} {hours}", at, stamp=SPELLINGS[spelling](at) or "-")
            item["SK"] = item["SK"].replace("#-#", "##")
            items.append(item)
            if 1 <= hours < 3:
                expected.append((at, f"{spelling} {hours}"))
    store.put_all("THREADS", items)
    dated = source(since=START + timedelta(hours=1), until=START + timedelta(hours=3))
    wanted = [each for _, each in sorted(expected, reverse=True)]
    assert all_ids(dated, 100) == wanted
    assert all_ids(dated, 3) == wanted


# From 2001-09-09 on: before that, seconds have nine digits.
@given(st.integers(10**9, 1_999_999_999), st.integers(10**9, 1_999_999_999), st.sampled_from(sorted(SPELLINGS)))
@example(1_000_000_000, 1_000_000_001, "iso")
def test_texts_of_a_lane_bound_the_seconds_that_they_name(second, bound, spelling):
    at = datetime.fromtimestamp(second, UTC)
    text = SPELLINGS[spelling](at)
    key_format = format_of(text)
    low, high = bounds(key_format)
    assert low <= text < high
    if instant_in(f"MSG#{text}#x") is None:
        return
    if second >= bound:
        assert text + "#x" >= text_from(key_format, bound)
    else:
        assert text + "#x" < text_below(key_format, bound)


def test_lanes_follow_on_each_other():
    assert [bounds(key_format)[1] for key_format in FORMATS][:-1] == [bounds(key_format)[0] for key_format in FORMATS][
        1:
    ]


def test_messages_of_hundreds_of_kilobytes_are_read_within_bounds_and_none_is_lost(store):
    large = "x" * 350_000
    store.put_all("THREADS", [msg(f"{n:02}", START + timedelta(seconds=n), content=large) for n in range(30)])
    # Small ones between them must not run ahead of what was not read yet.
    store.put_all("THREADS", [llm(f"{n:02} small", START + timedelta(seconds=n, milliseconds=500)) for n in range(30)])
    with store.calls() as calls:
        first = merging.latest(source(), 100)
    assert len(calls) <= 7
    assert first.thin
    assert all_ids(source(), 100) == [f"{n:02}{kind}" for n in reversed(range(30)) for kind in (" small", "")]


def test_a_long_thread_that_several_writers_went_on_with_is_in_order_of_time(store):
    spellings = ("plain seconds", "seconds", "iso", "milliseconds", "decimal", "nanoseconds")
    items, at = [], START
    for spelling in spellings:
        for number in range(50):
            at += timedelta(seconds=11)
            kind = "MSG" if number % 3 else "LLM"
            items.append(message(kind, f"{len(items):03}", at, stamp=SPELLINGS[spelling](at)))
    store.put_all("THREADS", items)
    wanted = [f"{number:03}" for number in reversed(range(300))]
    assert all_ids(source(), 10) == wanted
    assert all_ids(source(), 100) == wanted


@pytest.mark.parametrize("size", [1, 2, 3])
def test_spellings_of_one_second_that_sort_in_another_order_are_in_order_of_time(store, size):
    for number, spelling in enumerate(["plain milliseconds", "decimal", "milliseconds", "iso", "decimal"]):
        at = START + timedelta(milliseconds=900 - 100 * number)
        store.put("THREADS", message("MSG", f"{number}", at, stamp=SPELLINGS[spelling](at)))
    store.put("THREADS", llm("before", START - timedelta(seconds=1)))
    assert all_ids(source(), size) == ["0", "1", "2", "3", "4", "before"]


@pytest.mark.parametrize(
    "drift", [{"timestamp": ..., "created_at": ..., "updated_at": ...}, {}, {"timestamp": 9 * 10**9}]
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_torn_keys_among_others_hide_nothing_and_nothing_is_there_twice(store, size, drift):
    items = [msg(f"{n:02}", START + timedelta(minutes=n)) for n in range(12)]
    # Unreadable texts between those of a format, of items that tell another time, or none.
    items += [
        msg(f"torn {n}", START + timedelta(days=n - 2), stamp=f"{item['SK'].split('#')[1]}x", **drift)
        for n, item in enumerate(items[::3])
    ]
    items.append(msg("torn last", START - timedelta(days=9), stamp="0000009x", **drift))
    store.put_all("THREADS", items)
    found = all_ids(source(), size)
    assert sorted(found) == sorted(item["message_id"] for item in items)
    assert [each for each in found if "torn" not in each] == [f"{n:02}" for n in reversed(range(12))]


@pytest.mark.parametrize("size", [1, 10])
def test_of_many_with_the_same_time_and_id_none_is_lost(store, size):
    items = [message(kind, f"{n:02}", START, message_id=f"{kind} {n:02}") for n in range(40) for kind in ("MSG", "LLM")]
    store.put_all("THREADS", items)
    assert sorted(all_ids(source(), size)) == sorted(item["message_id"] for item in items)
