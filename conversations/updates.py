"""What has changed in a conversation since a page of it was opened: told to the page, which asks again and again.

Asking is no looking: nothing of a message is read but how many there are, and nothing is put on record.
"""

from dataclasses import dataclass

from console import clock
from console.permissions import Staff
from console.refs import is_digest_of, keyed_digest
from conversations.messages import StoredMessages
from conversations.models import Conversation
from conversations.panel import Panel, panel_for
from conversations.queries import load_row
from conversations.reading import hand_off_of
from conversations.recipient import StoreAnswer, answer_of
from conversations.records import HandOff, HandOffState

# How often an open page asks. Each answer costs one read of the item, which may be large.
POLL_SECONDS = 12


@dataclass(frozen=True, slots=True)
class Updates:
    """What is new. `since` is what the page then says that it knows; `messages` is how many came; `hand_off` is words.

    `panel` and `answer` are given where the hand-off has changed.
    """

    since: str
    messages: int = 0
    hand_off: str = ""
    panel: Panel | None = None
    answer: StoreAnswer | None = None


def since_of(item: Conversation, hand_off: HandOff) -> str:
    """What a page knows of a conversation, in letters that tell nothing: the hand-off, and the item's last change."""
    return "-".join(keyed_digest(each)[:16] for each in _known(item, hand_off))


def _known(item: Conversation, hand_off: HandOff) -> tuple[str, str]:
    return "\0".join((hand_off.state, hand_off.agent, hand_off.action_id)), str(item.plain("updated_at"))


def updates_of(reference: str, staff: Staff, since: str, shown: int | None) -> Updates | None:
    """What came after `since`, for a page that knows of `shown` messages; None where nothing did.

    Where `shown` is None, nothing is told of messages. One GetItem without the messages; one more, to count
    them, where the item was changed. Raises as `load_row`.
    """
    item = load_row(reference, staff, "hand_off_note", "channel_config")
    hand_off = hand_off_of(item)
    (known_hand_off, _, known_change), (state, change) = since.partition("-"), _known(item, hand_off)
    is_changed, has_come = not is_digest_of(known_hand_off, state), not is_digest_of(known_change, change)
    if not is_changed and not has_come:
        return None
    return Updates(
        since=since_of(item, hand_off),
        messages=_came(reference, staff, shown) if shown is not None and has_come else 0,
        hand_off=_words(hand_off, staff) if is_changed and known_hand_off else "",
        panel=panel_for(item, hand_off, staff, clock.now()) if is_changed else None,
        answer=answer_of(item, staff) if is_changed else None,
    )


def _came(reference: str, staff: Staff, shown: int) -> int:
    stored = load_row(reference, staff, "messages").raw.get("messages")
    return max(0, len(StoredMessages.of(stored)) - shown)


def _words(hand_off: HandOff, staff: Staff) -> str:
    is_mine = hand_off.agent == staff.username
    match hand_off.state:
        case HandOffState.HELD:
            return "You took this conversation" if is_mine else f"{hand_off.agent_shown} took this conversation"
        case HandOffState.WAITING:
            return "This conversation waits for a human"
        case HandOffState.AI:
            return "The AI has this conversation again"
        case HandOffState.OVERRIDDEN:
            whose = "your" if is_mine else f"{hand_off.agent_shown}'s"
            return f"The platform overrode {whose} take-over"
