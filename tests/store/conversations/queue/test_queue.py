"""What counts as waiting, as the indexer finds it in the platform's items and the queue lists it."""

from datetime import timedelta

import pytest

from console import clock
from console.permissions import Role, Scope, Staff
from conversations.queue.pages import COLLEAGUES, MINE, WAITING, QueueFilters
from conversations.queue.reading import read_tab
from conversations.records import HandOffState
from tests.items import conversation
from tests.queue import swept

COMPANY, OTHER = "ci-aaa-001", "ci-bbb-002"


def waiting(minutes: float, **overrides):
    at = clock.to_iso(clock.now() - timedelta(minutes=minutes))
    values = {"hand_off_to_human": True, "hand_off_to_human_reason": "User requested agent", "updated_at": at}
    return conversation(**(values | overrides))


def held(agent: str, minutes: float = 5, **overrides):
    at = clock.to_iso(clock.now() - timedelta(minutes=minutes))
    values = {
        "hand_off_agent": agent,
        "hand_off_requested_at": at,
        "hand_off_taken_at": at,
        "hand_off_wanted": True,
        "gsi_hand_off_queue": f"held#{COMPANY}",
    }
    return waiting(minutes, **(values | overrides))


def agent(username: str, *companies: str) -> Staff:
    """A person with these companies in scope."""
    return Staff(username, username, Role.AGENT, Scope(companies=frozenset(companies)))


def short(entries) -> list[str]:
    return [entry.summary.short_id for entry in entries]


@pytest.fixture
def queue(store):
    """A store whose queue's index the indexer keeps."""
    swept(store)
    return store


def listed(tab: str = WAITING):
    return read_tab(tab, agent("amira.haddad", COMPANY), QueueFilters()).entries


def test_mine_and_with_colleagues_are_told_apart(queue):
    queue.put_all(
        "CONVERSATIONS",
        [
            held("amira.haddad", request_id="mine"),
            held("tom", request_id="toms"),
            held("amira.haddad", request_id="overridden", hand_off_to_human=False),
            waiting(3, request_id="free"),
        ],
    )
    assert sorted(short(listed(MINE))) == ["mine", "overridden"]
    assert short(listed(COLLEAGUES)) == ["toms"]
    assert short(listed()) == ["free"]
    states = {entry.summary.short_id: entry.hand_off.state for entry in listed(MINE)}
    assert states["overridden"] is HandOffState.OVERRIDDEN


@pytest.mark.parametrize("flag", ["true", "True", "TRUE", " true ", 1, "1"])
def test_a_drifted_flag_does_not_hide_a_waiting_customer(queue, flag):
    queue.put("CONVERSATIONS", waiting(3, request_id="drifted", hand_off_to_human=flag))
    assert short(listed()) == ["drifted"]


@pytest.mark.parametrize("flag", [None, False, "false", "False", "no", "", 0, 2, [], ...])
def test_absent_null_and_false_are_not_waiting(queue, flag):
    queue.put("CONVERSATIONS", waiting(3, hand_off_to_human=flag))
    assert listed() == ()


def test_expired_conversations_are_gone(queue):
    past = clock.to_epoch(clock.now()) - 10
    queue.put_all("CONVERSATIONS", [waiting(3, ttl=past), waiting(3, ttl=past + 900, request_id="alive")])
    assert short(listed()) == ["alive"]


def test_an_own_request_time_wins_over_the_platforms_last_update(queue):
    asked = clock.to_iso(clock.now() - timedelta(hours=3))
    queue.put_all(
        "CONVERSATIONS",
        [waiting(60, request_id="hour"), waiting(1, request_id="three", hand_off_requested_at=asked)],
    )
    assert short(listed()) == ["three", "hour"]


def test_no_scope_reads_nothing_of_conversations(queue):
    queue.put("CONVERSATIONS", waiting(3))
    with queue.calls() as seen:
        assert read_tab(WAITING, agent("amira.haddad"), QueueFilters()).entries == ()
    assert [call for call in seen if call.index] == []
