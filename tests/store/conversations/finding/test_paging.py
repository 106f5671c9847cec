"""Pages of a list: complete, exact, bounded, and the same way back."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console import clock
from console.store import paging
from console.store.paging import READS_PER_PAGE, PageSource, read_neighbour, read_page
from conversations.models import SUMMARY_ATTRIBUTES, Conversation
from tests.dynamodb import to_dynamodb
from tests.items import conversation, put_conversation

companies = (f"ci-{number:04d}" for number in itertools.count())
quick = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def source(company="ci-aaa-001", **changes) -> PageSource[Conversation]:
    given = {
        "model": Conversation,
        "partition": company,
        "attributes": SUMMARY_ATTRIBUTES,
        "index": "company-id-project-id-index",
    }
    return PageSource(**(given | changes))


def fill(store, kinds, company="ci-aaa-001") -> list[str]:
    """One conversation per kind: "k" is kept by the filter, "d" is dropped by it, "x" is past its TTL."""
    past = clock.to_epoch(clock.now()) - 60
    items = [
        conversation(
            primary_channel=f"+44770090{number:04d}",
            request_id=f"r{number}",
            company_id=company,
            project_id=f"pi-{number % 2}",
            conversation_status="kept" if kind == "k" else "dropped",
            ttl=past if kind == "x" else ...,
        )
        for number, kind in enumerate(kinds)
    ]
    store.put_all("CONVERSATIONS", items)
    return sorted(item["conversation_id"] for item, kind in zip(items, kinds, strict=True) if kind == "k")


def kept(item) -> bool:
    return item.conversation_status == "kept"


def ids(read) -> list[str]:
    return [item.conversation_id for item in read.items]


def walk_on(listed, size) -> list:
    return pages_from(listed, read_page(listed, "amira", size=size), size)


def pages_from(listed, page, size) -> list:
    pages = [page]
    while pages[-1].next:
        pages.append(read_page(listed, "amira", pages[-1].next, size))
        assert len(pages) < 60
    return pages


def walk_back(listed, page, size) -> list:
    pages = [page]
    while pages[-1].back:
        pages.append(read_page(listed, "amira", pages[-1].back, size))
        assert len(pages) < 60
    return pages


@pytest.mark.slow
@quick
@given(kinds=st.lists(st.sampled_from("kkdx"), max_size=18), size=st.integers(1, 4), limit=st.integers(1, 3))
def test_walking_on_yields_each_row_once_and_walking_back_returns_to_the_start(store, monkeypatch, kinds, size, limit):
    monkeypatch.setattr(paging, "_limit", lambda *_: limit)
    company = next(companies)
    expected = fill(store, kinds, company)
    listed = source(company, keep=kept)
    pages = walk_on(listed, size)
    assert sorted(one for page in pages for one in ids(page)) == expected
    assert all(len(page.items) <= size for page in pages)
    order = [one for page in pages for one in ids(page)]

    back = walk_back(listed, pages[-1], size)
    if len(back) > 1 and set(ids(back[-1])) & set(ids(back[-2])):
        # The budget ended exactly at the start, which shows only when going on: the first page comes once more.
        assert ids(back[-1]) == order[: len(back[-1].items)]
        back.pop()
    returned = [one for page in reversed(back) for one in ids(page)]
    assert returned == order
    # And on again from wherever walking back ended.
    assert [one for page in pages_from(listed, back[-1], size) for one in ids(page)] == order


@pytest.mark.slow
@quick
@given(count=st.integers(0, 13), size=st.integers(1, 5))
def test_pages_without_filter_are_exact_one_query_each_and_back_shows_the_same_pages(store, count, size):
    company = next(companies)
    fill(store, "k" * count, company)
    with store.calls() as seen:
        pages = walk_on(source(company), size)
    assert [call.operation for call in seen] == ["Query"] * len(pages)
    sizes = [size] * (count // size) + [count % size] * bool(count % size)
    assert [len(page.items) for page in pages] == (sizes or [0])
    for before, page in itertools.pairwise(pages):
        again = read_page(source(company), "amira", page.back, size)
        assert ids(again) == ids(before)
        assert not again.thin
        assert again.from_start == before.from_start
    assert not pages[-1].next


@pytest.mark.slow
@quick
@given(kinds=st.lists(st.sampled_from("kd"), min_size=1, max_size=12))
def test_the_neighbour_of_each_row_is_the_row_beside_it(store, kinds):
    company = next(companies)
    fill(store, kinds, company)
    listed = source(company, keep=kept)
    rows = list(read_page(listed, "amira").items)
    names = [row.conversation_id for row in rows]
    for place, row in enumerate(rows):
        after = read_neighbour(listed, row, back=False)
        before = read_neighbour(listed, row, back=True)
        assert (after and after.conversation_id) == (names[place + 1] if place + 1 < len(names) else None)
        assert (before and before.conversation_id) == (names[place - 1] if place else None)


def test_a_filtered_page_spends_its_budget_of_reads_and_goes_on(store, monkeypatch):
    monkeypatch.setattr(paging, "_limit", lambda *_: 2)
    fill(store, "d" * 11 + "k")
    with store.calls() as seen:
        page = read_page(source(keep=kept), "amira", size=3)
    assert len(seen) == READS_PER_PAGE
    assert not page.items
    assert page.thin
    assert page.looked_at == 8
    assert page.next
    following = read_page(source(keep=kept), "amira", page.next, 3)
    assert len(following.items) == 1
    assert not following.next
    # The way back passes the same dropped rows within the same budget, and arrives.
    assert walk_back(source(keep=kept), following, 3)[-1].from_start


def test_an_empty_page_at_the_very_end_leads_back(store):
    fill(store, "kkkkkk")
    first = read_page(source(), "amira", size=2)
    second = read_page(source(), "amira", first.next, size=2)
    for gone in read_page(source(), "amira", second.next, size=2).items:
        store.delete("CONVERSATIONS", primary_channel=gone.primary_channel, conversation_id=gone.conversation_id)
    empty = read_page(source(), "amira", second.next, size=2)
    assert not empty.items
    assert not empty.next
    assert ids(read_page(source(), "amira", empty.back, size=2)) == ids(second)


def test_a_cursor_of_another_person_filter_partition_or_index_gives_the_first_page(store):
    fill(store, "kkkkk")
    cursor = read_page(source(), "amira", size=2).next
    first = ids(read_page(source(), "amira", size=2))
    assert ids(read_page(source(), "amira", cursor, 2)) != first
    for listed, username in (
        (source(), "jon"),
        (source(binding=("other filters",)), "amira"),
        (source(ranges=(("pi-0", "pi-9"),)), "amira"),
        (source(descending=True), "amira"),
    ):
        read = read_page(listed, username, cursor, 2)
        assert read.restarted
        assert read.from_start
    for junk in ("x", cursor[:-2], cursor + "A", "é", "A" * 9000):
        read = read_page(source(), "amira", junk, 2)
        assert read.restarted
        assert ids(read) == first


def test_a_cursor_whose_row_is_gone_still_goes_on_behind_it(store):
    fill(store, "kkkkkk")
    first = read_page(source(), "amira", size=2)
    rest = read_page(source(), "amira", first.next, size=10)
    gone = first.items[-1]
    store.delete("CONVERSATIONS", primary_channel=gone.primary_channel, conversation_id=gone.conversation_id)
    assert ids(read_page(source(), "amira", first.next, size=10)) == ids(rest)


def test_back_where_everything_before_is_gone_shows_the_first_page(store):
    fill(store, "kkkk")
    first = read_page(source(), "amira", size=2)
    second = read_page(source(), "amira", first.next, size=2)
    for gone in first.items:
        store.delete("CONVERSATIONS", primary_channel=gone.primary_channel, conversation_id=gone.conversation_id)
    again = read_page(source(), "amira", second.back, size=2)
    assert ids(again) == ids(second)
    assert again.from_start
    assert not again.back


def test_ranges_are_read_one_after_the_other_in_both_directions(store):
    for number, created in enumerate(("2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z", "1767434400", "1767520800000")):
        put_conversation(store, request_id=f"r{number}", created_at=created)
    listed = source(
        partition="+447700900123",
        index="created-at-index",
        ranges=(("2026-01-01", "2026-01-03~"), ("1767000000", "1768000000~")),
        descending=True,
    )
    pages = walk_on(listed, 1)
    order = [item.created_at for page in pages for item in page.items]
    assert order == ["2026-01-02T10:00:00Z", "2026-01-01T10:00:00Z", "1767520800000", "1767434400"]
    back = walk_back(listed, next(page for page in reversed(pages) if page.items), 1)
    assert [item.created_at for page in reversed(back) for item in page.items] == order
    middle = pages[1].items[0]
    assert read_neighbour(listed, middle, back=False).created_at == "1767520800000"


def test_an_item_without_the_key_of_the_index_has_no_neighbour(store):
    listed = source(partition="+447700900123", index="created-at-index", ranges=(("2026", "2027"),))
    item = Conversation.from_raw_data({"primary_channel": {"S": "+447700900123"}, "conversation_id": {"S": "a"}})
    assert read_neighbour(listed, item, back=False) is None


def test_an_item_of_another_partition_has_no_neighbour_and_costs_no_read(store):
    store.put_all("CONVERSATIONS", [conversation(primary_channel="+447700900123") for _ in range(3)])
    theirs = conversation(primary_channel="+447700900999")
    item = Conversation.from_raw_data(to_dynamodb(theirs))
    with store.calls() as calls:
        assert read_neighbour(source(partition="+447700900123", index=""), item, back=False) is None
    assert calls == []
