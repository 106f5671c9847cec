"""What a trail is called on its page: its partition without personal data."""

from console.audit.actions import SYSTEM_TRAIL
from console.redaction import redact


def name_of(partition: str) -> str:
    """A trail's name: conversations by their redacted id, the others by what they are of."""
    if partition == SYSTEM_TRAIL:
        return "System"
    for prefix, words in (("STAFF#", "Staff account"), ("TENANT#", "Tenant"), ("THREAD#", "Thread"), ("CHAT#", "Chat")):
        if partition.startswith(prefix):
            return f"{words} {redact(partition.removeprefix(prefix))}"
    return f"Conversation {redact(partition)}"
