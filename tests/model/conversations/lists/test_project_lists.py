"""A project's list holds what an oracle computes from the items, however much its siblings have grown.

PROJECT_SIBLINGS=10000 pytest -n 0 tests/model/conversations/lists
"""

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from console import clock
from console.permissions import Role, Scope, Staff
from console.refs import unseal
from console.store import presence
from conversations.finding.listing import neighbour_of, read_list
from conversations.finding.queries import load_key, of_company, of_project
from conversations.records import Page
from tests.items import key_of
from tests.model.conversations.lists.company import (
    BEGAN,
    BUSY,
    COMPANY,
    FILTERS,
    QUIET,
    busy_rows,
    expected,
    quiet_rows,
    row,
)
from tests.queue import filled
from tests.tables import create, gsis

SIBLINGS = int(os.environ.get("PROJECT_SIBLINGS", "1000"))
AMIRA = Staff("amira", "Amira", Role.AGENT, Scope.of([COMPANY]))
PROJECT_INDEX, COMPANY_INDEX = "company-id-project-id-updated-at-index", "company-id-updated-at-index"
NO_FILTERS, EVERYTHING = FILTERS["none"]
# Indexes that are missing, and whether the quiet project counts as too large to sort.
WAYS = {
    "index": ((), False),
    "sorted": ((PROJECT_INDEX,), False),
    "sorted without both": ((PROJECT_INDEX, COMPANY_INDEX), False),
    "large": ((PROJECT_INDEX,), True),
    "large without both": ((PROJECT_INDEX, COMPANY_INDEX), True),
}


def ids_of(page: Page) -> list[str]:
    return [unseal("conversation", row.reference, 2)[1] for row in page.rows]


def pages_of(listed, most: int = 10**6) -> list[Page]:
    pages = [read_list(listed, AMIRA)]
    while pages[-1].next and len(pages) < most:
        pages.append(read_list(listed, AMIRA, pages[-1].next))
    return pages


def shown(pages: list[Page]) -> list[str]:
    return [each for page in pages for each in ids_of(page)]


@pytest.fixture
def reads(monkeypatch):
    """Small pages; and what counts as too large."""
    monkeypatch.setattr("conversations.finding.listing.PAGE_SIZE", 7)

    def with_limit(*, large: bool) -> None:
        if large:
            # The four newest rows, before one that may have others of its instant, take more than a page.
            monkeypatch.setattr("conversations.finding.listing.PAGE_SIZE", 3)
            monkeypatch.setattr("console.store.sorting.ROWS_PER_READ", 5)

    return with_limit


@pytest.fixture(params=WAYS)
def way(request, bare_store, reads):
    """Tables without some indexes, filled, and the store: with what one page may read."""
    missing, large = WAYS[request.param]
    bare_store.create_tables("CONSOLE")
    create(bare_store, "CONVERSATIONS", GlobalSecondaryIndexes=gsis("CONVERSATIONS", *missing))
    presence.forget()
    filled(bare_store)
    reads(large=large)
    return request.param, bare_store


def test_every_filter_of_a_quiet_project_shows_its_rows_and_leads_back(way):
    name, store = way
    items = [*quiet_rows(), *busy_rows(0 if name == "large" else 60)]
    store.put_all("CONVERSATIONS", items)
    for filters, chosen in FILTERS.values():
        listed = of_project(COMPANY, QUIET, filters, AMIRA)
        wanted = expected(items, QUIET, chosen)
        pages = pages_of(listed)
        found = shown(pages)
        assert sorted(found) == sorted(wanted), filters
        if name == "large" and filters == NO_FILTERS:
            assert found[:4] == wanted[:4]
        if not name.startswith("large"):
            assert found == wanted, filters
            assert all(len(page.rows) == 7 for page in pages[:-2])
        assert bool(pages[0].rows) == bool(wanted), filters
        for page, before in zip(pages[:0:-1], pages[-2::-1], strict=True):
            assert ids_of(read_list(listed, AMIRA, page.back)) == ids_of(before), filters
        assert not pages[0].back


def test_a_quiet_project_is_shown_beside_many_busy_siblings(store):
    filled(store)
    items = [*quiet_rows(), *busy_rows(SIBLINGS)]
    store.put_all("CONVERSATIONS", items)
    for filters, chosen in FILTERS.values():
        with store.calls() as seen:
            page = read_list(of_project(COMPANY, QUIET, filters, AMIRA), AMIRA)
        assert ids_of(page) == expected(items, QUIET, chosen), filters
        assert not page.next
        assert len([call for call in seen if call.operation == "Query"]) <= 2


@pytest.mark.parametrize("hand_off", ["waiting", "held"])
@pytest.mark.parametrize("in_time", [True, False])
def test_a_companys_hand_offs_are_exact_in_each_order(store, hand_off, in_time):
    filled(store)
    items = [*quiet_rows(), *busy_rows(100)]
    store.put_all("CONVERSATIONS", items)
    filters, chosen = FILTERS[hand_off]
    listed = of_company(COMPANY, filters, AMIRA, in_time=in_time)
    found = shown(pages_of(listed))
    if in_time:
        assert found == expected(items, "", chosen)
    else:
        assert found == [*expected(items, BUSY, chosen), *expected(items, QUIET, chosen)]


def test_stepping_through_a_project_follows_its_pages(way):
    name, store = way
    items = [*quiet_rows(), *busy_rows(0 if name == "large" else 30)]
    store.put_all("CONVERSATIONS", items)
    keys = {str(item["conversation_id"]): key_of(item) for item in items}
    for filters, _ in (FILTERS["none"], FILTERS["held"], FILTERS["task"]):
        listed = of_project(COMPANY, QUIET, filters, AMIRA)
        rows = shown(pages_of(listed))
        for one, other in zip(rows, [*rows[1:], None], strict=True):
            after = neighbour_of(listed, _loaded(keys[one]), back=False)
            assert (after and unseal("conversation", after.reference, 2)[1]) == other, (name, filters)
        for one, other in zip(rows, [None, *rows[:-1]], strict=True):
            before = neighbour_of(listed, _loaded(keys[one]), back=True)
            assert (before and unseal("conversation", before.reference, 2)[1]) == other, (name, filters)


def _loaded(key):
    found = load_key(key["primary_channel"], key["conversation_id"], AMIRA)
    assert found is not None
    return found


CHANGES = st.lists(st.tuples(st.sampled_from(("touch", "add", "delete")), st.integers(0, 24)), max_size=6)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(changes=[[("touch", number) for number in range(6)]])
# What was too large to sort becomes small enough meanwhile.
@example(changes=[[("delete", number) for number in range(6)]])
@given(changes=st.lists(CHANGES, max_size=4))
def test_rows_that_nobody_touches_are_shown_once_while_others_move(way, changes):
    """Between two pages others write: activity moves rows to the front, new ones come, some are deleted."""
    _, store = way
    rows = [row(number, QUIET, BEGAN.replace(minute=number)) for number in range(25)]
    store.put_all("CONVERSATIONS", [*rows, *(row(100 + each, BUSY, BEGAN) for each in range(4))])
    listed = of_project(COMPANY, QUIET, NO_FILTERS, AMIRA)
    left, page, seen = {str(each["conversation_id"]) for each in rows}, read_list(listed, AMIRA), []
    added, touches = [], 0
    for batch in [*changes, *([] for _ in range(25))]:
        seen += ids_of(page)
        if not page.next:
            break
        for what, number in batch:
            touches += 1
            at = clock.to_iso(BEGAN.replace(day=3, minute=touches))
            if what == "touch" and str(rows[number]["conversation_id"]) in left:
                store.update("CONVERSATIONS", key_of(rows[number]), updated_at=at)
            elif what == "add":
                added.append(row(1000 + touches, QUIET, None, updated_at=at))
                store.put("CONVERSATIONS", added[-1])
                continue
            elif what == "delete":
                store.delete("CONVERSATIONS", **key_of(rows[number]))
            left.discard(str(rows[number]["conversation_id"]))
        page = read_list(listed, AMIRA, page.next)
    store.delete_all("CONVERSATIONS", (key_of(each) for each in (*rows, *added)))
    assert not page.next
    assert [seen.count(each) for each in sorted(left)] == [1] * len(left)
