"""Every figure of threads and chats, held against what happened.

The assistant and the chatbot write for weeks of simulated time, late and twice too; people rate answers; what has
expired goes. Walkers and a rebuild come by at the same time, are overtaken in the middle of a page, are killed at any
call, and begin anew.

    INSIGHT_RECORDS=40000 pytest -n 2 --dist=load tests/model/conversations/insight/test_stores.py
"""

import os
from datetime import timedelta
from typing import Any

import pytest

from console import clock
from conversations.insight import walking
from conversations.insight.facts import changed_days
from tests.model.conversations.insight.stores import ChatWorld, StoreWorld, ThreadWorld
from tests.model.conversations.insight.workers import check

RECORDS = int(os.environ.get("INSIGHT_RECORDS", "60"))
AT_ONCE = min(RECORDS // 2, 250)


@pytest.mark.slow
@pytest.mark.parametrize("world_of", [ThreadWorld, ChatWorld])
@pytest.mark.parametrize("seed", range(max(1, RECORDS // 2 // AT_ONCE)))
def test_every_figure_is_what_happened(store, monkeypatch, world_of, seed):
    # One at a time: what happens in the middle of one must not happen in the middle of another too.
    monkeypatch.setattr(walking, "AT_ONCE", 1)
    monkeypatch.setattr(walking, "PAGE", 20)
    world: StoreWorld[Any] = world_of(store, seed, AT_ONCE)
    monkeypatch.setattr(clock, "now", lambda: world.now)
    while world.step():
        world.work()
    world.settle()
    assert not changed_days()
    check(world.figures(), world.expected())
    assert world.killed > 0 or AT_ONCE < 100
    assert timedelta(days=10) < world.now - world.begins
