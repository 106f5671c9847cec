"""Feedback over an organisation's newest threads: the most telling first, within bounds that are told."""

import re

import pytest
from django.http import QueryDict

from console.errors import StoreUnavailable
from console.permissions import Role
from conversations.stores.adapter import ListParameters
from conversations.stores.records import address_of, record_place
from conversations.stores.threads.adapter import Threads
from conversations.stores.threads.keys import anchor_of
from tests import faults
from tests.people import admin, signed_in
from tests.support.conversations.stores.kit import staff
from tests.support.conversations.stores.threads.kit import ADMIN, BASE, ORG, ago, llm, msg, of_threads, thread

adapter = Threads()


def triage(reader=ADMIN, cursor="", show=""):
    return adapter.listing(("triage", ORG), reader, ListParameters(cursor=cursor, data=QueryDict(f"show={show}")))


def rows(listing) -> list[tuple[str, str]]:
    return [(row.name, row.cells[0].text) for row in listing.rows]


def given(store):
    store.put_all("THREADS", [thread("t1", at=ago(hours=1), title="First"), thread("t2", at=ago(hours=5))])
    first, second = f"{BASE}#t1", f"{BASE}#t2"
    items = [
        llm("up", ago(minutes=50), PK=first, verso="up"),
        llm("down", ago(minutes=49), PK=first, verso="down"),
        llm("comment", ago(minutes=48), PK=second, feedback="Only a comment"),
        llm("worst", ago(hours=4), PK=second, verso="down", feedback="Wrong clinic"),
        llm("later", ago(minutes=47), PK=second, verso="down", feedback="Wrong day"),
        llm("odd", ago(minutes=46), PK=second, verso="sideways"),
        llm("nothing", ago(minutes=45), PK=second, verso=None, feedback=""),
        llm("silent", ago(minutes=44), PK=second),
        llm("gone", ago(minutes=43), PK=second, verso="down", ExpiryTime=1_600_000_000.5),
        llm("stray", ago(minutes=42), PK=second, verso="down", org_id="elsewhere"),
        msg("asked", ago(minutes=41), PK=second, verso="up", feedback="On a question"),
    ]
    store.put_all("THREADS", items)
    return {item["message_id"]: item for item in items}


def test_thumbs_down_with_comments_come_first(store):
    given(store)
    assert rows(triage()) == [
        ("Wrong day", "Down"),
        ("Wrong clinic", "Down"),
        ("No comment", "Down"),
        ("On a question", "Up"),
        ("Only a comment", ""),
        ("No comment", "sideways"),
        ("No comment", "Up"),
    ]


def test_each_row_leads_to_its_message(store):
    items = given(store)
    row = triage().rows[1]
    assert row.place == record_place(BASE, "t2", at=anchor_of(items["worst"]["SK"]))
    assert triage().rows[2].cells[1].text == "First"


def test_a_row_leads_to_its_message_however_long_its_id(store):
    long = "msg_" + "0f8fad5b-d9cb-469f-a165-70867728950e" * 2
    store.put_all("THREADS", [thread(), llm(long, verso="down")])
    shown = signed_in(admin()).get(address_of("threads", triage().rows[0].place)).content.decode()
    assert f"What {long} says" in shown
    assert "no longer exists" not in shown


def test_filters_leave_thumbs_down_or_comments(store):
    given(store)
    assert [verdict for _, verdict in rows(triage(show="down"))] == ["Down"] * 3
    assert [name for name, _ in rows(triage(show="comment"))] == [
        "Wrong day",
        "Wrong clinic",
        "On a question",
        "Only a comment",
    ]
    junk = triage(show="junk")
    assert len(junk.rows) == 7
    assert "Choose one of the listed values" in junk.filters.problems[0]


def test_one_query_for_the_threads_and_one_for_each(store):
    given(store)
    # The same thread under its other key: it is read once.
    store.put("THREADS", thread("t1", PK=BASE))
    with store.calls() as calls:
        listing = triage()
    assert [call.operation for call in of_threads(calls)] == ["Query"] * 3
    assert of_threads(calls)[0].index == "org-id-updated-at-index"
    assert "Looked through 2 threads" in listing.notices[0]
    assert re.search(r"back to \d+ \w{3} \d{4}, \d\d:\d\d\.", listing.notices[0])
    assert len(listing.rows) == 7


@pytest.mark.slow
def test_it_goes_on_with_the_next_threads(store):
    for number in range(60):
        store.put("THREADS", thread(f"t{number}", at=ago(minutes=number)))
        store.put("THREADS", llm("m", PK=f"{BASE}#t{number}", verso="down", feedback=f"{number}"))
    found, cursor = [], ""
    for expected in (25, 25, 10):
        with store.calls() as calls:
            listing = triage(cursor=cursor)
        assert len(of_threads(calls)) == expected + 1
        assert f"Looked through {expected} threads" in listing.notices[0]
        found += [int(row.name) for row in listing.rows]
        cursor = listing.next
    assert sorted(found) == list(range(60))
    assert not cursor


def test_comments_are_redacted_whoever_looks(store):
    store.put("THREADS", thread(title="Call +447700900123"))
    store.put("THREADS", llm("m", feedback="Call +447700900123 " + "at once " * 100))
    [row] = triage(staff(Role.ADMIN)).rows
    assert "7700900123" not in row.name + repr(row.cells)
    assert len(row.name) <= 240


def test_threads_that_cannot_be_read_are_counted_and_the_rest_is_shown(store):
    given(store)
    second = faults.fail_before(
        "Query", where=lambda r: f"{BASE}#t1" in repr(r["ExpressionAttributeValues"]), times=faults.ALWAYS
    )
    with second:
        listing = triage()
    assert len(listing.rows) == 5
    assert listing.notices[1] == "1 of the threads could not be read."
    with faults.fail_before("Query", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        triage()


def test_a_thread_that_is_too_long_is_read_from_its_end_and_that_is_said(store):
    store.put("THREADS", thread())
    long = "x" * 300_000
    store.put_all("THREADS", [llm(f"m{n:02}", ago(minutes=n), content=long, feedback=f"{n}") for n in range(16)])
    with store.calls() as calls:
        listing = triage()
    assert len(of_threads(calls)) == 4
    assert "so long that only their latest messages" in listing.notices[1]
    names = [int(row.name) for row in listing.rows]
    assert names == sorted(names)
    assert names[0] == 0


def test_expired_threads_are_not_looked_through(store):
    store.put("THREADS", thread(ExpiryTime="1600000000"))
    store.put("THREADS", llm("m", verso="down"))
    with store.calls() as calls:
        assert not triage().rows
    assert len(of_threads(calls)) == 1
