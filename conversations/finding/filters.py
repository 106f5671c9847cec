"""The filters of lists of conversations: what each one selects."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from console import clock
from conversations.attention.levels import DEFAULTS, levels_of
from conversations.converting import hand_off_of, is_true
from conversations.models import Conversation
from conversations.records import ConversationSummary, Family, HandOffState, current_family, is_processing

# Value of the form's field → the states it selects. Overridden counts as held: its holder has to act on it.
HAND_OFF_STATES = {
    "waiting": frozenset({HandOffState.WAITING}),
    "held": frozenset({HandOffState.HELD, HandOffState.OVERRIDDEN}),
    "ai": frozenset({HandOffState.AI}),
}


# The prefix of a filter for a status family. The schema's own word "failed" selects its family too.
FAMILY = "is:"


def family_asked_for(status: str) -> Family | None:
    """Return the family that a status filter selects; None for a stored status."""
    name = Family.FAILED if status == Family.FAILED else status.removeprefix(FAMILY) if FAMILY in status else ""
    return Family(name) if name in set(Family) else None


def is_of_status(item: Conversation, status: str) -> bool:
    """Return whether an item has this status, or is now of this status family."""
    stored, family = item.plain("conversation_status"), family_asked_for(status)
    if family is None:
        return bool(stored == status)
    updated, attention = clock.parse_instant(item.plain("updated_at")), item.hand_off_attention or ""
    return _family(stored, updated, item.company_id or "", item.project_id or "", attention) is family


def family_shown(summary: ConversationSummary) -> Family | None:
    """Return the family of a row's status now; None for an unknown status."""
    return _family(summary.status, summary.updated_at, summary.company_id, summary.project_id, summary.attention)


def _family(
    status: Any, updated_at: datetime | None, company_id: str, project_id: str, attention: str
) -> Family | None:
    """Return the current family. When processing counts as stuck depends on the company's service levels."""
    levels = levels_of(company_id, project_id) if is_processing(status) else DEFAULTS
    return current_family(status, updated_at, clock.now(), levels.stuck_after, attention)


@dataclass(frozen=True, slots=True)
class ConversationFilters:
    """The filters of a list; the defaults match everything.

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
        """Whether no filter is set."""
        return self == ConversationFilters()

    @property
    def has_dates(self) -> bool:
        """Whether a date of creation is set."""
        return self.since is not None or self.until is not None

    def without(self, *names: str) -> "ConversationFilters":
        """Return a copy without these filters, which an index serves."""
        return replace(self, **{name: getattr(_NONE, name) for name in names})

    def matches(self, item: Conversation) -> bool:
        """Return whether an item matches. Timestamps are compared as instants; an unreadable one matches no range."""
        return (
            (not self.status or is_of_status(item, self.status))
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
        """Return the filters as text, which cursors are bound to."""
        return repr(self)


_NONE = ConversationFilters()
