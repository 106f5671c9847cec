"""The lock with which the platform's AI keeps others away while it answers, as an item shows it. No I/O."""

from conversations import records
from conversations.handoff.stored import Raw, status_in

# Since when the console has seen the lock. Never stored on the item: `attention.locks` adds it.
LOCKED_SINCE = "lock_seen_at"


def is_locked(stored: Raw) -> bool:
    """Return whether the platform's AI has the conversation for itself: it then refuses the customer's messages."""
    return status_in(stored).strip().lower() == records.LOCKED
