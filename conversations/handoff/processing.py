"""Whether a service is at work on a conversation, and what it may write back.

A service that generates a reply reads flag and reason while `conversation_status` says processing, and writes them back
after the AI call, seconds later. What was true when a person acted in between is kept with the record of the action.
"""

from django.conf import settings
from django.utils.crypto import salted_hmac

from conversations.handoff.effects import Raw, reason_in, text_in

STATUS_LENGTH = 60


def status_in(stored: Raw) -> str:
    """The conversation's status, "" where it is no text."""
    return text_in(stored, "conversation_status")[:STATUS_LENGTH]


def is_processing(stored: Raw) -> bool:
    """Whether a service is at work on it."""
    return says_processing(status_in(stored))


def says_processing(status: str) -> bool:
    """Whether a status says so: `processing`, or a kind of it."""
    return "processing" in status.lower()


def reason_digest(conversation_id: str, stored: Raw, *, secret: str | None = None) -> str:
    """A keyed digest by which the reason can be compared later: reasons may hold what customers wrote."""
    salt = f"hand-off reason {conversation_id}"
    return salted_hmac(salt, reason_in(stored), secret=secret, algorithm="sha256").hexdigest()


def is_same_reason(digest: str | None, conversation_id: str, stored: Raw) -> bool:
    """Whether that is the digest of the reason that is stored, made with the key of today or one of its fallbacks."""
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return any(digest == reason_digest(conversation_id, stored, secret=secret) for secret in secrets)
