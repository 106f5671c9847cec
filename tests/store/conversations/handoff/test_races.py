"""Sixteen agents take the same conversation at once: one winner, and the others are told who it is."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from conversations.handoff import HandOffAction, HandOffOutcome, LostRace, perform
from tests.support.conversations.handoff.kit import WAITING, foreign, form, put, results, staff, stored

# Who wins, the real store decides.
pytestmark = pytest.mark.dynoxide_only

AGENTS = [staff(f"agent-{number:02d}") for number in range(16)]
ROUNDS = 30


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(len(AGENTS)) as threads:
        yield threads


def at_once(pool, intents):
    """Each agent submits a form at the same moment; what each was told."""
    gate = threading.Barrier(len(intents))

    def submit(who, intent):
        gate.wait()
        try:
            return perform(intent, who)
        except LostRace as lost:
            return lost

    return list(pool.map(submit, AGENTS, intents))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_sixteen_agents_one_winner(store, pool, round_):
    before = put(store, **WAITING)
    intents = [form(HandOffAction.TAKE) for _ in AGENTS]
    told = at_once(pool, intents)
    winners = [number for number, each in enumerate(told) if isinstance(each, HandOffOutcome)]
    assert len(winners) == 1
    winner = AGENTS[winners[0]].username
    after = stored(store)
    assert after["hand_off_agent"] == winner
    assert after["hand_off_action_id"] == intents[winners[0]].action_id
    assert foreign(after) == foreign(before)
    for number, each in enumerate(told):
        if number not in winners:
            assert each.winner == winner
            assert each.hand_off.agent == winner
            assert f"{winner} took this conversation first at " in str(each)
    expected = {
        intent.action_id: "success" if number in winners else f"conflict: {winner} was first"
        for number, intent in enumerate(intents)
    }
    assert results(store) == expected


def test_sixteen_clicks_on_one_form_are_one_flip_and_one_entry(store, pool):
    put(store, **WAITING)
    intent = form(HandOffAction.TAKE)
    gate = threading.Barrier(len(AGENTS))

    def submit(_):
        gate.wait()
        return perform(intent, AGENTS[0])

    outcomes = list(pool.map(submit, AGENTS))
    assert {outcome.hand_off.agent for outcome in outcomes} == {AGENTS[0].username}
    assert results(store) == {intent.action_id: "success"}
