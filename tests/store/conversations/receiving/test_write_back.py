"""The replies service's lock and write-back around a hand-off, with customers' messages at every step in between."""

from datetime import timedelta
from itertools import permutations

import pytest

from console import clock
from conversations.converting import hand_off_of
from conversations.handoff import HandOffAction, LostRace, perform
from conversations.models import Conversation
from conversations.receiving.handling import Handled
from conversations.records import HandOffState
from tests.store.conversations.receiving.test_handling import SENT_AT, body, bring, rows
from tests.store.conversations.receiving.test_sizes import texts
from tests.support.conversations.handoff.kit import (
    ANA,
    CHANNEL,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    put,
    stored,
    trail,
)

SITUATIONS = {
    HandOffAction.TAKE: {**WAITING, "hand_off_requested_at": "2026-01-31T09:00:00.000Z"},
    HandOffAction.RELEASE: held_by("ana"),
    HandOffAction.HAND_BACK: held_by("ana"),
}
# The service locks before it writes back; the first message comes before the second. All else in any order.
EVENTS = ("lock", "write back", "action", "first", "second")
ORDERS = [
    order
    for order in permutations(EVENTS)
    if order.index("lock") < order.index("write back") and order.index("first") < order.index("second")
]


class RepliesService:
    """As it reads before its lock and writes when the AI has answered (schema platform-replies, 5)."""

    def __init__(self, store) -> None:
        self.store = store

    def lock(self) -> None:
        item = stored(self.store)
        self.read = {name: item.get(name) for name in ("hand_off_to_human", "hand_off_to_human_reason")}
        self.store.update("CONVERSATIONS", KEY, conversation_status="processing_reply")

    def write_back(self) -> None:
        said = [
            {"message_id": "SM-ai-1", "role": "user", "content": "to the AI"},
            {"message_id": "SM-ai-2", "role": "assistant", "content": "by the AI"},
        ]
        # One UpdateItem that appends, whatever came meanwhile.
        messages = [*stored(self.store)["messages"], *said]
        self.store.update("CONVERSATIONS", KEY, messages=messages, conversation_status="reply_sent", **self.read)


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
@pytest.mark.parametrize("action", SITUATIONS)
def test_nothing_is_lost_or_doubled_and_wait_and_trail_are_right(store, action, order):
    put(store, **SITUATIONS[action])
    service, intent = RepliesService(store), form(action)
    acted_at = [SENT_AT, SENT_AT + timedelta(seconds=5)]

    def come(number: int) -> None:
        text = body(message_sid=f"SM{number}", body=f"line {number}", received_at=clock.to_iso(acted_at[number]))
        assert bring(text, f"d{number}") is Handled.RECEIVED

    steps = {
        "lock": service.lock,
        "write back": service.write_back,
        "action": lambda: perform(intent, ANA),
        "first": lambda: come(0),
        "second": lambda: come(1),
    }
    lost = False
    for name in order:
        try:
            steps[name]()
        except LostRace:
            # A message or the service changed the hand-off first: the form loses, and says so.
            lost = True
    assert sorted(texts()) == ["Hello", "by the AI", "line 0", "line 1", "to the AI"]
    assert sorted(row["content"] for row in rows(store)) == ["line 0", "line 1"]
    assert not [row for row in rows(store) if "gsi_due" in row]
    actions = [(entry["action_type"], entry["result"].partition(":")[0]) for entry in trail(store)]
    assert actions.count(("message.received", "success")) == 2
    assert actions.count((f"hand_off.{action}", "conflict" if lost else "success")) == 1
    hand_off = hand_off_of(Conversation.get(CHANNEL, CONVERSATION, consistent_read=True))
    if hand_off.state in (HandOffState.WAITING, HandOffState.HELD):
        began = {clock.parse_instant("2026-01-31T09:00:00.000Z"), *acted_at}
        assert hand_off.requested_at in began or hand_off.wait_at_least
