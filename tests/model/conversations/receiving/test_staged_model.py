"""Every message of the model: nobody is said to have it who has not, and it is somebody's turn in the end."""

from collections import Counter
from itertools import product

import pytest

from conversations.outbox import routing
from conversations.outbox.routing import Side
from tests.model.conversations.receiving.staged_model import FATES, Staged, end_of, messages

# Seconds after its routing at which the receiver reads, some in the middle of a change.
READS = (0.0, 0.5, 3.0, 60.0)


def wrong(message: Staged) -> bool:
    """Whether some reading of a message says that somebody has it who has not."""
    truth = Side.PEOPLE if message.is_routed_to_people(message.routed) else Side.AI
    seen = {message.seen_at(message.routed + read) for read in READS}
    return bool({each for each in seen if not each.is_doubt} - {truth})


def test_nobody_is_said_to_have_a_message_who_has_not():
    tried = Counter(wrong(each) for each in messages())
    assert tried[True] == 0
    assert tried[False] > 10_000


def test_far_from_a_change_there_is_no_doubt():
    far = [each for each in messages() if len(each.changes) == 1 and abs(each.changes[0].intent) == 20]
    assert len(far) > 300
    assert not any(each.seen_at(each.routed + read).is_doubt for each in far for read in READS)


@pytest.mark.parametrize("left_out", ["skew", "rounding", "write", "intent"])
def test_each_part_of_the_window_is_needed(monkeypatch, settings, left_out):
    if left_out == "skew":
        settings.PLATFORM_CLOCK_SKEW_SECONDS = 0
    elif left_out == "rounding":
        settings.PLATFORM_CLOCK_SKEW_SECONDS = 4
        monkeypatch.setattr(routing, "ROUNDING", routing.ROUNDING * 0)
    else:
        settings.PLATFORM_CLOCK_SKEW_SECONDS = 4
        known = routing.changes_of

        def only_one_end(entries, stored):
            ends = known(entries, stored)
            if left_out == "write":
                return [routing.RoutingChange(each.begun, each.begun, each.to_people) for each in ends]
            return [routing.RoutingChange(each.ended, each.ended, each.to_people) for each in ends]

        monkeypatch.setattr("tests.model.conversations.receiving.staged_model.changes_of", only_one_end)
    assert any(wrong(each) for each in messages())


def possible() -> list[tuple[Side, bool, bool]]:
    """What the receiver may conclude, for whom the message was, and whether somebody holds it in the end."""
    found = set()
    for message in messages():
        held = message.is_routed_to_people(message.routed + 100)
        truth = message.is_routed_to_people(message.routed)
        found |= {(message.seen_at(message.routed + read), truth, held) for read in READS}
    return sorted(found)


def test_every_message_is_shown_once_and_is_somebodys_turn():
    reached = possible()
    assert {side for side, _, _ in reached} == set(Side)
    for (side, truth, held), fate in product(reached, FATES):
        # What a person has got and nobody holds asks for people again: it waits in the queue.
        waits = side is Side.PEOPLE
        end = end_of(side, routed_to_people=truth, held=held or waits, fate=fate)
        assert end.shown == 1, (side, truth, held, fate)
        assert end.turn != "nobody", (side, truth, held, fate)
