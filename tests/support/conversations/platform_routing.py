"""A double of the platform's routing of replies, written from its public code: it never looks at the flag."""

from typing import Any

PEOPLE, AI = "people", "ai"


def route(item: dict[str, Any], sender: str) -> str:
    """Where the next message of `sender` goes: to the queue of people, or to the channel's queue and the AI."""
    if item.get("auto_queue_reply_message") is True:
        return PEOPLE
    for attribute in ("auto_queue_reply_message_from_number", "auto_queue_reply_message_from_email"):
        if sender in (item.get(attribute) or ()):
            return PEOPLE
    return AI
