"""Histories of conversations, held against an oracle that knows only what happened: attention, late answers, returns.

Platform, AI, customers, agents and the clock act in random order over hours of simulated time, on many conversations at
once, through nights in which clocks are changed. The stream's records come late, twice and out of order, events fall
between any two calls of the workers, which are killed before and after any call, stand still, and begin anew.

    HISTORIES=10000 pytest -n 2 --dist=load tests/model/conversations/attention
"""

import os
from datetime import timedelta

import pytest

from tests.model.conversations.attention.world import TICK, World

HISTORIES = int(os.environ.get("HISTORIES", "12"))
# So many are in one store.
AT_ONCE = min(HISTORIES, 40)
HOURS = 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(max(1, HISTORIES // AT_ONCE)))
def test_what_needs_attention_is_raised_when_due_and_only_then(store, monkeypatch, seed):
    monkeypatch.setattr("conversations.handoff.actions.leads_back_to_ai", lambda: True)
    # Who may be given a conversation is tested where that is looked up.
    monkeypatch.setattr("conversations.handoff.service.check_receiver", lambda intent, to: None)
    # What is counted of it is another test's, and takes as long again.
    monkeypatch.setattr("conversations.insight.writing.table_ready", lambda _: False)
    world = World(store, seed, AT_ONCE, HOURS, monkeypatch)
    begins, span = world.now, timedelta(hours=HOURS)
    plan = [
        (begins + span * 0.8 * world.random.random(), number)
        for number in range(AT_ONCE)
        for _ in range(world.random.randint(3, 14))
    ]
    events = sorted(plan)
    asleep_until = begins
    while world.now < world.ends:
        world.now += TICK
        while events and events[0][0] <= world.now:
            world.happen(world.all[events.pop(0)[1]])
        if world.random.random() < 0.005:
            asleep_until = world.now + timedelta(minutes=world.random.randint(2, 12))
        if world.now < asleep_until:
            world.awake_since = world.now
            continue
        if world.is_idle() and world.random.random() < 0.8:
            continue
        for each in world.all:
            world.bring(each)
        world.ring()
        for each in world.all:
            world.check(each)
    world.check_trail()
