"""Every figure of Insight, held against an oracle that knows only what happened.

Customers, the AI, the platform, people and the clock act on many conversations at once, over weeks of simulated time.
The stream's records come late, twice, out of order and after those behind them; indexer, roller and rebuild run at the
same time, are held up and killed at any call, and begin anew.

    INSIGHT_CONVERSATIONS=100000 pytest -n 2 --dist=load tests/model/conversations/insight
"""

import os

import pytest

from console import clock
from conversations.insight import walking
from tests.model.conversations.insight.history import figures_of
from tests.model.conversations.insight.workers import Workers, check

CONVERSATIONS = int(os.environ.get("INSIGHT_CONVERSATIONS", "30"))
AT_ONCE = min(max(1, CONVERSATIONS // 2), 200)
# Of few conversations, all live long; of very many, most are as short as most are.
LIVELY = 1.0 if CONVERSATIONS <= 2_000 else 0.1
# One world in so many has the console's own actions in it, which cost ten times as much.
REAL_EVERY = 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(max(2, CONVERSATIONS // AT_ONCE)))
def test_every_figure_is_what_happened_whatever_goes_wrong_on_the_way(store, monkeypatch, seed):
    monkeypatch.setattr("conversations.handoff.actions.leads_back_to_ai", lambda: True)
    monkeypatch.setattr(walking, "PAGE", 10)
    world = Workers(store, seed, AT_ONCE, real=seed % REAL_EVERY == 1, lively=LIVELY)
    monkeypatch.setattr(clock, "now", lambda: world.now)
    while (changed := world.step()) is not None:
        world.work(changed)
    world.settle()
    check(world.figures(), figures_of(world.all))
