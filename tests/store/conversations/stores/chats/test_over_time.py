"""A user's chats over time and the images among them: one index, newest first, days of the person's zone, bounded."""

import calendar
from dataclasses import replace
from decimal import Decimal

import pytest

from console.errors import StoreUnavailable
from console.store import presence
from console.store.paging import READS_PER_PAGE
from conversations.stores.chats.keys import position_at
from tests import faults
from tests.support.conversations.stores.chats.kit import (
    ADMIN,
    AUDITOR,
    IMAGE,
    OTHER,
    USER,
    event,
    image,
    listing,
    session_id,
)
from tests.tables import create, gsis


def at(*moment: int) -> int:
    return calendar.timegm(moment + (0,) * (6 - len(moment)))


BEGUN = at(2025, 3, 1)


def chats(**which):
    return listing("chats", USER, **which)


def images(**which):
    return listing("images", USER, **which)


def times(page):
    return [position_at(row.place.at) for row in page.rows]


# --- Chats ----------------------------------------------------------------------------------------------------------


def test_chats_are_listed_newest_first_by_one_query_of_the_index(store):
    stored = [at(2025, 3, 1), Decimal(f"{at(2025, 3, 2)}.5"), at(2025, 3, 3)]
    store.put_all("CHATS", [event(BEGUN, each) for each in stored])
    store.put("CHATS", event(BEGUN, at(2025, 3, 4), "assistant", ImageId=IMAGE))
    store.put("CHATS", event(1, at(2025, 3, 5), UserId=OTHER, SessionId="theirs"))
    with store.calls() as seen:
        page = chats()
    assert [(call.operation, call.index) for call in seen] == [("Query", "UserConverationGlobalIndex")]
    assert times(page) == [at(2025, 3, 4), *reversed(stored)]
    assert [cell.text for cell in page.rows[0].cells] == ["Assistant", f"{USER[:8]}…:{BEGUN}", "with an image"]
    assert page.rows[1].cells[0].text == "User"
    assert page.rows[0].place.parts == ("session", USER, session_id(BEGUN))
    assert page.rows[0].name == "Tuesday 4 March 2025, 00:00"
    assert [link.label for link in page.tabs if link.current] == ["Chats over time"]


@pytest.mark.parametrize(
    ("zone", "since", "until", "shown"),
    [
        ("UTC", "2025-03-02", "2025-03-02", [2, 1]),
        ("UTC", "2025-03-02", "", [4, 3, 2, 1]),
        ("UTC", "", "2025-03-02", [2, 1, 0]),
        ("America/New_York", "2025-03-01", "2025-03-01", [1]),
        ("UTC", "2025-03-03", "2025-03-02", [4, 3]),
        ("UTC", "soon", "", [4, 3, 2, 1, 0]),
    ],
)
def test_days_are_those_of_the_persons_zone_and_both_are_included(store, zone, since, until, shown):
    stored = [
        at(2025, 3, 1, 3),
        at(2025, 3, 2),
        Decimal(f"{at(2025, 3, 2, 23, 59, 59)}.75"),
        at(2025, 3, 3),
        at(2025, 3, 3, 5),
    ]
    store.put_all("CHATS", [event(BEGUN, each) for each in stored])
    who = replace(ADMIN, time_zone=zone)
    page = chats(who=who, since=since, until=until)
    assert times(page) == [stored[number] for number in shown]
    assert bool(page.filters.problems) == (since in ("soon", "2025-03-03"))


def test_pages_go_on_and_back_and_cursors_are_of_one_person_user_and_days(store):
    store.put_all("CHATS", [event(BEGUN, BEGUN + number) for number in range(120)])
    store.put_all("CHATS", [event(1, BEGUN + number, UserId=OTHER, SessionId="theirs") for number in range(120)])
    first = chats()
    second = chats(cursor=first.next)
    third = chats(cursor=second.next)
    found = [*times(first), *times(second), *times(third)]
    assert found == [BEGUN + number for number in reversed(range(120))]
    assert (third.next, times(chats(cursor=second.back))) == ("", times(first))
    for page in (
        chats(who=AUDITOR, cursor=first.next),
        listing("chats", OTHER, cursor=first.next),
        chats(cursor=first.next, since="2025-01-01"),
        images(cursor=first.next),
    ):
        assert any("This is the first page" in notice for notice in page.notices)


@pytest.mark.parametrize(
    ("drift", "flaw"),
    [
        ({"ChatAgent": "bot"}, "ChatAgent: not a value that the schema knows"),
        ({"ChatAgent": 7}, "ChatAgent: number instead of text"),
        ({"ImageId": ["x"]}, "ImageId: list instead of text"),
    ],
)
def test_one_odd_event_is_one_flagged_row(store, drift, flaw):
    store.put_all("CHATS", [event(BEGUN, BEGUN, **drift), event(BEGUN, BEGUN + 1)])
    page = chats()
    assert page.rows[0].flaws == ()
    assert flaw in page.rows[1].flaws


# --- Images ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_images_of_a_user_are_found_among_their_chats_within_bounds(store):
    store.put_all("CHATS", [event(BEGUN, BEGUN + number) for number in range(1000)])
    store.put("CHATS", event(BEGUN, BEGUN + 995, "assistant", ImageId=IMAGE))
    store.put("CHATS", event(BEGUN, BEGUN + 3, "assistant", ImageId="old"))
    store.put_all("IMAGE_RESPONSES", [image(), image("old", Prompt="call +447700900123")])
    with store.calls() as seen:
        page = images()
    assert [call.operation for call in seen] == ["Query"] * READS_PER_PAGE + ["BatchGetItem"]
    assert [row.place.parts for row in page.rows] == [("image", IMAGE)]
    assert page.notices == ("Looked for images among the latest 800 messages. There are more to look at.",)
    page = images(cursor=page.next)
    assert [row.name for row in page.rows] == ["call ***-***-0123"]
    assert (page.next, page.notices) == ("", ("Looked for images among the next 200 messages.",))


def test_an_image_that_is_gone_is_a_flagged_row_and_a_failing_table_a_notice(store):
    store.put("CHATS", event(BEGUN, BEGUN, ImageId="gone"))
    [row] = images().rows
    assert (row.name, row.place, row.flaws) == ("Image gone", None, ("it is not in ImageResponses",))
    with faults.fail_before("BatchGetItem", times=faults.ALWAYS):
        page = images()
    assert page.rows[0].flaws == ()
    assert page.notices[0].startswith("The images could not be read: the database did not answer.")


@pytest.mark.parametrize("kind", ["chats", "images"])
def test_without_the_index_the_list_says_so_and_a_fault_is_an_error(bare_store, kind):
    page = listing(kind, USER)
    assert page.notices == ("The chats over time could not be read: the table Chats is missing in this environment.",)
    presence.forget()
    create(bare_store, "CHATS", GlobalSecondaryIndexes=gsis("CHATS", "UserConverationGlobalIndex"))
    page = listing(kind, USER)
    assert (page.rows, len(page.notices)) == ((), 1)
    assert "the index UserConverationGlobalIndex is missing" in page.notices[0]
    with faults.fail_before("Query", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        listing(kind, USER)


def test_nobody_is_an_empty_list(store):
    assert (chats().rows, images().rows) == ((), ())
