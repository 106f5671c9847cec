"""The filters of a list of conversations, applied to what was read: drifted items must not vanish unread."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from console import clock
from conversations.models import Conversation
from conversations.reading import hand_off_of, is_true
from conversations.records import HandOffState

# The choice of the form → the states it means. Overridden is still somebody's: they have to act on it.
HAND_OFF_STATES = {
    "waiting": frozenset({HandOffState.WAITING}),
    "held": frozenset({HandOffState.HELD, HandOffState.OVERRIDDEN}),
    "ai": frozenset({HandOffState.AI}),
}


# The schema's word for what its services write as `failed_…`, each with what failed.
FAILED = "failed"


def is_of_status(stored: Any, status: str) -> bool:
    """Whether a stored status is the one that is asked for; `failed` is all that begin with it as a word."""
    if stored == status:
        return True
    return status == FAILED and isinstance(stored, str) and stored.startswith(f"{FAILED}_")


@dataclass(frozen=True, slots=True)
class ConversationFilters:
    """What a list is narrowed to; the defaults let everything through.

    `status` (see `is_of_status`) and `channel` are compared as stored; `hand_off` is a key of HAND_OFF_STATES; `since`
    (included) and `until` (not included) are instants of creation.
    """

    status: str = ""
    channel: str = ""
    hand_off: str = ""
    task: bool | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_empty(self) -> bool:
        """True when nothing is filtered."""
        return self == ConversationFilters()

    @property
    def has_dates(self) -> bool:
        """Whether creation is bounded."""
        return self.since is not None or self.until is not None

    def without(self, *names: str) -> "ConversationFilters":
        """The filters that are left when others are served by an index."""
        return replace(self, **{name: getattr(_NONE, name) for name in names})

    def matches(self, item: Conversation) -> bool:
        """Whether an item passes. Timestamps are compared as instants; one that cannot be read matches no range."""
        return (
            (not self.status or is_of_status(item.plain("conversation_status"), self.status))
            and (not self.channel or item.plain("channel_method") == self.channel)
            and (not self.hand_off or hand_off_of(item).state in HAND_OFF_STATES[self.hand_off])
            and (self.task is None or self.task == is_true(item.plain("task_complete")))
            and (not self.has_dates or self._created_within(item.plain("created_at")))
        )

    def _created_within(self, value: Any) -> bool:
        created = clock.parse_instant(value)
        return (
            created is not None
            and (self.since is None or created >= self.since)
            and (self.until is None or created < self.until)
        )

    def binding(self) -> str:
        """The filters as text, to bind cursors to."""
        return repr(self)


_NONE = ConversationFilters()
