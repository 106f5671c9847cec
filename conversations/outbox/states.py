"""The states of a reply."""

from enum import StrEnum

# `direction` of a reply's row.
OUTBOUND = "out"


class ReplyState(StrEnum):
    """The `state` of a reply's row."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    # The provider refused it, or could not deliver it to the customer.
    FAILED = "failed"
    # The provider's answer was lost: the provider is being asked, or cannot be.
    UNKNOWN = "unknown"
    # It certainly was not sent.
    NOT_SENT = "not sent"
    # Its author took it back before it left.
    UNDONE = "undone"


# People should look: it is not known that the customer has the reply.
NOT_ARRIVED = frozenset({ReplyState.FAILED, ReplyState.UNKNOWN, ReplyState.NOT_SENT})
# The text can be sent again, as another reply.
RETRIED = frozenset({ReplyState.FAILED, ReplyState.NOT_SENT})
