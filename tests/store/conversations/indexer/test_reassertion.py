"""A service that writes back what it read undoes what a person did: restored once, on record, and nothing else is."""

from datetime import timedelta

import pytest

from console import clock
from conversations.handoff import perform, settle
from conversations.handoff.resolution import trail_links
from conversations.indexer import handling
from conversations.indexer.reassertion import WINDOW, reassertion_id
from tests import faults
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    COMPANY,
    CONVERSATION,
    KEY,
    form,
    held_by,
    put,
    results,
    stored,
    trail,
)
from tests.support.conversations.indexer.kit import Stream, asks, drops, indexed, oracle, sweep, times
from tests.support.tenants.kit import kill_at_each_call

REASON = "wants a person"


def soon(seconds: float = 5) -> str:
    return clock.to_iso(clock.now() + timedelta(seconds=seconds))


def acted(store, action: str, status: str = "processing", **changes) -> str:
    """A person acts while the conversation has that status; the id of the action."""
    put(store, conversation_status=status, **changes)
    intent = form(action)
    perform(intent, ANA)
    return intent.action_id


def restored(store) -> list[dict]:
    return [entry for entry in trail(store) if entry["action_type"] == "hand_off.reassert"]


@pytest.fixture(params=["stream", "sweep"])
def index(request, store):
    """Have the indexer look: it follows the stream, or sweeps."""
    stream = Stream()
    return stream.handle_all if request.param == "stream" else sweep


def test_a_take_over_that_ended_false_is_restored(store, index):
    take_over = acted(store, "take_over")
    before = stored(store)
    drops(store, soon())
    index()
    item = stored(store)
    assert item == before | {
        "updated_at": item["updated_at"],
        "hand_off_to_human_reason": None,
        "hand_off_action_id": reassertion_id(take_over),
    }
    [entry] = restored(store)
    assert (entry["actor"], entry["result"], entry["previous_action_id"]) == ("platform", "success", take_over)
    assert entry["company_id"] == COMPANY
    assert results(store)[reassertion_id(take_over)] == "success"
    assert indexed(store) == oracle(store) == {"waiting": set(), "held": {CONVERSATION}}


def test_a_hand_back_that_ended_true_with_the_old_reason_is_restored(store, index):
    back = acted(store, "hand_back", **held_by("ana"))
    before = stored(store)
    asks(store, soon(), REASON)
    index()
    item = stored(store)
    assert item == before | {"updated_at": item["updated_at"], "hand_off_action_id": reassertion_id(back)}
    assert [entry["previous_action_id"] for entry in restored(store)] == [back]
    assert indexed(store) == oracle(store) == {"waiting": set(), "held": set()}
    # No request: nobody decided that.
    assert times(store) == []


def test_only_once(store):
    stream = Stream()
    acted(store, "take_over")
    for _ in range(3):
        drops(store, soon())
        stream.handle_all()
        sweep()
    assert len(restored(store)) == 1
    # Whoever holds it sees that it was overridden.
    assert stored(store)["hand_off_agent"] == "ana"
    assert stored(store)["hand_off_to_human"] is False
    assert indexed(store)["held"] == {CONVERSATION}


def test_a_hand_back_that_ends_true_a_second_time_waits_for_a_human(store):
    stream = Stream()
    acted(store, "hand_back", **held_by("ana"))
    asks(store, soon(1), REASON)
    stream.handle_all()
    asks(store, again := soon(2), REASON)
    stream.handle_all()
    sweep()
    assert len(restored(store)) == 1
    assert times(store) == [again]
    assert indexed(store)["waiting"] == {CONVERSATION}


@pytest.mark.parametrize(
    ("status", "after", "reason"),
    [
        ("initial_message_sent", timedelta(seconds=5), REASON),
        ("processing", WINDOW + timedelta(seconds=5), REASON),
        ("processing", timedelta(seconds=5), "a new reason of its own"),
        ("processing", timedelta(seconds=5), None),
    ],
    ids=["not processing", "too late", "another reason", "no reason"],
)
def test_a_hand_back_that_ends_true_otherwise_is_a_new_request(store, index, status, after, reason):
    acted(store, "hand_back", status, **held_by("ana"))
    asks(store, at := soon(after.total_seconds()), reason)
    index()
    assert restored(store) == []
    assert times(store) == [at]
    assert indexed(store) == oracle(store) == {"waiting": {CONVERSATION}, "held": set()}


@pytest.mark.parametrize(("status", "after"), [("initial_message_sent", 5), ("processing", 15 * 60 + 5)])
def test_a_take_over_that_ends_false_otherwise_is_overridden(store, index, status, after):
    acted(store, "take_over", status)
    drops(store, soon(after))
    before = stored(store)
    index()
    assert stored(store) == before
    assert restored(store) == []
    assert indexed(store)["held"] == {CONVERSATION}


def test_what_comes_back_as_the_person_wanted_it_frees_nobody(store):
    """False and true again, both written back by services that were at work meanwhile: the holder keeps it."""
    stream = Stream()
    acted(store, "take_over")
    drops(store, soon(1))
    asks(store, soon(2), REASON)
    stream.handle_all()
    assert stored(store)["hand_off_agent"] == "ana"
    assert times(store) == []


def test_who_acts_first_is_not_undone(store):
    """Between the indexer's look and its packet a colleague acts: the restoring loses, and says so."""
    acted(store, "hand_back", **held_by("ana"))
    asks(store, soon(), REASON)

    def act() -> None:
        perform(form("take"), BEN)

    is_packet = {"where": lambda request: request.get("TableName", "").startswith("conversations")}
    with faults.before("UpdateItem", act, **is_packet):
        sweep()
    assert stored(store)["hand_off_agent"] == "ben"
    assert stored(store)["hand_off_to_human"] is True
    [entry] = restored(store)
    assert entry["result"] == "conflict: somebody acted first"
    assert "pending" not in results(store).values()


def test_two_at_once_restore_once(store):
    acted(store, "take_over")
    stream = Stream()
    drops(store, soon())
    [flip] = stream.changes()
    with faults.before("TransactWriteItems", lambda: handling.handle(flip)):
        handling.handle(flip)
    assert len(restored(store)) == 1
    assert results(store)[restored(store)[0]["action_id"]] == "success"
    assert set(trail_links(CONVERSATION)) == set(results(store))


def test_the_status_before_an_action_is_kept_with_its_record(store):
    take_over = acted(store, "take_over")
    record = store.get("IDEMPOTENCY", event_id=f"act:hand_off:{CONVERSATION}:{take_over}")
    assert record["during_status"] == "processing"
    assert REASON not in str(record)
    assert KEY["conversation_id"] == CONVERSATION


@pytest.mark.slow
@pytest.mark.parametrize("again", ["stream", "sweep"])
def test_killed_before_and_after_every_call_then_started_again(store, again):
    flips = []

    def set_up() -> None:
        stream = Stream()
        acted(store, "take_over")
        drops(store, soon())
        flips[:] = stream.changes()

    def check(finished: bool) -> None:
        if again == "stream":
            for flip in flips:
                handling.handle(flip)
        sweep()
        # What died before it could say so is settled by the rules for every action.
        settle(CONVERSATION)
        assert stored(store)["hand_off_to_human"] is True
        assert stored(store)["hand_off_agent"] == "ana"
        assert [entry["result"] for entry in restored(store)] == ["success"]
        assert set(results(store).values()) == {"success"}
        assert times(store) == []
        assert indexed(store) == oracle(store) == {"waiting": set(), "held": {CONVERSATION}}

    assert kill_at_each_call(store, set_up, lambda: handling.handle(flips[-1]), check) > 3
