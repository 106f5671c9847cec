"""Several ordered streams as pages: no row lost, doubled or out of order, reads bounded, cursors that hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.refs import seal_cursor
from console.store.streams import (
    BEGINNING,
    END,
    Candidate,
    Chunk,
    Keyset,
    Stream,
    merge,
    next_of,
    read_further,
    read_on,
    streams_to_read,
)

# Each stream is a list of (order, shown); None: its sort key is unusable.
rows = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.booleans()), max_size=14)
stores = st.lists(rows, min_size=1, max_size=4)
sizes, limits = st.integers(1, 5), st.integers(1, 6)
LATEST = 99


def stored(drawn, *, descending: bool) -> list[list[tuple[tuple[int, int, int], str | None]]]:
    """Rows of each stream in its order: unique orders, the unusable anywhere and at once."""
    found = []
    for name, each in enumerate(drawn):
        usable = iter(sorted((order for order, _ in each if order is not None), reverse=descending))
        at_once = LATEST if descending else -1
        orders = [at_once if order is None else next(usable) for order, _ in each]
        ties = [-number if descending else number for number in range(len(each))]
        found.append(
            [
                ((order, name, tie), f"{name}.{number}" if shown else None)
                for number, (order, tie, (_, shown)) in enumerate(zip(orders, ties, each, strict=True))
            ]
        )
    return found


def reader(held):
    """As a bounded Query: at most `limit` rows behind a place."""

    def read(place, limit: int) -> Chunk[str]:
        first = place or 0
        behind = range(first, min(first + limit, len(held)))
        found = [Candidate(held[number][0], number + 1, held[number][1]) for number in behind]
        return Chunk(found, first + limit if first + limit < len(held) else END)

    return read


def pages(store, size, limit, *, descending=True, reads=1, fail=lambda page, name: False):
    """All pages, each read anew from the places of the one before."""
    found, places = [], {}
    for number in range(400):
        streams = []
        for name, held in enumerate(store):
            start = places.get(str(name), BEGINNING)
            if fail(number, name) and start is not END:
                streams.append(Stream(str(name), start, failed=True))
                continue
            calls: list[object] = []

            def read(place, held=held, calls=calls):
                calls.append(place)
                return reader(held)(place, limit)

            chunk = Chunk() if start is END else read_on(read, start, size + 1, reads)
            assert len(calls) <= reads
            streams.append(Stream(str(name), start, chunk))
        page = merge(streams, size, descending=descending)
        found.append(page)
        if page.after is None:
            return found
        places = page.after
    raise AssertionError("the pages do not end")


def shown_of(store) -> list[str]:
    return sorted(item for held in store for _, item in held if item)


def items_of(found) -> list[str]:
    return [item for page in found for item, _ in page.items]


def orders(store, items) -> list[int]:
    order_of = {item: order for held in store for order, item in held}
    return [order_of[item] for item in items]


@given(stores, sizes, limits, st.integers(1, 3), st.booleans())
def test_no_row_is_lost_doubled_or_out_of_order(drawn, size, limit, reads, descending):
    store = stored(drawn, descending=descending)
    found = pages(store, size, limit, descending=descending, reads=reads)
    assert all(len(page.items) <= size for page in found)
    items = items_of(found)
    assert sorted(items) == shown_of(store)
    usable = [order for order in orders(store, items) if order[0] not in (LATEST, -1)]
    assert usable == sorted(usable, reverse=descending)


@pytest.mark.slow
@given(stores, sizes, limits, st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6))
def test_a_stream_that_fails_holds_nothing_up_and_is_taken_up_where_it_was(drawn, size, limit, failures):
    store = stored(drawn, descending=True)
    found = pages(store, size, limit, fail=lambda page, name: (page, name) in failures)
    items = items_of(found)
    assert len(items) == len(set(items))
    last = len(found) - 1
    lost = {str(name) for page, name in failures if page == last}
    assert {each for each in shown_of(store) if each.split(".")[0] not in lost} <= set(items)


def test_a_stream_that_failed_keeps_its_place_and_alone_makes_no_next_page():
    failed = Stream("failed", 3, failed=True)
    assert merge([failed, Stream("ended")], 5).after is None
    more = Stream("more", chunk=Chunk([Candidate(1, 1, "row")], 1))
    assert merge([failed, more], 5).after == {"failed": 3, "more": 1}


@given(stores, sizes, limits)
def test_no_page_follows_that_was_known_to_be_empty(drawn, size, limit):
    store = stored(drawn, descending=True)
    found = pages(store, size, limit, reads=99)
    assert all(page.items for page in found[1:])


@given(st.lists(st.booleans(), max_size=30), st.integers(0, 5), st.integers(1, 4), limits)
def test_one_stream_is_read_within_its_reads_and_no_further_than_needed(shown, wanted, reads, limit):
    held = [((number,), "row" if each else None) for number, each in enumerate(shown)]
    asked = []

    def read(place):
        asked.append(place)
        return reader(held)(place, limit)

    found = read_on(read, BEGINNING, wanted, reads)
    assert 1 <= len(asked) <= reads
    assert len(found.candidates) == min(len(held), len(asked) * limit)
    assert found.end is END or len(found.items) >= wanted or len(asked) == reads
    before = held[: (len(asked) - 1) * limit]
    assert len(asked) == 1 or sum(item is not None for _, item in before) < wanted


@given(stores, limits)
def test_rounds_of_reading_give_the_order_and_read_nothing_ahead_of_need(drawn, limit):
    store = stored([[row for row in each if row[0] is not None] for each in drawn], descending=True)
    streams = [Stream(str(name), read=reader(held)) for name, held in enumerate(store)]
    items = []
    for _ in range(200):
        stream = next_of(streams)
        if stream is None:
            if not streams_to_read(streams):
                break
            assert read_further(streams, limit)
            continue
        items.append(stream.take().order)
    assert items == sorted((order for held in store for order, _ in held), reverse=True)


def test_a_range_that_follows_is_read_when_nothing_before_it_can_come_any_more():
    read = []

    def two_ranges(name, first, second):
        def fetch(place, limit):
            read.append((name, place))
            found = first if place == BEGINNING else second
            candidates = [Candidate(order, BEGINNING, order) for order in found]
            return Chunk(candidates, "second", below=50) if place == BEGINNING else Chunk(candidates)

        return Stream(name, read=fetch)

    streams = [two_ranges("a", [], [40]), two_ranges("b", [90, 80], [45])]
    read_further(streams, 10)
    assert [next_of(streams).take().order for _ in range(2)] == [90, 80]
    # They are read at the same time.
    assert sorted(read) == [("a", BEGINNING), ("b", BEGINNING)]
    assert next_of(streams) is None
    read_further(streams, 10)
    assert [next_of(streams).take().order for _ in range(2)] == [45, 40]


# --- A place in the shared order ------------------------------------------------------------------------------------


@given(
    st.sets(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=25),
    sizes,
    st.lists(st.tuples(st.integers(0, 25), st.integers(0, 5), st.integers(31, 60)), max_size=6),
)
def test_what_stays_is_shown_once_whatever_is_removed_and_added_meanwhile(held, size, changes):
    """A list that others change between two pages, by its keyset."""
    stored = {(str(at), str(mark)) for at, mark in held}
    always, shown, place = set(stored), [], Keyset()
    coming = list(changes)
    for _ in range(200):
        left = sorted(row for row in stored if row[0] >= place.at and not place.has_seen(*row))
        page = left[:size]
        shown += page
        for at, mark in page:
            place = place.after(at, mark)
        if len(left) <= size:
            break
        place = Keyset.unsealed(place.sealed("list", "amira"), "list", "amira")
        if coming:
            number, at, mark = coming.pop()
            if gone := sorted(stored)[number : number + 1]:
                stored -= set(gone)
                always -= set(gone)
            stored.add((str(at), str(mark)))
    assert len(shown) == len(set(shown))
    assert always <= set(shown)


@given(st.text(max_size=20), st.lists(st.text(max_size=12), max_size=5))
def test_a_keyset_comes_back_from_its_cursor_and_from_no_other(at, seen):
    place = Keyset(at, tuple(seen))
    cursor = place.sealed("review", "amira")
    assert Keyset.unsealed(cursor, "review", "amira") == place
    for binding in (("review", "jon"), ("queue", "amira"), ()):
        assert Keyset.unsealed(cursor, *binding) is None


@given(st.one_of(st.text(max_size=60), st.binary(max_size=40).map(lambda raw: raw.hex())))
def test_a_hostile_cursor_is_no_place(cursor):
    assert Keyset.unsealed(cursor, "review", "amira") is None


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(), lambda each: st.lists(each) | st.dictionaries(st.text(), each)
    )
)
def test_a_cursor_that_was_sealed_for_another_purpose_or_by_an_older_console_is_no_place(position):
    assert Keyset.unsealed(seal_cursor(position, "review", "amira"), "review", "amira") is None
