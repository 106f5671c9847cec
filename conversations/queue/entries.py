"""Rows of the queue, and the order that they stand in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from conversations.models import Conversation
from conversations.reading import is_gone, summary_of
from conversations.records import ConversationSummary, HandOff, HandOffState

WAITING, MINE, COLLEAGUES, OVERRIDDEN = "waiting", "mine", "colleagues", "overridden"
TABS = (WAITING, MINE, COLLEAGUES, OVERRIDDEN)
# So much of a sealed reference tells rows apart: it begins with 16 bytes of a keyed digest.
_MARK = 12


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One conversation that a human has or waits for. `item` serves the forms of its row; templates see `summary`.

    `since` is its place in the queue: since when a human is wanted, as text that sorts as it lies in time ("" where
    nothing tells, which sorts first so that nobody is forgotten).
    """

    summary: ConversationSummary
    item: Conversation
    since: str

    @classmethod
    def of(cls, item: Conversation) -> "QueueEntry":
        """The row of an item, whoever has it."""
        summary = summary_of(item)
        requested = summary.hand_off.requested_at
        return cls(summary, item, item.hand_off_requested_at or ("" if requested is None else clock.to_iso(requested)))

    @property
    def hand_off(self) -> HandOff:
        """Who has it, and since when."""
        return self.summary.hand_off

    @property
    def order(self) -> tuple[str, str]:
        """Longest wait first."""
        return self.since, self.mark

    @property
    def mark(self) -> str:
        """Tells this row from others of the same instant."""
        return self.summary.reference[:_MARK]

    @property
    def key(self) -> tuple[str, str]:
        """Primary channel and conversation id."""
        return self.item.primary_channel, self.item.conversation_id

    def is_of(self, tab: str, username: str) -> bool:
        """Whether a tab of the queue lists it for a person."""
        state, agent = self.hand_off.state, self.hand_off.agent
        match tab:
            case "waiting":
                return state is HandOffState.WAITING
            case "mine":
                return bool(agent) and agent == username
            case "colleagues":
                return agent not in ("", username)
            case "overridden":
                return state is HandOffState.OVERRIDDEN
        return False


def entry_of(raw: dict[str, dict[str, Any]], now: datetime) -> QueueEntry | None:
    """The row of a stored item; None where the AI has it, or it is past its TTL."""
    item = Conversation.from_raw_data(raw)
    if is_gone(item, now):
        return None
    entry = QueueEntry.of(item)
    return None if entry.hand_off.state is HandOffState.AI else entry
