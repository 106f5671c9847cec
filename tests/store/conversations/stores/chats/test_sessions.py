"""A user's sessions: alive ones joined with those that only the chats tell of, newest first, within few reads."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.errors import Forbidden, NotFound, StoreUnavailable, TableMissing
from console.permissions import Role
from console.store import presence
from console.store.paging import PAGE_SIZE
from conversations.stores.chats import queries
from conversations.stores.chats.models import Session
from conversations.stores.chats.queries import Part
from conversations.stores.chats.sessions import SessionsLooked, digest, merged
from conversations.stores.reading import Attempted
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.support.conversations.stores.chats.kit import (
    ADMIN,
    AGENT,
    AUDITOR,
    OTHER,
    USER,
    ago,
    event,
    fact,
    listing,
    session,
    session_id,
    sessions,
    states,
)
from tests.support.conversations.stores.kit import staff
from tests.tables import create, gsis


def test_running_finished_and_expired_sessions_are_one_list_newest_first(store):
    running, finished, expired, older = ago(minutes=9), ago(minutes=50), ago(hours=5), ago(days=30)
    store.put_all("SESSIONS", [session(running), session(finished, TimestampFinished=ago(minutes=40))])
    store.put_all("CHATS", [event(begun, begun + 7) for begun in (older, expired, running, finished)])
    page = sessions()
    assert states(page) == [
        (str(running), "running"),
        (str(finished), "finished"),
        (str(expired), "expired"),
        (str(older), "expired"),
    ]
    assert [each.place.parts[:2] for each in page.rows] == [("session", USER)] * 4
    assert [each.cells[1].at.timestamp() for each in page.rows] == [
        begun + 7 for begun in (running, finished, expired, older)
    ]
    row = page.rows[0]
    assert (row.cells[2].text, row.cells[3].text) == ("40", "model: gpt-4, language: en")
    assert (page.next, page.rows[2].cells[2].text) == ("", "")
    assert page.notices == ("Looked at 4 messages, back to the first.",)


def test_a_page_is_three_queries_at_once_and_the_next_one_two(store):
    presence.table_keys("SESSIONS")  # which a worker remembers
    store.put("SESSIONS", session())
    store.put_all("CHATS", [event(ago(days=number), ago(days=number)) for number in range(1, PAGE_SIZE + 3)])
    with store.calls() as seen:
        page = sessions()
    assert sorted((call.operation, call.tables[0], call.index) for call in seen) == [
        ("Query", "CHATS", "UserConverationGlobalIndex"),
        ("Query", "CHATS", "UsersLastMessageGlobalIndex"),
        ("Query", "SESSIONS", ""),
    ]
    assert all(0 < call.request["Limit"] <= 500 for call in seen)
    with store.calls() as seen:
        sessions(cursor=page.next)
    assert sorted((call.tables[0], call.index) for call in seen) == [
        ("CHATS", "UserConverationGlobalIndex"),
        ("SESSIONS", ""),
    ]


def test_times_of_every_spelling_are_in_the_order_of_instants(store):
    base = ago(hours=1)
    spellings = [
        f"{base + 40}",
        f"000{base + 30}",
        f"{base + 20}.750",
        clock.to_iso(datetime.fromtimestamp(base + 10, UTC)),
        f"{base}",
    ]
    made = [session(each, TimestampCreated=each) for each in spellings]
    # As a number, as none at all, and as one that cannot be read: then the id tells.
    made[1]["TimestampCreated"] = Decimal(base + 30)
    del made[2]["TimestampCreated"]
    made[4]["TimestampCreated"] = "soon"
    store.put_all("SESSIONS", reversed(made))
    page = sessions()
    assert [row.place.parts[2] for row in page.rows] == [session_id(each) for each in spellings]
    assert [bool(row.flaws) for row in page.rows] == [True, False, True, True, True]


TIMES = st.one_of(
    st.integers(1_600_000_000, 1_600_000_050),
    st.decimals(1_600_000_000, 1_600_000_050, places=3),
    st.integers(1_600_000_000, 1_600_000_050).map(str),
    st.integers(1_600_000_000, 1_600_000_050).map(lambda each: f"00{each}"),
    st.decimals(1_600_000_000, 1_600_000_050, places=6).map(str),
    st.integers(1_600_000_000, 1_600_000_050).map(lambda each: clock.to_iso(datetime.fromtimestamp(each, UTC))),
    st.sampled_from([None, "", "soon", True, Decimal(-1)]),
)


@given(st.lists(st.tuples(TIMES, st.booleans()), max_size=12))
def test_the_joined_order_is_by_instant_whatever_the_spelling(drawn):
    alive = [
        Session.from_raw_data(to_dynamodb({"UserId": USER, "SessionId": f"{USER}#{number}", "TimestampCreated": at}))
        for number, (at, is_alive) in enumerate(drawn)
        if is_alive
    ]
    spans = {
        f"{USER}#{number}": (clock.parse_instant(at),) * 2
        for number, (at, is_alive) in enumerate(drawn)
        if not is_alive
    }
    joined = merged(Attempted(Part(tuple(alive))), SessionsLooked(spans))
    instants = [each.begun for each in joined]
    known = [each for each in instants if each]
    assert known == sorted(known, reverse=True)
    assert instants == [*known, *[None] * (len(instants) - len(known))]
    assert {each.session_id for each in joined} == {f"{USER}#{number}" for number in range(len(drawn))}


@pytest.mark.parametrize("ttl", [1_700_000_000, Decimal("1700000000.5"), "1700000000", " 1700000000.25 "])
def test_an_expired_session_is_nowhere_alive_though_it_is_not_removed(store, ttl):
    begun = ago(hours=4)
    store.put("SESSIONS", session(begun, SessionTTL=ttl))
    assert sessions().rows == ()
    store.put("CHATS", event(begun, begun + 1))
    page = sessions()
    assert states(page) == [(str(begun), "expired")]
    # Nothing of the expired item is shown.
    assert [cell.text for cell in page.rows[0].cells[2:]] == ["", ""]


@pytest.mark.parametrize(
    ("drift", "flaw"),
    [
        ({"TimestampCreated": None}, "TimestampCreated: NULL"),
        ({"TimestampCreated": "1700000000"}, "TimestampCreated: text instead of number"),
        ({"SessionTTL": ...}, "SessionTTL: missing"),
        ({"SessionTTL": None}, "SessionTTL: NULL"),
        ({"MessagesQuota": "40"}, "MessagesQuota: text instead of number"),
        ({"MessagesQuota": ["many"]}, "MessagesQuota: list instead of number"),
        ({"SessionConfig": ""}, "SessionConfig: empty text"),
        ({"SessionConfig": '{"model": "gp'}, "SessionConfig: not valid JSON"),
        ({"SessionConfig": "[1]"}, "SessionConfig: not an object"),
        ({"SessionConfig": {"model": "gpt-4"}}, "SessionConfig: map instead of text"),
        ({"TimestampFinished": "x"}, "TimestampFinished: text instead of number"),
    ],
)
def test_one_odd_session_is_one_flagged_row(store, drift, flaw):
    sound = ago(minutes=1)
    store.put_all("SESSIONS", [session(sound), session(ago(hours=2), **drift)])
    page = sessions()
    assert [row.flaws for row in page.rows[:1]] == [()]
    assert flaw in page.rows[1].flaws or flaw.partition(":")[0] in " ".join(page.rows[1].flaws)


@pytest.mark.parametrize("empty", [..., None, 0, "", "0"])
def test_nothing_for_a_time_of_finishing_is_a_running_session(store, empty):
    store.put("SESSIONS", session(TimestampFinished=empty))
    assert [row.cells[0].text for row in sessions().rows] == ["running"]


def test_configurations_are_summed_up_without_credentials_and_numbers(store):
    config = '{"api_key": "sk-canary-Zx81hQ0vLeak77", "greet": "+447700900123", "tools": [1], "model": "gpt-4"}'
    store.put("SESSIONS", session(SessionConfig=config))
    shown = sessions().rows[0].cells[3].text
    assert "gpt-4" in shown
    assert "Zx81" not in shown
    assert "7700900123" not in shown


# --- Pages ----------------------------------------------------------------------------------------------------------


def all_pages(**which):
    found, cursor, pages = [], "", 0
    while pages < 30:
        page = sessions(cursor=cursor, **which)
        found += page.rows
        cursor, pages = page.next, pages + 1
        if not cursor:
            return found, pages
    raise AssertionError("the pages have no end")


def test_pages_hold_every_session_once_in_order_however_their_chats_lie(store, monkeypatch):
    monkeypatch.setattr(queries, "EVENTS_READ", 7)
    begun = [ago(days=number) for number in range(1, 13)]
    store.put_all("CHATS", [event(each, each + step) for each in begun for step in range(5)])
    # Running ones have no chat; of the two latest, which run too, one has its chats on two pages.
    quiet = [ago(hours=number) for number in (1, 2, 3)]
    store.put_all("SESSIONS", [session(each) for each in (*quiet, *begun[:2])])
    rows, pages = all_pages()
    expected = sorted([*begun, *quiet], reverse=True)
    assert [row.place.parts[2] for row in rows] == [session_id(each) for each in expected]
    assert pages > 5
    assert [row.cells[0].text for row in rows].count("running") == 5


def test_a_page_has_fifty_ended_sessions_and_says_how_far_it_looked(store):
    store.put_all("CHATS", [event(ago(days=number), ago(days=number)) for number in range(1, 61)])
    first = sessions()
    assert len(first.rows) == 50
    [notice] = first.notices
    assert notice.startswith("Looked at the latest 50 messages, back to ")
    second = sessions(cursor=first.next)
    assert (len(second.rows), second.next) == (10, "")
    assert not second.facts


def test_of_more_sessions_than_are_read_at_once_nobody_claims_that_they_expired(store, monkeypatch):
    monkeypatch.setattr(queries, "MOST_SESSIONS", 2)
    begun = [ago(minutes=number) for number in (1, 2, 3)]
    store.put_all("SESSIONS", [session(each) for each in begun])
    store.put_all("CHATS", [event(each, each) for each in begun])
    page = sessions()
    assert [row.cells[0].text for row in page.rows] == ["running", "running", "not known"]
    assert "more sessions in Sessions than the console reads at once: 2" in page.notices[0]


def test_a_cursor_is_of_one_person_and_user(store):
    store.put_all("CHATS", [event(ago(days=number), ago(days=number)) for number in range(1, 61)])
    store.put_all(
        "CHATS",
        [
            event(0, ago(days=number), UserId=OTHER, SessionId=session_id(ago(days=number), OTHER))
            for number in range(1, 61)
        ],
    )
    cursor = sessions().next
    for page in (sessions(AUDITOR, cursor), sessions(cursor=cursor, user=OTHER), sessions(cursor="junk")):
        assert len(page.rows) == 50
        assert "This is the first page" in page.notices[0]


def test_an_id_too_long_to_be_opened_is_a_row_that_leads_nowhere(store):
    long = "x" * 1500
    store.put("CHATS", event(0, ago(days=2), SessionId=long))
    [row] = sessions().rows
    assert row.place is None
    assert "too long" in row.flaws[0]


# --- Facts ----------------------------------------------------------------------------------------------------------


def test_whether_and_when_somebody_ever_chatted_is_told(store):
    assert fact(sessions(), "Ever chatted").value == "no"
    latest = ago(days=2, hours=1)
    store.put_all("CHATS", [event(1, ago(days=3)), event(1, Decimal(f"{latest}.5")), event(1, ago(days=9))])
    page = sessions()
    assert fact(page, "Ever chatted").value == "yes"
    last = fact(page, "Last message")
    assert (last.at.timestamp(), last.value[:3], last.note) == (latest + 0.5, "2 d", "")
    assert fact(page, "User").value == f"{USER[:8]}…"


def test_without_the_chats_over_time_the_latest_of_what_was_compared_is_told_as_such(store, monkeypatch):
    monkeypatch.setattr(queries, "COMPARED", 2)
    store.put_all("CHATS", [event(1, ago(days=number)) for number in range(1, 5)])
    with faults.fail_before(
        "Query", where=lambda sent: sent.get("IndexName", "").startswith("UserConv"), times=faults.ALWAYS
    ):
        page = sessions()
    assert fact(page, "Last message").note == "of 2 messages that were compared; there are more"
    assert any("Earlier sessions could not be read" in each for each in page.notices)


# --- What fails -----------------------------------------------------------------------------------------------------


def test_without_sessions_the_chats_are_listed_and_nobody_claims_that_they_ended(store):
    begun = ago(minutes=30)
    store.put("SESSIONS", session(begun))
    store.put("CHATS", event(begun, begun + 1))
    with faults.fail_before("Query", table_key="SESSIONS", times=faults.ALWAYS):
        page = sessions()
    assert states(page) == [(str(begun), "not known")]
    assert page.notices[0].startswith("The running sessions could not be read: the database did not answer.")


def test_without_chats_running_sessions_are_listed(store):
    store.put("SESSIONS", session())
    with faults.refuse("Query", table_key="CHATS", code="ProvisionedThroughputExceededException", times=faults.ALWAYS):
        page = sessions()
    assert [row.cells[0].text for row in page.rows] == ["running"]
    assert "the database is busy" in page.notices[0]


def test_absent_tables_and_indexes_are_said_by_name(bare_store):
    bare_store.create_tables("SESSIONS")
    bare_store.put("SESSIONS", session())
    page = sessions()
    assert len(page.rows) == 1
    assert page.notices == ("Earlier sessions could not be read: the table Chats is missing in this environment.",)
    presence.forget()
    create(bare_store, "CHATS", GlobalSecondaryIndexes=gsis("CHATS", "UserConverationGlobalIndex"))
    bare_store.put("CHATS", event(5, ago(days=2, hours=1)))
    page = sessions()
    assert page.notices == (
        "Earlier sessions could not be read: the index UserConverationGlobalIndex is missing in this environment.",
    )
    assert fact(page, "Last message").value.startswith("2 d ")


def test_where_nothing_could_be_read_the_error_is_told(store, bare_store):
    with pytest.raises(TableMissing):
        sessions()


def test_a_store_that_does_not_answer_is_an_error(store):
    with faults.fail_before("Query", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        sessions()


# --- Who ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sessions", "chats", "images", "prompt", "users"])
def test_lists_are_for_those_whose_scope_is_everything(store, kind):
    store.put("SESSIONS", session())
    with store.calls() as seen:
        for who in (staff(Role.ADMIN, "ci-aaa-001"), staff(Role.AGENT, "ci-aaa-001"), staff(Role.AUDITOR, USER)):
            with pytest.raises(NotFound):
                listing(kind, USER, who=who)
        with pytest.raises(Forbidden):
            listing(kind, USER, who=staff(Role.ONBOARDING))
    assert not seen
    for who in (ADMIN, AGENT, AUDITOR):
        listing(kind, USER, who=who)


@pytest.mark.parametrize("parts", [(), ("other", USER), ("sessions",), ("sessions", ""), ("sessions", "x" * 2000)])
def test_parts_that_name_no_list_are_not_found(store, parts):
    with pytest.raises(NotFound):
        listing(*parts)


def test_a_session_is_told_apart_in_a_cursor_by_a_short_digest():
    assert len(digest(session_id(5))) == 10
    assert digest(session_id(5)) != digest(session_id(6))
