"""The queue's bounded read: finds every hand-off within its budget, longest wait first, and says how far it looked."""

from datetime import timedelta

import pytest

from console import clock
from conversations.queue import pages
from conversations.queue import reading as queue
from conversations.records import HandOffState
from tests.items import conversation

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


def short(entries) -> list[str]:
    return [entry.summary.short_id for entry in entries]


def test_longest_wait_first_across_companies(store):
    store.put_all(
        "CONVERSATIONS",
        [
            waiting(5, request_id="five"),
            waiting(500, request_id="fivehundred", company_id=OTHER),
            waiting(50, request_id="fifty"),
            conversation(request_id="with-the-ai"),
            waiting(1, request_id="out-of-scope", company_id="ci-ccc-003"),
        ],
    )
    found = queue.read_queue([COMPANY, OTHER])
    assert short(found.of_tab("waiting")) == ["fivehundred", "fifty", "five"]
    assert found.looked_at == 4
    assert found.incomplete == ()


def test_mine_and_with_colleagues_are_told_apart(store):
    store.put_all(
        "CONVERSATIONS",
        [
            held("amira", request_id="mine"),
            held("tom", request_id="toms"),
            held("amira", request_id="overridden", hand_off_to_human=False),
            waiting(3, request_id="free"),
        ],
    )
    found = queue.read_queue([COMPANY])
    assert sorted(short(found.of_tab("mine", "amira"))) == ["mine", "overridden"]
    assert short(found.of_tab("colleagues", "amira")) == ["toms"]
    assert short(found.of_tab("waiting")) == ["free"]
    states = {entry.summary.short_id: entry.hand_off.state for entry in found.entries}
    assert states["overridden"] is HandOffState.OVERRIDDEN


@pytest.mark.parametrize("flag", ["true", "True", "TRUE", " true ", 1, "1"])
def test_a_drifted_flag_does_not_hide_a_waiting_customer(store, flag):
    store.put("CONVERSATIONS", waiting(3, request_id="drifted", hand_off_to_human=flag))
    assert short(queue.read_queue([COMPANY]).of_tab("waiting")) == ["drifted"]


@pytest.mark.parametrize("flag", [None, False, "false", "False", "no", "", 0, 2, [], ...])
def test_absent_null_and_false_are_not_waiting(store, flag):
    store.put("CONVERSATIONS", waiting(3, hand_off_to_human=flag))
    assert queue.read_queue([COMPANY]).entries == ()


def test_expired_conversations_are_gone(store):
    past = clock.to_epoch(clock.now()) - 10
    store.put_all("CONVERSATIONS", [waiting(3, ttl=past), waiting(3, ttl=past + 900, request_id="alive")])
    assert short(queue.read_queue([COMPANY]).of_tab("waiting")) == ["alive"]


def test_an_own_request_time_wins_over_the_platforms_last_update(store):
    asked = clock.to_iso(clock.now() - timedelta(hours=3))
    store.put_all(
        "CONVERSATIONS",
        [waiting(60, request_id="hour"), waiting(1, request_id="three", hand_off_requested_at=asked)],
    )
    entries = queue.read_queue([COMPANY]).of_tab("waiting")
    assert short(entries) == ["three", "hour"]
    assert [entry.hand_off.wait_at_least for entry in entries] == [False, True]


def test_the_budget_bounds_the_read_and_says_what_was_left(store, monkeypatch):
    monkeypatch.setattr(pages, "COMPANIES_AT_ONCE", 1)
    # With four local indexes that project everything, DynamoDB allows such an item a fifth of its 400 KB.
    heavy = [{"role": "user", "content": "x" * 75_000}]
    store.put_all("CONVERSATIONS", [waiting(number, request_id=f"r{number}", messages=heavy) for number in range(40)])
    with store.calls() as seen:
        found = queue.read_queue([COMPANY, OTHER], reads_per_company=2)
    assert [call.operation for call in seen] == ["Query"] * 2
    assert found.incomplete == (COMPANY,)
    assert found.left_out == (OTHER,)
    assert 0 < found.looked_at < 40
    assert len(found.entries) == found.looked_at


def test_one_query_per_company_and_no_scan(store):
    store.put_all("CONVERSATIONS", [waiting(3), waiting(4, company_id=OTHER)])
    with store.calls() as seen:
        queue.read_queue([COMPANY, OTHER, COMPANY])
    assert sorted(call.operation for call in seen) == ["Query", "Query"]
    assert {call.index for call in seen} == {"company-id-project-id-index"}


def test_no_company_reads_nothing(store):
    with store.calls() as seen:
        assert queue.read_queue([]).entries == ()
    assert seen == []
