"""What a trail is called on its page: its partition without personal data."""

from console.redaction import redact
from console.trail.actions import CHAT_TRAIL, STAFF_TRAIL, SYSTEM_TRAIL, TENANT_TRAIL, THREAD_TRAIL

_NAMES = {STAFF_TRAIL: "Staff account", TENANT_TRAIL: "Tenant", THREAD_TRAIL: "Thread", CHAT_TRAIL: "Chat"}


def name_of(partition: str) -> str:
    """A trail's name: conversations by their redacted id, the others by what they are of."""
    if partition == SYSTEM_TRAIL:
        return "System"
    for prefix, words in _NAMES.items():
        if partition.startswith(prefix):
            return f"{words} {redact(partition.removeprefix(prefix))}"
    return f"Conversation {redact(partition)}"
