"""SIGKILL before and after every DynamoDB call of a hand-off, and of its settling: the trail tells the truth."""

import pytest

from console import clock
from conversations.handoff import HandOffAction, perform, seal_intent, settle
from conversations.handoff.reconciliation import FENCE_AFTER
from tests.support.conversations.handoff.kit import (
    ANA,
    CONVERSATION,
    WAITING,
    foreign,
    form,
    held_by,
    put,
    results,
    stored,
    trail,
)
from tests.support.victims import victims as children

# What a process that dies leaves behind, the real store shows; its children share no memory with moto.
pytestmark = pytest.mark.dynoxide_only

A = HandOffAction
MOST_CALLS = 30
# The calls of a take before its flip: the item, the queue's summary, its record with its entry.
BEFORE_FLIP = 3
SITUATIONS = {
    "take": ({**WAITING}, A.TAKE),
    "take over": ({}, A.TAKE_OVER),
    "hand back": (held_by("ana"), A.HAND_BACK),
}


@pytest.fixture
def victims(store):
    """Does jobs in children that get killed; see the module of that name."""
    with children("tests.support.conversations.handoff.victims", store.environment()) as do:
        yield do


def eleven_minutes_later(monkeypatch):
    moment = clock.now() + FENCE_AFTER * 1.1
    monkeypatch.setattr(clock, "now", lambda: moment)


@pytest.mark.parametrize("kill", ["before", "after"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_killed_at_any_call_of_a_hand_off(store, victims, monkeypatch, situation, kill):
    changes, action = SITUATIONS[situation]
    flips = []
    for nth in range(1, MOST_CALLS):
        before = put(store, **changes)
        intent = form(action)
        ended = victims(seal_intent(intent, ANA), kill, nth)
        if not ended["killed"]:
            assert ended["code"] == 0
            break
        flipped = stored(store).get("hand_off_action_id") == intent.action_id
        flips.append(flipped)
        # Never a flip without its entry, not even before anything is settled.
        assert not flipped or [entry["action_id"] for entry in trail(store)] == [intent.action_id]
        with monkeypatch.context() as patch:
            eleven_minutes_later(patch)
            settle(CONVERSATION)
        final = results(store).get(intent.action_id)
        if flipped:
            assert final == "success"
        else:
            assert final in (None, "failed: it had not taken effect and was fenced off")
            assert stored(store).get("hand_off_agent") == before.get("hand_off_agent")
            assert stored(store)["hand_off_to_human"] == before["hand_off_to_human"]
        assert foreign(stored(store)) == foreign(before)
        store.empty()
    assert nth > 4
    assert set(flips) == {False, True}


@pytest.mark.parametrize("kill", ["before", "after"])
def test_the_form_sent_again_after_a_kill_at_any_call(store, victims, kill):
    """Without any settling in between: one flip, one entry."""
    for nth in range(1, MOST_CALLS):
        put(store, **WAITING)
        intent = form(A.TAKE)
        ended = victims(seal_intent(intent, ANA), kill, nth)
        outcome = perform(intent, ANA)
        assert outcome.hand_off.agent == "ana"
        assert stored(store)["hand_off_action_id"] == intent.action_id
        assert results(store) == {intent.action_id: "success"}
        store.empty()
        if not ended["killed"]:
            assert ended["code"] == 0
            break
    assert nth > 4


@pytest.mark.parametrize("kill", ["before", "after"])
@pytest.mark.parametrize("applied", [False, True], ids=["nothing applied", "applied"])
def test_killed_at_any_call_of_settling(store, victims, kill, applied):
    """However often settling dies, the next run settles truly, and nobody's flag or agent moved."""
    for nth in range(1, MOST_CALLS):
        before = put(store, **WAITING)
        intent = form(A.TAKE)
        assert victims(seal_intent(intent, ANA), "after" if applied else "before", BEFORE_FLIP + 1)["killed"]
        ended = victims("reconcile", kill, nth)
        assert victims("reconcile") == {"killed": False, "code": 0}
        told = results(store)
        assert "pending" not in told.values()
        assert told[intent.action_id].startswith("success" if applied else "failed")
        assert stored(store).get("hand_off_agent") == ("ana" if applied else None)
        assert foreign(stored(store)) == foreign(before)
        store.empty()
        if not ended["killed"]:
            assert ended["code"] == 0
            break
    assert nth > 4
