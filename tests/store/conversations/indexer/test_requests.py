"""What the platform asks for: the item waits since then, and the trail has one entry for each request."""

from datetime import timedelta

import pytest

from console.errors import StoreUnavailable
from console.trail.actions import Action
from conversations.handoff import HandOffAction, perform
from conversations.handoff.actions import Intent
from conversations.handoff.reconciliation import settle
from conversations.handoff.resolution import trail_links
from conversations.indexer.handling import handle
from conversations.workers.streams.records import StreamChange
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import (
    ANA,
    COMPANY,
    KEY,
    conversation,
    form,
    held_by,
    put,
    results,
    stored,
    trail,
)
from tests.support.conversations.indexer.kit import Stream, asks, drops, indexed, requests_of, sweep, times

T1, T2, T3, T4 = (f"2026-01-31T10:0{minute}:00.000Z" for minute in (1, 2, 3, 4))


@pytest.fixture
def stream(store) -> Stream:
    put(store)
    return Stream()


def test_a_request_of_the_platform_waits_from_its_time_on_and_is_recorded(store, stream):
    asks(store, T1, reason="call me on +44 7700 900123")
    before = stored(store)
    stream.handle_all()
    item = stored(store)
    assert item == before | {"gsi_hand_off_queue": f"waiting#{COMPANY}", "hand_off_requested_at": T1}
    [entry] = requests_of(store)
    assert entry["ts_action_id"].startswith(f"{T1}#")
    assert (entry["actor"], entry["actor_role"], entry["result"]) == ("platform", "service", "success")
    assert (entry["company_id"], entry["gsi_company_id"], entry["gsi_actor"]) == (COMPANY, COMPANY, "platform")
    assert "7700" not in entry["action_payload_redacted"]
    assert "call me" in entry["action_payload_redacted"]


def test_an_item_that_comes_with_the_flag_is_a_request(store):
    stream = Stream()
    put(store, hand_off_to_human=True, updated_at=T1)
    stream.handle_all()
    assert times(store) == [T1]
    assert indexed(store)["waiting"] == {KEY["conversation_id"]}


def test_an_item_that_comes_with_its_holder_is_none(store):
    stream = Stream()
    put(store, **held_by("ana"))
    stream.handle_all()
    assert times(store) == []


@pytest.mark.slow
def test_the_same_records_again_and_again_make_one_entry(store, stream):
    asks(store, T1)
    for _ in range(3):
        stream.handle_all()
    drops(store, T2)
    for _ in range(3):
        stream.handle_all()
    assert times(store) == [T1]
    item = stored(store)
    assert "gsi_hand_off_queue" not in item
    assert "hand_off_requested_at" not in item


def test_two_requests_are_two_entries_also_when_both_are_seen_late(store, stream):
    asks(store, T1)
    drops(store, T2)
    asks(store, T3)
    stream.handle_all()
    assert times(store) == [T1, T3]
    assert stored(store)["hand_off_requested_at"] == T3
    stream.handle_all()
    assert times(store) == [T1, T3]


def test_sweep_first_then_the_stream(store, stream):
    asks(store, T1)
    drops(store, T2, x_more=1)
    asks(store, T3)
    store.update("CONVERSATIONS", KEY, updated_at=T4)
    sweep()
    # The sweep knows no better than that somebody waited at that time.
    assert times(store) == [T4]
    stream.handle_all()
    assert times(store) == [T1, T4]
    sweep()
    stream.handle_all()
    assert times(store) == [T1, T4]
    assert [entry["edge_at"] for entry in requests_of(store)] == [T1, T3]


def test_stream_first_then_sweeps(store, stream):
    asks(store, T1)
    stream.handle_all()
    sweep()
    store.update("CONVERSATIONS", KEY, updated_at=T4)
    sweep()
    assert times(store) == [T1]
    assert stored(store)["hand_off_requested_at"] == T1


def test_a_request_that_is_over_when_its_record_comes_is_recorded(store, stream):
    asks(store, T1)
    drops(store, T2)
    stream.handle_all()
    assert times(store) == [T1]
    assert "hand_off_requested_at" not in stored(store)


def test_a_request_that_a_person_took_before_its_record_came(store, stream):
    asks(store, T1)
    perform(form("take"), ANA)
    stream.handle_all()
    assert times(store) == [T1]
    assert indexed(store)["held"] == {KEY["conversation_id"]}
    sweep()
    assert times(store) == [T1]


def test_what_the_console_does_is_no_request_of_the_platform(store, stream):
    for action in ("request", "take", "hand_back", "take_over", "release", "hand_back"):
        perform(form(action), ANA)
    stream.handle_all()
    sweep()
    assert times(store) == []


def asked_and_handed_back(store, stream) -> Intent:
    """A request at `T1` that a person took and handed back: what they did last."""
    asks(store, T1)
    stream.handle_all()
    perform(form("take"), ANA)
    back = form("hand_back")
    perform(back, ANA)
    return back


def test_a_request_after_a_hand_back_names_the_hand_back_before_it(store, stream):
    back = asked_and_handed_back(store, stream)
    later = "2030-01-31T10:00:00.000Z"
    asks(store, later)
    stream.handle_all()
    assert times(store) == [T1, later]
    assert requests_of(store)[1]["previous_action_id"] == back.action_id
    assert indexed(store)["waiting"] == {KEY["conversation_id"]}


def test_a_request_after_a_hand_back_is_another_also_where_the_platforms_time_did_not_move(store, stream):
    back = asked_and_handed_back(store, stream)
    asks(store, T1)
    stream.handle_all()
    stream.handle_all()
    sweep()
    assert times(store) == [T1, T1]
    assert {entry.get("previous_action_id") for entry in requests_of(store)} == {None, back.action_id}
    assert indexed(store)["waiting"] == {KEY["conversation_id"]}


def fenced_off(store) -> None:
    """A person's action whose write never arrives, until a fence closes it."""
    with (
        pytest.raises(StoreUnavailable),
        faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS),
    ):
        perform(form("take"), ANA)
    before = stored(store).get("hand_off_action_id")
    settle(KEY["conversation_id"], older_than=timedelta(0))
    assert stored(store)["hand_off_action_id"] != before


@pytest.mark.parametrize("then", ["sweep", "drop"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_fence_makes_no_other_request_of_it(store, stream, earlier, then):
    if earlier:
        asks(store, T1)
        stream.handle_all()
        perform(form("hand_back"), ANA)
    asks(store, T2)
    stream.handle_all()
    fenced_off(store)
    if then == "drop":
        drops(store, T3)
    stream.handle_all()
    sweep()
    assert times(store) == [T1, T2][not earlier :]


def test_a_request_that_a_fence_came_before_is_recorded_once(store, stream):
    asks(store, T1)
    fenced_off(store)
    store.update("CONVERSATIONS", KEY, updated_at=T3)
    sweep()
    stream.handle_all()
    sweep()
    assert [(entry["edge_at"]) for entry in requests_of(store)] == [T1]
    assert indexed(store)["waiting"] == {KEY["conversation_id"]}


def test_a_new_request_frees_what_somebody_held_when_it_was_overridden(store):
    put(store, **held_by("ana", hand_off_to_human=False))
    stream = Stream()
    asks(store, T3)
    before = stored(store)
    stream.handle_all()
    item = stored(store)
    gone = {"hand_off_agent", "hand_off_taken_at"}
    assert item == {name: value for name, value in before.items() if name not in gone} | {
        "gsi_hand_off_queue": f"waiting#{COMPANY}",
        "hand_off_requested_at": T3,
    }
    assert times(store) == [T3]
    stream.handle_all()
    assert times(store) == [T3]
    assert stored(store) == item


def test_a_late_record_takes_nothing_from_who_took_it_since(store):
    put(store, **held_by("ana", hand_off_to_human=False))
    stream = Stream()
    asks(store, T3)
    # She takes it again before the record comes: her take-over is of the state that she saw.
    perform(form(HandOffAction.HAND_BACK), ANA)
    perform(form(HandOffAction.TAKE_OVER), ANA)
    stream.handle_all()
    assert stored(store)["hand_off_agent"] == "ana"
    assert times(store) == [T3]


def test_requests_are_no_links_of_the_chain_of_actions(store, stream):
    asks(store, T1)
    stream.handle_all()
    take = form("take")
    perform(take, ANA)
    assert set(trail_links(KEY["conversation_id"])) == {take.action_id}
    assert [entry["action_type"] for entry in trail(store)] == [Action.HAND_OFF_REQUEST, Action.HAND_OFF_TAKE]
    assert all("action_id" not in entry for entry in requests_of(store))


def test_a_sweep_that_died_between_stamp_and_entry_is_made_good(store, stream):
    asks(store, T1)
    # What it leaves: the time, and no entry.
    store.update("CONVERSATIONS", KEY, hand_off_requested_at=T2, gsi_hand_off_queue=f"waiting#{COMPANY}")
    stream.handle_all()
    sweep()
    assert times(store) == [T2]


def test_a_time_is_not_removed_before_the_entry_that_it_names(store):
    put(store, hand_off_to_human=False, hand_off_requested_at=T1, gsi_hand_off_queue=f"waiting#{COMPANY}")
    sweep()
    assert times(store) == [T1]
    assert "gsi_hand_off_queue" not in stored(store)


def test_an_item_that_is_gone_still_has_its_request_on_record(store, stream):
    asks(store, T1)
    changes = stream.changes()
    store.delete("CONVERSATIONS", **KEY)
    for change in changes:
        handle(change)
    assert times(store) == [T1]
    assert store.all("CONVERSATIONS") == []


def test_an_image_without_our_attributes_asks_too(store):
    put(store, hand_off_to_human=True, updated_at=T1)
    old, new = conversation(), conversation(hand_off_to_human="true", updated_at=T1)
    from console import clock

    handle(StreamChange(to_dynamodb(old), to_dynamodb(new), clock.now()))
    assert times(store) == [T1]
    assert results is not None
