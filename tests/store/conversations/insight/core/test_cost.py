"""What it costs to keep a conversation's facts: the figures of docs/insight.md, in units as DynamoDB counts them."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from conversations.insight import writing
from tests.store.conversations.insight.core.kit import put
from tests.support.console.units import units
from tests.unit.conversations.insight.kit import HOUR, MINUTE, after, said

pytestmark = [pytest.mark.dynoxide_only, pytest.mark.usefixtures("time", "key_is_there")]


def kept(store, images: list[dict[str, Any]], time) -> Counter[str]:
    """The units that the facts of a conversation take, which changes from one image to the next within some minutes."""
    total: Counter[str] = Counter()
    before = None
    for image in images:
        stored = put(store, **image)
        time.now += timedelta(seconds=10)
        with units() as spent:
            writing.note_change(stored, before)
        before = stored
        total += spent
    return total


def answered(turns: int) -> list[dict[str, Any]]:
    """Images of a conversation to which the platform adds a question and its answer at a time."""
    talk = [said("assistant" if number % 2 else "user", MINUTE * number) for number in range(2 * turns)]
    return [{"messages": talk[: 2 * turn]} for turn in range(1, turns + 1)]


def test_what_the_facts_of_ten_messages_cost(store, time):
    # A fact each time, the way back once, and that the day has changed.
    assert kept(store, answered(5), time) == {
        "INSIGHT write": 5 + 1,
        "CONSOLE write": 1,
        "CONVERSATIONS read": 5,
        "INSIGHT read": 5,
    }


def test_what_a_hand_off_adds(store, time):
    talk = answered(5)
    asked = {"hand_off_to_human": True, "hand_off_to_human_reason": "complaint", "hand_off_requested_at": after(HOUR)}
    held = asked | {"hand_off_agent": "ana", "hand_off_action_id": "a0"}
    answer = {"messages": [*talk[-1]["messages"], said("ana", 3 * HOUR)]}
    back = answer | {"hand_off_action_id": "a1"}
    spent = kept(store, [*talk, talk[-1] | asked, talk[-1] | held, answer | held, back], time)
    # The mark is good for a minute, in which six images come.
    assert spent == {
        "INSIGHT write": 9 + 2,
        "CONSOLE write": 1,
        "CONVERSATIONS read": 9,
        "INSIGHT read": 9,
        # The trail, for each image that people had. It has nothing here, which costs as much as an entry.
        "AUDIT read": 4,
    }
