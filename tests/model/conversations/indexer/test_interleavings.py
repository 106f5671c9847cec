"""The platform, people, sweeps and the stream in any order: one entry for each request, and the index is right."""

import contextlib
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console import clock
from console.errors import ConsoleError
from conversations.converting import hand_off_of
from conversations.handoff import perform
from conversations.handoff.actions import GIVES, HandOffAction, allowed_actions
from conversations.handoff.reconciliation import settle
from conversations.indexer.handling import handle
from conversations.models import Conversation
from tests import faults
from tests.support.conversations.handoff.kit import ANA, CONVERSATION, KEY, form, put, stored, trail
from tests.support.conversations.indexer.kit import (
    Stream,
    asks,
    conversation,
    drops,
    indexed,
    oracle,
    platform,
    sweep,
    times,
)
from tests.support.tenants.kit import Killed

pytestmark = pytest.mark.pages

STEPS = st.sampled_from(["ask", "ask", "drop", "drop", "message", "sweep", "stream", "all", "again"])
START = datetime(2026, 1, 31, 10, tzinfo=UTC)
# More than any work makes.
MOST_CALLS = 60


def own_actions(item: Conversation) -> list[HandOffAction]:
    """What a person may do that gives the conversation to nobody else."""
    return [action for action in allowed_actions(hand_off_of(item), ANA) if action not in GIVES]


class Indexed:
    """One conversation, what the platform did to it, and how far its stream has been handled."""

    def __init__(self, store) -> None:
        self.store, self.asked, self.handled = store, [], 0
        self.at, self.pace = START, timedelta(seconds=10)
        put(store)
        self.stream = Stream()

    def tick(self) -> str:
        self.at += self.pace
        return clock.to_iso(self.at)

    def step(self, name: str) -> None:
        flag, at = stored(self.store)["hand_off_to_human"], self.tick()
        match name:
            case "ask":
                asks(self.store, at)
                self.asked += [] if flag else [at]
            case "drop":
                drops(self.store, at)
            case "message":
                platform(self.store, updated_at=at, messages=[{"role": "user", "content": at}])
            case "sweep":
                sweep()
            case "stream" | "all" | "again":
                changes = self.stream.changes()
                begin = max(0, self.handled - 3) if name == "again" else self.handled
                upto = len(changes) if name == "all" else min(len(changes), self.handled + 2)
                for change in changes[begin:upto]:
                    handle(change)
                self.handled = max(upto, self.handled)

    def settle(self) -> None:
        for name in ("all", "all", "sweep", "again", "all", "sweep"):
            self.step(name)


@pytest.mark.slow
@given(steps=st.lists(STEPS, min_size=3, max_size=14))
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_one_entry_for_each_request_whatever_sees_it_first(store, steps):
    store.empty()
    scenario = Indexed(store)
    for step in steps:
        scenario.step(step)
    scenario.settle()
    found = times(store)
    assert len(found) == len(scenario.asked)
    # Each entry lies between its request and the next one.
    for asked, entry, following in zip(scenario.asked, found, [*scenario.asked, "9"][1:], strict=False):
        assert asked <= entry < following
    assert indexed(store) == oracle(store)


@pytest.mark.slow
@given(steps=st.lists(STEPS, min_size=2, max_size=8), data=st.data())
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
def test_sweeps_in_the_middle_of_handling(store, steps, data):
    """Before one of the calls that handling a record makes, a whole sweep runs."""
    store.empty()
    scenario = Indexed(store)
    for step in steps:
        scenario.step(step)
    with faults.before("", sweep, nth=data.draw(st.integers(1, 12))):
        scenario.step("all")
    scenario.settle()
    assert len(times(store)) == len(scenario.asked)
    assert indexed(store) == oracle(store)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_records_of_many_items_in_any_order_across_items(store, seed):
    """Within an item in order, repeated now and then; sweeps between; people take what waits."""
    rng = random.Random(seed)
    keys = [{**KEY, "conversation_id": f"{CONVERSATION}-{number}"} for number in range(4)]
    store.put_all("CONVERSATIONS", [conversation(**key) for key in keys])
    stream, asked = Stream(), dict.fromkeys((key["conversation_id"] for key in keys), 0)
    for minute in range(20):
        key, at = rng.choice(keys), clock.to_iso(START + timedelta(minutes=minute))
        raised = store.get("CONVERSATIONS", **key)["hand_off_to_human"]
        (drops if raised else asks)(store, at, key=key)
        asked[key["conversation_id"]] += not raised
    changes = stream.changes()
    by_item = {each: [change for change in changes if _id(change) == each] for each in asked}
    while any(by_item.values()):
        chosen = by_item[rng.choice([each for each, left in by_item.items() if left])]
        for _ in range(rng.choice([1, 1, 2])):
            handle(chosen[0])
        chosen.pop(0)
        if rng.random() < 0.1:
            sweep()
    stream.handle_all()
    sweep()
    assert {each: len(times(store, each)) for each in asked} == asked
    assert indexed(store) == oracle(store)


def _id(change) -> str:
    return (change.new or change.old or {})["conversation_id"]["S"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_people_act_in_between(store, seed):
    """Whatever people and the platform do: the index tells what the queue finds, and actions keep their trail."""
    rng = random.Random(seed)
    scenario = Indexed(store)
    # Some writers of the platform do not move its time.
    scenario.pace = timedelta(seconds=rng.choice([0, 10]))
    for _ in range(14):
        scenario.step(rng.choice(["ask", "drop", "message", "sweep", "stream", "all"]))
        item = Conversation.get(**{"hash_key": KEY["primary_channel"], "range_key": KEY["conversation_id"]})
        if rng.random() < 0.5 and (allowed := own_actions(item)):
            perform(form(rng.choice(allowed)), ANA)
    scenario.settle()
    assert indexed(store) == oracle(store)
    console = [entry for entry in trail(store) if entry["actor"] == "ana"]
    assert all(entry["result"] == "success" for entry in console)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_people_and_fences_in_the_middle_of_handling(store, seed):
    """Before one of the calls that a sweep or the stream makes somebody acts, and now and then acts are fenced off."""
    rng = random.Random(seed)
    scenario = Indexed(store)

    def act() -> None:
        item = Conversation.get(**{"hash_key": KEY["primary_channel"], "range_key": KEY["conversation_id"]})
        if allowed := own_actions(item):
            with contextlib.suppress(ConsoleError):
                perform(form(rng.choice(allowed)), ANA)

    def lose() -> None:
        with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
            act()
        settle(CONVERSATION, older_than=timedelta(0))

    def hand() -> None:
        scenario.step(rng.choice(["ask", "drop"]))

    for _ in range(14):
        match rng.choice(["platform", "platform", "person", "fence", "indexer", "indexer", "between", "between"]):
            case "platform":
                scenario.step(rng.choice(["ask", "ask", "drop", "message"]))
            case "person":
                act()
            case "fence":
                lose()
            case "indexer":
                scenario.step(rng.choice(["sweep", "stream", "all", "again"]))
            case _:
                nth = rng.randint(1, 9)
                with faults.before("", rng.choice([act, hand]), nth=nth, where=lambda r: "ShardIterator" not in r):
                    scenario.step(rng.choice(["sweep", "stream", "all"]))
    scenario.settle()
    assert len(times(store)) == len(scenario.asked)
    assert indexed(store) == oracle(store)


SITUATIONS = {
    "a request": ["ask"],
    "two requests, seen late": ["ask", "drop", "ask"],
    "a request that is over": ["ask", "drop"],
    "a sweep was here": ["ask", "drop", "ask", "message", "sweep"],
    "a drop after the stamp": ["ask", "all", "drop"],
}


@pytest.mark.slow
@pytest.mark.parametrize("work", ["all", "sweep"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_killed_before_and_after_every_call_then_started_again(store, situation, work):
    def die() -> None:
        raise Killed

    for when in (faults.before, faults.after):
        for nth in range(1, MOST_CALLS):
            store.empty()
            scenario = Indexed(store)
            for step in SITUATIONS[situation]:
                scenario.step(step)
            was = scenario.handled
            try:
                with when("", die, nth=nth, where=lambda request: "ShardIterator" not in request):
                    scenario.step(work)
            except Killed:
                # Started again where it was, or with a sweep first.
                scenario.handled = was
                for step in ("all", "sweep") if nth % 2 else ("sweep", "all"):
                    scenario.step(step)
                ended = False
            else:
                ended = True
            scenario.settle()
            assert len(times(store)) == len(scenario.asked), (nth, when)
            assert indexed(store) == oracle(store)
            if ended:
                break
        else:
            raise AssertionError("it makes more calls than were tried")
        assert nth > 1
