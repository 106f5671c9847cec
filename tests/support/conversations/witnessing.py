"""What tests of the witness share: a conversation whose messages go to people, and looks at the provider's list."""

from datetime import timedelta
from typing import Any

from console import clock
from conversations.models import Conversation
from conversations.outbox.rows import messages_of
from conversations.receiving.witnessing import pair_of, request_look
from conversations.records import Message
from demo.provider import DemoProvider
from tests.dynamodb import Store
from tests.support.conversations.handoff.kit import CHANNEL, CONVERSATION
from tests.support.conversations.replies import OURS, held, later, said, send_all_due

FROM, TO = f"whatsapp:{CHANNEL}", f"whatsapp:{OURS}"
BEGUN = timedelta(hours=2)


def ago(span: timedelta) -> str:
    """A time so long ago, as stored."""
    return clock.to_iso(clock.now() - span)


def watched(store: Store, **changes: Any) -> dict[str, Any]:
    """A conversation that Ana has held for a while, and whose messages go to people."""
    attributes: dict[str, Any] = {
        "created_at": ago(BEGUN),
        "messages": [{"entry_id": "m1", "role": "assistant", "content": "Hello"}, said()],
        "gsi_recipient_tel": CHANNEL,
        "gsi_company_whatsapp_number": OURS,
        "auto_queue_reply_message": True,
        "hand_off_routing_before": [],
        "hand_off_routed_at": ago(timedelta(minutes=30)),
    }
    return held(store, **attributes | changes)


def conversation(**key: str) -> Conversation:
    """The stored conversation, complete."""
    named = {"primary_channel": CHANNEL, "conversation_id": CONVERSATION, **key}
    return Conversation.get(named["primary_channel"], named["conversation_id"], consistent_read=True)


def look(seconds: float = 0, **key: str) -> None:
    """Have the provider asked, so many seconds from now."""
    pair = pair_of(conversation(**key))
    assert pair is not None
    with later(seconds):
        request_look(pair)
        send_all_due()


def transcript(**key: str) -> list[Message]:
    """The messages of a conversation as pages show them."""
    item = conversation(**key)
    stored = messages_of(item, item.raw.get("messages"))
    return [stored.message(number, raw=True) for number in range(1, len(stored) + 1)]


def words(**key: str) -> list[str]:
    """The words of all messages."""
    return [each.line for each in transcript(**key)]


def write_in(provider: DemoProvider, text: str = "", **more: Any) -> str:
    """Let the customer write; only the provider has it then."""
    return provider.receive(FROM, TO, text, **more)
