"""The list of an account's sessions, and the references with which a form ends one."""

import pytest

from console import clock, refs
from console.errors import NotFound, StoreUnavailable, TableMissing
from console.permissions import Staff
from console.staff import accounts, services, session_list, sessions
from console.staff.models import StaffSession
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD


def begin(account, browser: str = "Firefox on Linux", **options) -> str:
    """The key of a new session."""
    entry = build(TrailEntry(staff_trail(account.username), Action.SIGN_IN, Actor.of(Staff.of(account))), clock.now())
    token = sessions.start(account, entry, user_agent=browser, **options)
    return sessions.read_token(token).session_id


def test_sessions_say_browser_way_and_times_and_which_one_asks(store, agent, later):
    first = begin(agent, "Firefox on Linux")
    later(minutes=10)
    begin(agent, "Chrome on Android", method=sessions.PASSWORD_AND_CODE)
    later(minutes=10)
    begin(agent, "")
    rows = session_list.rows(agent, first)
    assert [(row.browser, row.method, row.is_current) for row in rows] == [
        ("Firefox on Linux", "password", True),
        ("Unknown browser", "password", False),
        ("Chrome on Android", "password and code", False),
    ]
    stored = store.get("STAFF_SESSIONS", session_id=first)
    assert clock.to_iso(rows[0].started_at) == stored["created_at"]
    assert clock.to_iso(rows[0].last_seen_at) == stored["last_seen_at"]


def test_sessions_that_hold_no_more_and_those_of_others_are_left_out(store, agent, later):
    colleague = services.create("tom.becker", PASSWORD, role=Staff.of(agent).role, actor=ADMIN)
    begin(colleague)
    begin(agent)
    later(minutes=61)
    kept = begin(agent)
    assert [row.reference for row in session_list.rows(agent, "")] == [refs.seal("staff-session", "amira.haddad", kept)]
    services.end_sessions("amira.haddad", actor=ADMIN)
    assert session_list.rows(accounts.get("amira.haddad"), "") == ()


def test_list_is_one_bounded_query(store, agent):
    begin(agent)
    session_list.rows(agent)
    with store.calls() as calls:
        session_list.rows(agent)
    [query] = calls
    assert (query.operation, query.index, query.request["Limit"]) == ("Query", "username-index", sessions.SESSIONS_READ)


def test_list_that_may_be_longer_says_so(store, agent, monkeypatch):
    monkeypatch.setattr(sessions, "SESSIONS_READ", 2)
    begin(agent)
    assert session_list.load(agent).notice == ""
    begin(agent)
    assert session_list.load(agent).notice == "There may be more sessions than these."
    assert session_list.load(agent).others == 2


def test_missing_index_is_a_notice_and_not_an_empty_list(store, agent, monkeypatch):
    monkeypatch.setattr(sessions, "index_ready", lambda *_: False)
    with pytest.raises(TableMissing):
        session_list.rows(agent)
    listed = session_list.load(agent)
    assert listed.rows == ()
    assert "manage.py tables create" in listed.notice


def test_unanswered_query_is_a_notice_and_not_an_empty_list(store, agent):
    with faults.fail_before("Query", times=faults.ALWAYS):
        assert "could not be read" in session_list.load(agent).notice
        with pytest.raises(StoreUnavailable):
            session_list.rows(agent)


def test_session_of_an_earlier_version_without_label_or_way_is_listed(store, agent):
    key = begin(agent)
    StaffSession(key).update(actions=[StaffSession.user_agent.remove(), StaffSession.method.remove()])
    [row] = session_list.rows(agent)
    assert (row.browser, row.method) == ("Unknown browser", "password")


def test_reference_names_a_session_of_that_account_only(store, agent):
    reference = refs.seal("staff-session", "amira.haddad", "some-key")
    assert session_list.session_id_of("amira.haddad", reference) == "some-key"
    junk = ["", "all", "ä", reference[:-2], refs.seal("session", "amira.haddad", "some-key"), "a" * 9000]
    for each in [*junk, refs.seal("staff-session", "tom.becker", "some-key"), refs.seal("staff-session", "x")]:
        with pytest.raises(NotFound):
            session_list.session_id_of("amira.haddad", each)


def test_reference_hides_the_sessions_key(store, agent):
    key = begin(agent)
    [row] = session_list.rows(agent)
    assert key not in row.reference
