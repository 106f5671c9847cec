"""A lead assigns it, the timer takes it from its silent holder, who answers or releases it; all at once.

One of them has it, everybody else is told who was first, the trail has one success, and who got or lost it is told.
"""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from console import clock
from conversations.attention.levels import ServiceLevels
from conversations.handoff import HandOffAction as A
from conversations.handoff import HandOffOutcome, LostRace, perform
from conversations.handoff.service import derive_action_id
from conversations.models import Conversation
from conversations.notices import notices_for
from conversations.outbox.appending import append
from conversations.outbox.rows import MessageRow
from conversations.timers.lateness import release_if_silent
from tests.dynamodb import to_dynamodb
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ANA,
    CHANNEL,
    CONVERSATION,
    held_by,
    put,
    results,
    staff,
    stored,
    trail,
)
from tests.support.conversations.handoff.kit import form as form_for

CEM = staff("cem")
ROUNDS = 12
LEVELS = ServiceLevels(return_after=timedelta(minutes=5))
# Who holds it afterwards, and who is told, by whose action it was.
AFTERWARDS = {
    "root": ("ben", {"ana", "ben"}),
    "timer": (None, {"ana"}),
    "cem": ("cem", {"ana"}),
    "ana": (None, set()),
}


@pytest.fixture(scope="module")
def pool():
    with ThreadPoolExecutor(5) as threads:
        yield threads


@pytest.fixture(autouse=True)
def _anybody_gets_it(monkeypatch):
    # Who may be given a conversation is tested where that is looked up.
    monkeypatch.setattr("conversations.handoff.service.check_receiver", lambda intent, to: None)


def at_once(pool, *deeds):
    """Each at the same moment; what each was told."""
    gate = threading.Barrier(len(deeds))

    def do(deed):
        gate.wait()
        try:
            return deed()
        except LostRace as lost:
            return lost

    return list(pool.map(do, deeds))


def answered() -> bool:
    """The holder's reply, as the sender puts it onto the item."""
    row = MessageRow(f"{CONVERSATION}\n{CHANNEL}", "r1", message_id="r1", content="Yes", author="ana")
    row.received_at = clock.to_iso(clock.now(), "microseconds")
    return append(row, Conversation.get(CHANNEL, CONVERSATION, consistent_read=True))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_assigned_given_back_taken_released_and_answered_at_one_moment(store, pool, round_):
    silent = clock.to_iso(clock.now() - timedelta(minutes=9))
    before = put(store, **held_by("ana", hand_off_requested_at=silent, hand_off_taken_at=silent))
    assign, take, release = (form_for(each) for each in (A.ASSIGN, A.TAKE_FROM_COLLEAGUE, A.RELEASE))
    deeds = [
        lambda: perform(assign, ADMIN, reason="knows it", to="ben"),
        lambda: perform(take, CEM, reason="urgent"),
        lambda: perform(release, ANA),
        lambda: release_if_silent(to_dynamodb(before), LEVELS, clock.now()),
    ]
    # The timer alone lets an answer come first.
    told = at_once(pool, *deeds, *([answered] if round_ % 2 else []))
    after, entries = stored(store), {each["action_id"]: each for each in trail(store)}
    winner = after["hand_off_action_id"]
    assert {each: entry["result"] == "success" for each, entry in entries.items()} == {
        each: each == winner for each in entries
    }
    assert {entry["previous_action_id"] for entry in entries.values()} == {"before"}
    assert len(entries) == 4
    assert set(results(store).values()) - {"success"} <= {f"conflict: {each} was first" for each in AFTERWARDS} | (
        {"conflict: the platform was first"} if round_ % 2 else set()
    )
    who = entries[winner]["actor"]
    holder, concerned = AFTERWARDS[who]
    assert after.get("hand_off_agent") == holder
    assert after["hand_off_to_human"] is True
    won = {derive_action_id(assign.action_id, "ben"): 0, take.action_id: 1, release.action_id: 2}.get(winner, 3)
    assert [isinstance(each, HandOffOutcome) or each is True for each in told[:4]] == [n == won for n in range(4)]
    assert all(isinstance(each, LostRace) for number, each in enumerate(told[:3]) if number != won)
    assert {each for each in ("ana", "ben", "cem", "root") if notices_for(each)} == concerned
    assert all([each.id for each in notices_for(username)] == [winner] for username in concerned)
