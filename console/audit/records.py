"""What views and templates see of the trail: frozen and redacted."""

from dataclasses import dataclass, field
from datetime import datetime

from console.trees import Node


@dataclass(frozen=True, slots=True)
class TrailRow:
    """One line of a trail: an audit entry or an idempotency record, in words (`sentence`).

    `outcome` is pending, success, conflict, failed, refused (a denial) or unknown; `note` is why. `key` is the
    idempotency key and `record` what its record says, both masked. `drift` names what could not be read. `reference`
    is the sealed one of the entry's own page, "" for a record.
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

    `recipient` are the names of a conversation's recipient, to be masked and never shown.
    """

    rows: tuple[TrailRow, ...]
    next: str = ""
    notices: tuple[str, ...] = ()
    recipient: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class HandOffEntry:
    """A hand-off action in a conversation's trail. `reason` is redacted; `is_staff` is False for services.

    `to`: the username of the colleague who got it, "" where nobody did.
    """

    at: datetime
    action: str
    actor: str
    is_staff: bool
    outcome: str
    action_id: str
    reason: str = ""
    to: str = ""
