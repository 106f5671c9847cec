"""All interleavings of the hand-off's protocol: the rules suffice, and each of them is needed."""

from dataclasses import fields

import pytest

from conversations.handoff.stored import HELD as WHEN_HELD
from conversations.handoff.stored import OFF
from conversations.handoff.stored import WAITING as WHEN_WAITING
from tests.model.conversations.handoff.protocol_model import NO, ON, Form, Item, Model, Rules, without

AI, WAITING, HELD = Item(False, "", ""), Item(True, "", ""), Item(True, "ana", "")

SCENARIOS = {
    "hand back, the answer lost, the form sent again": (
        Item(True, "ana", ""),
        {"H": Form("hand_back", "ana", Item(True, "ana", ""))},
        [("submit", "H"), ("submit", "H")],
    ),
    "take, clicked twice, and a colleague takes it from there": (
        WAITING,
        {"A": Form("take", "ana", WAITING), "B": Form("steal", "ben", Item(True, "ana", "A"))},
        [("submit", "A"), ("submit", "A"), ("submit", "B")],
    ),
    "two take it at once": (
        WAITING,
        {"A": Form("take", "ana", WAITING), "B": Form("take", "ben", WAITING)},
        [("submit", "A"), ("submit", "B")],
    ),
    "take while the reconciler runs": (
        WAITING,
        {"A": Form("take", "ana", WAITING)},
        [("submit", "A"), ("reconcile", 1)],
    ),
    "take over, hand back, a late write of the first": (
        AI,
        {"A": Form("take_over", "ana", AI), "H": Form("hand_back", "ana", Item(True, "ana", "A"))},
        [("submit", "A"), ("submit", "H")],
    ),
    "take, the platform clears the flag, a colleague takes over": (
        WAITING,
        {"A": Form("take", "ana", WAITING), "B": Form("take_over", "ben", Item(False, "ana", "A"))},
        [("submit", "A"), ("submit", "B"), ("platform", False)],
    ),
}
# Beyond the six: what a retry, the platform and the reconciler can do to one another.
HARDER = {
    "take, clicked twice, the platform clears the flag and sets it again": (
        WAITING,
        {"A": Form("take", "ana", WAITING)},
        [("submit", "A"), ("submit", "A"), ("platform", False), ("platform", True)],
    ),
    "two take it at once while the reconciler runs": (
        WAITING,
        {"A": Form("take", "ana", WAITING), "B": Form("take", "ben", WAITING)},
        [("submit", "A"), ("submit", "B"), ("reconcile", 1)],
    ),
    "take and release while the reconciler runs": (
        WAITING,
        {"A": Form("take", "ana", WAITING), "R": Form("release", "ana", Item(True, "ana", "A"))},
        [("submit", "A"), ("submit", "R"), ("reconcile", 1)],
    ),
    "a lead assigns it, its silent holder loses it to a timer, and a colleague takes it": (
        HELD,
        {"G": Form("assign", "ben", HELD), "T": Form("release", "timer", HELD), "C": Form("steal", "cem", HELD)},
        [("submit", "G"), ("submit", "T"), ("submit", "C")],
    ),
    "assigned, the answer lost, and back by a timer while the reconciler runs": (
        AI,
        {"G": Form("assign", "ben", AI), "T": Form("release", "timer", Item(True, "ben", "G"))},
        [("submit", "G"), ("submit", "G"), ("submit", "T"), ("reconcile", 1)],
    ),
    "two reconcilers at once": (
        WAITING,
        {"A": Form("take", "ana", WAITING)},
        [("submit", "A"), ("reconcile", 1), ("reconcile", 2)],
    ),
}
ALL = SCENARIOS | HARDER

# As (item, forms, processes, mode).
ROUTED = {
    f"{name}, routed when {mode}": (item._replace(switch=switch), forms, processes, mode)
    for mode in (WHEN_HELD, WHEN_WAITING)
    for name, item, forms, processes, switch in (
        (
            "take and hand back, the answers lost, and the indexer",
            WAITING,
            {"A": Form("take", "ana", WAITING), "H": Form("hand_back", "ana", Item(True, "ana", "A"))},
            [("submit", "A"), ("submit", "H"), ("submit", "H"), ("indexer", 1)],
            "",
        ),
        (
            "take over and hand back what a rule routes to people",
            AI,
            {"A": Form("take_over", "ana", AI), "H": Form("hand_back", "ana", Item(True, "ana", "A"))},
            [("submit", "A"), ("submit", "H")],
            ON,
        ),
        (
            "take and release, the platform clears its flag, and the indexer",
            WAITING,
            {"A": Form("take", "ana", WAITING), "R": Form("release", "ana", Item(True, "ana", "A"))},
            [("submit", "A"), ("submit", "R"), ("platform", False), ("indexer", 1)],
            NO,
        ),
        (
            "take and hand back while somebody changes the switch",
            WAITING,
            {"A": Form("take", "ana", WAITING), "H": Form("hand_back", "ana", Item(True, "ana", "A"))},
            [("submit", "A"), ("submit", "H"), ("somebody", NO)],
            ON,
        ),
        (
            "two take it at once, and the indexer twice",
            WAITING,
            {"A": Form("take", "ana", WAITING), "B": Form("take", "ben", WAITING)},
            [("submit", "A"), ("submit", "B"), ("indexer", 1), ("indexer", 2)],
            "",
        ),
        (
            "take, clicked twice, while the reconciler runs",
            WAITING,
            {"A": Form("take", "ana", WAITING)},
            [("submit", "A"), ("submit", "A"), ("reconcile", 1)],
            NO,
        ),
    )
}
NAIVE = Rules(*[False] * len(fields(Rules)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_with_the_rules_every_interleaving_ends_well(name):
    states, wrong = Model(*ALL[name], Rules()).explore()
    assert wrong == {}
    assert states > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUTED)
def test_what_people_have_goes_to_people_and_what_the_ai_has_goes_where_it_went_before(name):
    *scenario, mode = ROUTED[name]
    states, wrong = Model(*scenario, Rules(), mode).explore()
    assert wrong == {}
    assert states > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUTED)
def test_nothing_of_the_routing_is_touched_where_it_is_off(name):
    *scenario, _ = ROUTED[name]
    assert Model(*scenario, Rules(), OFF).explore()[1] == {}


def test_without_any_rule_the_six_go_wrong():
    bad = [name for name, scenario in SCENARIOS.items() if Model(*scenario, NAIVE).goes_wrong()]
    assert len(bad) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("rule", [field.name for field in fields(Rules)])
def test_each_rule_is_needed(rule):
    every = list(ROUTED.values()) + [(*scenario, OFF) for scenario in ALL.values()]
    # The more at once, the longer it takes: one of four has half a million states.
    every.sort(key=lambda scenario: len(scenario[2]))
    assert any(Model(*scenario, without(rule), mode).goes_wrong() for *scenario, mode in every)
