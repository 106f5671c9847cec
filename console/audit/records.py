"""Records of the trail for views and templates: frozen and redacted."""

from dataclasses import dataclass, field
from datetime import datetime

from console.trees import Node


@dataclass(frozen=True, slots=True)
class TrailRow:
    """One line of a trail: an audit entry or an idempotency record, in words (`sentence`).

    `outcome` is pending, success, conflict, failed, refused (a denial), undone or unknown; `note` is the reason. `key`
    is the idempotency key and `record` summarizes its record, both masked. `drift` lists what could not be read.
    `reference` is the sealed reference of the entry's own page, "" for a record.
    """

    at: datetime | None
    sentence: str
    who: str
    role: str
    action: str
    outcome: str
    note: str = ""
    tone: str = ""
    key: str = ""
    record: str = ""
    payload: Node | None = None
    drift: tuple[str, ...] = ()
    reference: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether the outcome is still open."""
        return self.outcome == "pending"


@dataclass(frozen=True, slots=True)
class TrailPage:
    """One page of a trail, newest first. `next` is a sealed cursor ("" at the end); `notices` say what is missing.

    `recipient` contains the names of a conversation's recipient, for masking; they are never shown.
    """

    rows: tuple[TrailRow, ...]
    next: str = ""
    notices: tuple[str, ...] = ()
    recipient: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class HandOffEntry:
    """A hand-off action in a conversation's trail, or a remark on whether an answer is needed.

    `reason` is redacted; `is_staff` is False for services.
    `to` is the username of the colleague who received the conversation, "" if none did.
    """

    at: datetime
    action: str
    actor: str
    is_staff: bool
    outcome: str
    action_id: str
    reason: str = ""
    to: str = ""
