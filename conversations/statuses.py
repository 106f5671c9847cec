"""Statuses of conversations in families: what services really write, beside what the schema names (platform-replies).

A status says who is to act next. Which of them mean that, is known for those that are written today; an unknown one
belongs to no family and is shown as it is.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any


class Family(StrEnum):
    """What a status means for people. Its value is its name in addresses."""

    FAILED = "failed"
    STUCK = "stuck"
    RETRYING = "retrying"
    WAITING_FOR_AI = "waiting-for-ai"
    WAITING_FOR_CUSTOMER = "waiting-for-customer"
    DONE = "done"

    @property
    def label(self) -> str:
        """The family in words."""
        return _LABELS[self]

    @property
    def tone(self) -> str:
        """Its tone, as components/_tag.html has it."""
        return _TONES.get(self, "")


_LABELS = {
    Family.FAILED: "failed",
    Family.STUCK: "stuck",
    Family.RETRYING: "retrying",
    Family.WAITING_FOR_AI: "waiting for the AI",
    Family.WAITING_FOR_CUSTOMER: "waiting for the customer",
    Family.DONE: "done",
}
_TONES = {Family.FAILED: "bad", Family.STUCK: "bad", Family.RETRYING: "human", Family.DONE: "good"}

# What services write before they try again.
RETRY = "retry"
# A status of these belongs to a family, as does what begins with its prefix: services write `failed_…`.
_PROCESSING = "processing"
PREFIXES = {Family.FAILED: "failed_", Family.WAITING_FOR_AI: f"{_PROCESSING}_"}
STATUSES: dict[Family, tuple[str, ...]] = {
    Family.FAILED: ("failed", "error"),
    Family.RETRYING: (RETRY, "retrying"),
    Family.WAITING_FOR_AI: (_PROCESSING, "processing_reply", "received", "queued"),
    Family.WAITING_FOR_CUSTOMER: ("initial_message_sent", "awaiting_reply", "reply_sent"),
    Family.DONE: ("completed", "complete", "done", "closed"),
}
_FAMILIES = {status: family for family, statuses in STATUSES.items() for status in statuses}
# What is processed for longer than any service runs has been given up by it, and nobody else can answer.
STUCK_AFTER = timedelta(minutes=15)


def family_of(status: Any) -> Family | None:
    """Return the family of a stored status, as far as the status alone tells; None for an unknown one."""
    if not isinstance(status, str):
        return None
    lowered = status.strip().lower()
    found = _FAMILIES.get(lowered)
    return found or next((family for family, prefix in PREFIXES.items() if lowered.startswith(prefix)), None)


def is_given_up(status: Any, found: str) -> bool:
    """Whether no service works on a conversation of that status any more. `found`: why it needs attention, "" if not.

    What is processed was given up only where it was found stuck: a service may have come to another one since.
    """
    is_failed = family_of(status) is Family.FAILED
    return bool(found) and (is_failed or (found == Family.STUCK and can_get_stuck(status)))


def can_get_stuck(status: Any) -> bool:
    """Whether a status says that a service is at work, or means to be: after a while it has given up."""
    return is_processing(status) or family_of(status) is Family.RETRYING


def is_processing(status: Any) -> bool:
    """Whether a status says that a service is at work: `processing`, or a kind of it."""
    return isinstance(status, str) and _PROCESSING in status.lower()


def family_now(
    status: Any, updated_at: datetime | None, now: datetime, stuck_after: timedelta = STUCK_AFTER
) -> Family | None:
    """Return the family at a time: what has been processed for `stuck_after` is stuck."""
    if is_processing(status):
        is_stuck = updated_at is not None and now - updated_at >= stuck_after
        return Family.STUCK if is_stuck else Family.WAITING_FOR_AI
    return family_of(status)
