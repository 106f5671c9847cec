"""Lists of threads: an organisation's, a user's under both shapes of keys, and where they begin."""

from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.errors import Forbidden, NotFound, StoreUnavailable, Throttled
from console.permissions import Role
from console.refs import seal_cursor
from conversations import companies
from conversations.stores.adapter import ListParameters
from conversations.stores.records import list_place, record_place
from conversations.stores.threads.adapter import Threads
from tests import faults
from tests.support.conversations.stores.kit import query, staff
from tests.support.conversations.stores.threads.kit import ADMIN, BASE, ORG, TENANT, USER, ago, msg, of_threads, thread

adapter = Threads()
ORG_INDEX, TIME_INDEX = "org-id-updated-at-index", "PK-SKTimestampThread-index-v1"


def org(reader=ADMIN, cursor="", **data):
    return adapter.listing(("org", ORG), reader, ListParameters(cursor=cursor, data=query(**data)))


def user(reader=ADMIN, cursor="", tenant=TENANT, **data):
    return adapter.listing(("user", ORG, tenant, USER), reader, ListParameters(cursor=cursor, data=query(**data)))


def names(listing) -> list[str]:
    return [row.name for row in listing.rows]


def without(store, index):
    """The table as it is before somebody adds an index: DynamoDB refuses the Query, and does not describe it."""
    refused = faults.refuse(
        "Query", code="ValidationException", where=lambda r: r.get("IndexName") == index, times=faults.ALWAYS
    )
    table = store.client.describe_table(TableName=store.name("THREADS"))["Table"]
    left = [each for each in table["GlobalSecondaryIndexes"] if each["IndexName"] != index]
    described = {
        "TableName": table["TableName"],
        "TableStatus": "ACTIVE",
        "GlobalSecondaryIndexes": [{"IndexName": each["IndexName"], "IndexStatus": "ACTIVE"} for each in left],
    }
    return refused, faults.answer("DescribeTable", body={"Table": described}, table_key="THREADS", times=faults.ALWAYS)


# --- An organisation's -----------------------------------------------------------------------------------------------


def test_an_organisations_threads_are_listed_newest_first_by_its_index(store):
    store.put_all(
        "THREADS",
        [
            thread(f"t{hours}", at=ago(hours=hours), title=f"{hours} h ago", is_temporary=hours == 2)
            for hours in range(5)
        ],
    )
    store.put("THREADS", thread("other", base="elsewhere#u", title="another organisation's"))
    # A writer that gives messages an organisation: they are in the index too, and are no threads.
    store.put("THREADS", msg("m1", org_id=ORG))
    with store.calls() as calls:
        listing = org()
    assert [(call.operation, call.index) for call in of_threads(calls)] == [("Query", ORG_INDEX)]
    assert names(listing) == ["0 h ago", "1 h ago", "2 h ago", "3 h ago", "4 h ago"]
    assert [row.cells[2].text for row in listing.rows] == ["", "", "Temporary", "", ""]
    assert listing.rows[0].place == record_place(BASE, "t0")
    assert not any(row.flaws for row in listing.rows)
    assert [(tab.label, tab.current) for tab in listing.tabs] == [("Threads", True), ("Feedback", False)]


@pytest.mark.slow
def test_pages_follow_on_each_other_and_their_cursors_are_bound_to_list_filters_and_person(store):
    store.put_all("THREADS", [thread(f"t{n:03}", at=ago(minutes=n), title=f"{n}") for n in range(120)])
    first = org()
    second = org(cursor=first.next)
    third = org(cursor=second.next)
    assert [int(name) for page in (first, second, third) for name in names(page)] == list(range(120))
    assert not third.next
    assert names(org(cursor=second.back)) == names(first)
    stranger = staff(Role.AUDITOR, ORG)
    for foreign in (org(stranger, cursor=first.next), org(cursor="junk"), org(cursor=first.next, since="2020-01-01")):
        assert names(foreign)[0] == "0"
        assert "first page" in foreign.notices[0]


def test_days_are_those_of_the_reader_and_compared_as_instants(store):
    day = datetime(2026, 3, 10, tzinfo=UTC)
    for title, updated in {
        "before": "2026-03-09T23:59:59",
        "in the morning": "2026-03-10T00:00:01",
        "with an offset": "2026-03-11T05:00:00+07:00",
        "as an epoch": str(int((day + timedelta(hours=9)).timestamp())),
        "after": "2026-03-11T00:00:00Z",
    }.items():
        store.put("THREADS", thread(title.replace(" ", "-"), title=title, updated_at=updated))
    listing = org(since="2026-03-10", until="2026-03-10")
    assert names(listing) == ["with an offset", "as an epoch", "in the morning"]
    assert listing.filters is not None
    assert "ignored" in org(since="junk").filters.problems[0]


def test_without_the_organisations_index_the_list_says_so_in_one_line(store):
    store.put("THREADS", thread())
    refused, described = without(store, ORG_INDEX)
    with refused, described:
        for parts in (("org", ORG), ("triage", ORG)):
            listing = adapter.listing(parts, ADMIN, ListParameters())
            assert not listing.rows
            [notice] = listing.notices
            assert ORG_INDEX in notice
            assert "by user" in notice


def test_a_failing_organisation_index_is_the_stores_error(store):
    with faults.refuse("Query", code="ThrottlingException", times=faults.ALWAYS), pytest.raises(Throttled):
        org()


def test_one_bad_item_is_one_flagged_row(store):
    store.put("THREADS", thread("good", title="good", at=ago(hours=1)))
    bad = thread(
        "bad",
        at=ago(hours=3),
        title=["a", "list"],
        is_temporary="yes",
        user_message_count={"n": 1},
        created_at="once",
        origin=None,
        user_id=b"\x00",
        SKTimestampThread="THREAD##bad",
        ExpiryTime="never",
        surprise={"deep": [1]},
        updated_at="2020",
    )
    store.put("THREADS", bad)
    listing = org()
    assert names(listing) == ["good", "Untitled thread"]
    flaws = " | ".join(listing.rows[1].flaws)
    for words in (
        "title: list instead of text",
        "created_at: no time",
        "user_id: binary instead of text",
        "SKTimestampThread: it names no time",
    ):
        assert words in flaws
    assert listing.rows[1].place == record_place(BASE, "bad")


def test_rows_are_redacted_whoever_looks(store):
    number = "+447700900123"
    store.put(
        "THREADS",
        thread("t", base=f"{ORG}#jo.bloggs@example.com", title=f"Call {number}", user_id="jo.bloggs@example.com"),
    )
    assert "7700900123" not in repr(org().rows[0].cells) + org().rows[0].name
    assert "jo.bloggs" not in repr(org().rows[0].cells) + org().rows[0].name + org().rows[0].detail


# --- What is out of scope, expired, or another role's ----------------------------------------------------------------


EXPIRED = [1_600_000_000, 1_600_000_000.5, "1600000000"]


@pytest.mark.parametrize("expiry", EXPIRED)
def test_what_has_expired_is_in_no_list(store, expiry):
    store.put("THREADS", thread("a", ExpiryTime=expiry))
    store.put("THREADS", thread("b", ExpiryTime=expiry, PK=BASE))
    assert not org().rows
    assert not user().rows


def test_lists_are_within_scope_and_role(store):
    store.put("THREADS", thread())
    # Its attribute says another organisation than its key.
    store.put("THREADS", thread("stray", base="elsewhere#u", org_id=ORG))
    store.put("THREADS", thread("claimed", PK=BASE, org_id="elsewhere"))
    assert [row.place.parts[1] for row in (*org().rows, *user().rows)] == ["thread789", "thread789"]
    for parts in (("org", ORG), ("triage", ORG), ("user", ORG, TENANT, USER)):
        with store.calls() as calls:
            with pytest.raises(NotFound):
                adapter.listing(parts, staff(Role.ADMIN, "elsewhere"), ListParameters())
            with pytest.raises(Forbidden):
                adapter.listing(parts, staff(Role.ONBOARDING), ListParameters())
        assert not calls
    for junk in ((), ("org",), ("org", ""), ("x", ORG), ("org", "o" * 3000), ("org", ORG, "more")):
        with pytest.raises(NotFound):
            adapter.listing(junk, staff(Role.ADMIN), ListParameters())


# --- A user's --------------------------------------------------------------------------------------------------------


def test_a_users_threads_are_found_under_both_shapes_of_keys(store):
    store.put("THREADS", thread("short", PK=BASE, at=ago(hours=2), title="under the user's key"))
    store.put("THREADS", thread("whole", at=ago(hours=1), title="under its own"))
    store.put("THREADS", thread("plain", base=f"{ORG}#{USER}", at=ago(hours=3), title="of no tenant"))
    store.put("THREADS", thread("colleague", base=f"{ORG}#{TENANT}#other", title="another user's"))
    with store.calls() as calls:
        listing = user()
    assert sorted(call.index for call in of_threads(calls)) == [TIME_INDEX, ORG_INDEX]
    assert names(listing) == ["under its own", "under the user's key"]
    assert [row.place for row in listing.rows] == [record_place(BASE, "whole"), record_place(BASE, "short")]
    # Without a tenant: those of any.
    assert names(user(tenant="")) == ["under its own", "under the user's key", "of no tenant"]


def test_a_users_threads_are_in_order_of_instants_whatever_the_spelling(store):
    stamps = {
        "padded": lambda at: f"{int(at.timestamp() * 1000):019d}",
        "seconds": lambda at: f"{int(at.timestamp()):019d}",
        "plain": lambda at: f"{int(at.timestamp() * 1000)}",
        "decimal": lambda at: f"{at.timestamp():.3f}",
    }
    for number in range(40):
        at = ago(hours=number)
        stamp = list(stamps.values())[number % 4](at)
        store.put(
            "THREADS",
            thread(f"t{number}", PK=BASE, title=f"{number}", at=at, SKTimestampThread=f"THREAD#{stamp}#t{number}"),
        )
    assert names(user()) == [f"{number}" for number in range(40)]
    since, until = ago(hours=30), ago(hours=10)
    with store.calls() as calls:
        listing = user(since=f"{since:%Y-%m-%d}", until=f"{until:%Y-%m-%d}")
    assert {call.index for call in of_threads(calls)} == {TIME_INDEX, ORG_INDEX}
    within = [
        f"{number}"
        for number in range(40)
        if f"{since:%Y-%m-%d}" <= f"{ago(hours=number):%Y-%m-%d}" <= f"{until:%Y-%m-%d}"
    ]
    assert names(listing) == within


def test_a_users_pages_follow_on_each_other_and_nothing_is_in_two(store):
    short = [thread(f"s{n:03}", PK=BASE, title=f"s{n:03}", at=ago(minutes=2 * n)) for n in range(90)]
    whole = [thread(f"w{n:03}", title=f"w{n:03}", at=ago(minutes=2 * n + 1)) for n in range(70)]
    store.put_all("THREADS", short + whole)
    found, cursor = [], ""
    for _ in range(9):
        listing = user(cursor=cursor)
        found += names(listing)
        cursor = listing.next
        if not cursor:
            break
    assert sorted(found) == sorted(item["title"] for item in short + whole)
    assert len(listing.rows) < 100


def test_a_cursor_of_another_shape_gives_a_users_first_page(store):
    store.put("THREADS", thread("short", PK=BASE, title="short"))
    stale = seal_cursor([[["THREAD#", 2, "", None]], ""], "threads of a user", BASE, TENANT, "", "", ADMIN.username)
    for cursor in (stale, "junk"):
        listing = user(cursor=cursor)
        assert names(listing) == ["short"]
        assert "first page" in listing.notices[0]


@pytest.mark.slow
def test_how_far_it_looked_for_threads_under_keys_of_their_own_is_said(store):
    store.put_all("THREADS", [thread(f"o{n}", base=f"{ORG}#someone", at=ago(minutes=n)) for n in range(900)])
    store.put("THREADS", thread("mine", at=ago(days=30), title="mine"))
    with store.calls() as calls:
        listing = user()
    assert not listing.rows
    assert sum(call.index == ORG_INDEX for call in calls) == 4
    assert "newest 800" in listing.notices[0]
    assert names(user(cursor=listing.next)) == ["mine"]


@pytest.mark.parametrize(("index", "left"), [(ORG_INDEX, "short"), (TIME_INDEX, "whole, short")])
def test_a_missing_index_leaves_what_the_other_one_gives(store, index, left):
    store.put("THREADS", thread("short", PK=BASE, title="short", at=ago(hours=2)))
    store.put("THREADS", thread("whole", title="whole", at=ago(hours=1)))
    refused, described = without(store, index)
    with refused, described:
        listing = user()
    assert ", ".join(names(listing)) == left
    [notice] = listing.notices
    assert index in notice


@pytest.mark.parametrize(("index", "left"), [(ORG_INDEX, "short"), (TIME_INDEX, "whole")])
def test_a_failing_index_leaves_what_the_other_one_gives(store, index, left):
    store.put("THREADS", thread("short", PK=BASE, title="short"))
    store.put("THREADS", thread("whole", title="whole"))
    with faults.fail_before("Query", where=lambda r: r.get("IndexName") == index, times=faults.ALWAYS):
        listing = user()
    assert names(listing) == [left]
    assert listing.notices
    with faults.fail_before("Query", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        user()


def test_a_page_that_could_not_be_read_is_not_left_out_by_the_next(store):
    store.put_all("THREADS", [thread(f"s{n:03}", PK=BASE, title=f"s{n:03}", at=ago(minutes=n)) for n in range(120)])
    store.put_all("THREADS", [thread(f"w{n:03}", title=f"w{n:03}", at=ago(days=1, minutes=n)) for n in range(120)])
    first = user()
    with faults.fail_before("Query", where=lambda r: r.get("IndexName") == TIME_INDEX, times=faults.ALWAYS):
        second = user(cursor=first.next)
    third = user(cursor=second.next)
    told = [name for page in (first, second, third) for name in names(page) if name.startswith("s")]
    assert len(set(told)) == len(told) == 100


# --- Where they begin ------------------------------------------------------------------------------------------------


def test_the_start_leads_to_the_organisations_in_scope_with_one_read(store):
    companies.register(ORG, "Cucumber", "demo", clock.to_iso(clock.now()))
    companies.register("elsewhere", "Zebra", "demo", clock.to_iso(clock.now()))
    with store.calls() as calls:
        start = adapter.start(staff(Role.AUDITOR, ORG, "tenant-x"))
    assert [(link.label, link.place) for link in start.links] == [
        ("Cucumber", list_place("org", ORG)),
        ("tenant-x", list_place("org", "tenant-x")),
    ]
    assert len(calls) == 1
    assert [link.label for link in adapter.start(staff(Role.ADMIN)).links] == ["Cucumber", "Zebra"]
    with pytest.raises(Forbidden):
        adapter.start(staff(Role.ONBOARDING))


def test_a_list_has_the_name_of_its_organisation_where_the_registry_knows_it(store):
    assert org().title == f"Threads of {ORG}"
    companies.register(ORG, "Cucumber", "demo", clock.to_iso(clock.now()))
    assert org().title == "Threads of Cucumber"
    assert adapter.listing(("triage", ORG), ADMIN, ListParameters()).title == "Feedback in Cucumber"
