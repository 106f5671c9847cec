"""Machines whose clocks differ by minutes, without a `Date` to tell: no target is lost or recorded twice.

`MACHINES=27 pytest -n 2 tests/store/conversations/attention/test_machines.py` tries all of them.
"""

import os
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from itertools import product
from unittest import mock

import pytest

from console import clock
from conversations.indexer.handling import handle
from conversations.timers.looking import Timers
from conversations.workers.streams.records import StreamChange
from tests.dynamodb import to_dynamodb
from tests.store.conversations.attention.test_attention import set_levels
from tests.support.conversations.handoff.kit import KEY, WAITING, conversation

SKEWS = (-240, 0, 240)
# Of the indexer, of the timers, and of those that take over from them. The worst ones first.
SOME = [(0, 240, 0), (-240, 240, -240), (240, -240, 240), (0, -240, 240)]
ALL = [*SOME, *(each for each in product(SKEWS, repeat=3) if each not in SOME)]
TARGETS, ROUND = 12, timedelta(seconds=20)


class World:
    """The true time, and machines that see another."""

    def __init__(self) -> None:
        self.at = clock.now()

    def seen(self, ahead: float) -> datetime:
        return self.at + timedelta(seconds=ahead)

    def on(self, ahead: float) -> AbstractContextManager[object]:
        """The block runs on a machine whose clock is so many seconds ahead."""
        return mock.patch.object(clock, "now", side_effect=lambda: self.seen(ahead))

    def timers(self, ahead: float, owner: str) -> Timers:
        return Timers(now=lambda: self.seen(ahead), owner=owner)


def ask(store, world: World, number: int, indexer: float) -> None:
    """A customer asks for a human now, by the true time, and the indexer sees it."""
    key = {**KEY, "conversation_id": f"conversation-{number}"}
    item = conversation(
        **key, **WAITING, hand_off_requested_at=clock.to_iso(world.at), updated_at=clock.to_iso(world.at)
    )
    store.put("CONVERSATIONS", item)
    with world.on(indexer):
        handle(StreamChange(None, to_dynamodb(store.get("CONVERSATIONS", **key)), world.at))


@pytest.mark.parametrize(("indexer", "first", "second"), ALL[: int(os.environ.get("MACHINES", len(SOME)))])
def test_every_target_is_recorded_once_whatever_the_clocks_of_the_machines_say(store, indexer, first, second):
    set_levels(store, first_answer=1)
    world = World()
    one, two = world.timers(first, "one"), world.timers(second, "two")
    failed_over: list[timedelta] = []
    for number in range(90):
        if number < TARGETS * 2 and number % 2:
            ask(store, world, number, indexer)
        if number < TARGETS:
            with world.on(first):
                one.cycle()
            died_at = world.at
        for _ in range(4):
            if not two.lease.is_held or number % 3 == 0:
                with world.on(second):
                    two.cycle()
                if two.lease.is_held and not failed_over:
                    failed_over.append(world.at - died_at)
            world.at += ROUND / 4
    missed = [each["conversation_id"] for each in store.all("AUDIT") if each["action_type"] == "target.missed"]
    assert sorted(missed) == sorted(f"conversation-{number}" for number in range(1, TARGETS * 2, 2))
    assert failed_over[0] < timedelta(minutes=1)
    assert not [each for each in store.all("CONSOLE") if each["pk"].startswith("DUE#")]
