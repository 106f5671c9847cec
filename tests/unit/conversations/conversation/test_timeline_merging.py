"""Merging sources into pages: one order of time, nothing lost or told twice, and every place leads back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.store.streams import BEGINNING, END, Candidate, Chunk, Stream, merge
from conversations.conversation.timeline.sources import NEWEST, OLDEST, Dated, stream_of_list, with_neighbours

START = datetime(2026, 3, 2, tzinfo=UTC)
NAMES = ("one", "two", "three")
# Instants lie close, so that many are the same; None: no readable time; False: looked at, but not to be shown.
entries = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 12)), st.booleans()), max_size=12)
stores = st.tuples(entries, entries, entries)


def instant(minutes: int | None) -> datetime:
    return NEWEST if minutes is None else START + timedelta(minutes=minutes)


def stored_of(drawn) -> dict[str, list[tuple[datetime, str | None]]]:
    """Each source newest first, as its table holds it; what has no time lies anywhere."""
    stored = {}
    for name, found in zip(NAMES, drawn, strict=True):
        timed = sorted((minutes for minutes, _ in found if minutes is not None), reverse=True)
        waiting = iter(timed)
        order = [None if minutes is None else next(waiting) for minutes, _ in found]
        stored[name] = [
            (instant(minutes), f"{name} {number}" if shown else None)
            for number, (minutes, (_, shown)) in enumerate(zip(order, found, strict=True), 1)
        ]
    return stored


def read(stored, places, limit: int) -> list[Stream[str]]:
    """As a bounded Query reads: at most `limit` behind the place."""
    sources = []
    for name, rows in stored.items():
        start = places.get(name, BEGINNING)
        if start is END:
            sources.append(Stream(name, END))
            continue
        first = start or 0
        found = [
            Candidate(order, number, item)
            for number, (order, item) in enumerate(rows[first : first + limit], first + 1)
        ]
        sources.append(Stream(name, start, Chunk(found, first + limit if first + limit < len(rows) else END)))
    return sources


def pages(stored, size: int, limit: int) -> list:
    found, places = [], {}
    for _ in range(100):
        page = merge(read(stored, places, limit), size)
        found.append(page)
        if page.after is None:
            return found
        places = page.after
    raise AssertionError("the pages do not end")


@pytest.mark.slow
@given(stores, st.integers(1, 5), st.integers(1, 6))
def test_nothing_is_lost_or_told_twice_over_all_pages(drawn, size, limit):
    stored = stored_of(drawn)
    told = [item for page in pages(stored, size, limit) for item, _ in page.items]
    assert sorted(told) == sorted(item for rows in stored.values() for _, item in rows if item)


@given(stores, st.integers(1, 5), st.integers(1, 6))
def test_what_has_a_time_is_in_one_order_over_all_pages(drawn, size, limit):
    stored = stored_of(drawn)
    order_of = {item: order for rows in stored.values() for order, item in rows}
    told = [order_of[item] for page in pages(stored, size, limit) for item, _ in page.items]
    timed = [order for order in told if order != NEWEST]
    assert timed == sorted(timed, reverse=True)


@given(stores, st.integers(1, 5), st.integers(1, 6))
def test_a_page_from_the_place_of_an_item_begins_with_it(drawn, size, limit):
    stored = stored_of(drawn)
    for page in pages(stored, size, limit):
        for item, place in page.items:
            places, found = place, []
            while not found:
                again = merge(read(stored, places, limit), size)
                found, places = again.items, again.after
            assert found[0][0] == item


@pytest.mark.slow
@given(stores, st.integers(1, 5), st.integers(1, 6))
def test_a_page_is_never_longer_than_asked(drawn, size, limit):
    assert all(len(page.items) <= size for page in pages(stored_of(drawn), size, limit))


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(1, 4))
def test_a_list_at_hand_is_read_on_from_any_place(minutes, size):
    items = {Dated(instant(each), number): number for number, each in enumerate(minutes)}
    told, start = [], BEGINNING
    while start is not END:
        source = stream_of_list("whole", start, items, size)
        told += [candidate.item for candidate in source.waiting]
        start = source.end
    assert told == [items[dated] for dated in sorted(items, reverse=True)]


def test_what_has_no_time_stands_with_its_neighbours():
    one, two = START, START + timedelta(minutes=1)
    assert [each.order for each in with_neighbours([None, one, None, two])] == [one, one, one, two]
    assert [each.order for each in with_neighbours([None, None])] == [OLDEST, OLDEST]


def test_a_place_that_is_none_begins_anew():
    assert Dated.of("junk") is None
    assert Dated.of(Dated(START, 3).place) == Dated(START, 3)
