"""Items near what the schema's four local indexes leave of 400 KB: the platform's next write has to fit, always."""

import pytest

from conversations.models import Conversation
from conversations.outbox.rows import messages_of
from conversations.receiving.handling import Handled
from tests.store.conversations.receiving.test_handling import body, bring
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION, KEY, held_by, put, stored

KILOBYTES = 1_000


def texts() -> list[str]:
    """The transcript's messages, those kept apart among them."""
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    shown = messages_of(item, item.raw["messages"])
    return [shown.entry(number)["content"] for number in range(1, len(shown) + 1)]


@pytest.mark.parametrize(("kilobytes", "appended"), [(35, True), (45, False), (79, False)])
def test_the_platforms_next_write_fits_and_each_message_is_shown_once(store, kilobytes, appended):
    put(store, **held_by("ana"), x_filler="x" * (kilobytes * KILOBYTES))
    for number in range(1, 4):
        assert bring(body(message_sid=f"SM{number}", body=f"line {number}"), f"d{number}") is Handled.RECEIVED
        assert bring(body(message_sid=f"SM{number}", body=f"line {number}"), f"again{number}") is Handled.AGAIN
    before = stored(store)
    assert (len(before["messages"]) == 4) is appended
    answer = {"message_id": "SM9", "role": "assistant", "content": "reply"}
    store.update("CONVERSATIONS", KEY, messages=[*before["messages"], answer], conversation_status="reply_sent")
    assert stored(store)["messages"][-1] == answer
    # What stands apart has no place among messages without a time but before or after them.
    assert sorted(texts()) == ["Hello", "line 1", "line 2", "line 3", "reply"]
