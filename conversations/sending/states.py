"""What becomes of a reply, as its row's `state` says."""

from enum import StrEnum

# `direction` of a reply's row.
OUTBOUND = "out"


class ReplyState(StrEnum):
    """What a reply's row says."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    # The provider said no, or could not bring it to the customer.
    FAILED = "failed"
    # The provider's answer was lost: it is being asked, or cannot be.
    UNKNOWN = "unknown"
    # It certainly was not sent.
    NOT_SENT = "not sent"
    # Its author took it back before it left.
    UNDONE = "undone"


# What the customer has, as far as anybody knows.
ARRIVED = frozenset({ReplyState.SENT, ReplyState.DELIVERED, ReplyState.READ})
# People should look: nobody knows that the customer has it.
NOT_ARRIVED = frozenset({ReplyState.FAILED, ReplyState.UNKNOWN, ReplyState.NOT_SENT})
# Of these the text can be sent again, as another reply.
RETRIED = frozenset({ReplyState.FAILED, ReplyState.NOT_SENT})
