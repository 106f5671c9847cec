"""MESSAGES, ours: what customers and people write to each other, and what could not be placed."""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from console.store.models import StoreModel, TableMeta

# Partition of what could not be placed.
NOT_PLACED = "not placed"
# Partition of the sparse index: rows that are still to be put onto their conversation's item.
TO_APPEND = "append"
# Replies that are to be sent, whose sending is to be settled, and whose delivery is to be asked for.
TO_SEND, TO_SETTLE, TO_ASK = "send", "settle", "delivery"
# Templates that are to be fetched from the provider.
TO_FETCH = "template"
# The row that says what a customer wrote last has a partition of its own, so that it can be read with those of others.
LATEST = "latest"


class DueIndex(GlobalSecondaryIndex["MessageRow"]):
    """Rows with work left, by when it is due."""

    class Meta:
        index_name = "due-index"
        projection = IncludeProjection(["company_id"])

    gsi_due = UnicodeAttribute(hash_key=True)
    due_at = UnicodeAttribute(range_key=True)


class MessageRow(StoreModel):
    """One message or reply. `position` is `{instant}#{message id}`; `on_item`: the conversation's own item has it too.

    Of what could not be placed, `not_placed_because` says why, and `body` is what stood in the queue (`is_cut`: its
    beginning).
    """

    class Meta(TableMeta):
        table_key = "MESSAGES"

    conversation = UnicodeAttribute(hash_key=True)
    position = UnicodeAttribute(range_key=True)
    company_id = UnicodeAttribute(null=True)
    direction = UnicodeAttribute(null=True)
    message_id = UnicodeAttribute(null=True)
    channel = UnicodeAttribute(null=True)
    content = UnicodeAttribute(null=True)
    state = UnicodeAttribute(null=True)
    source = UnicodeAttribute(null=True)
    not_placed_because = UnicodeAttribute(null=True)
    body = UnicodeAttribute(null=True)
    is_cut = BooleanAttribute(null=True)
    on_item = BooleanAttribute(null=True)
    received_at = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    gsi_due = UnicodeAttribute(null=True)
    due_at = UnicodeAttribute(null=True)

    # Of the row `LATEST`: how many messages nobody has answered, as far as the console knows
    unanswered = NumberAttribute(null=True)

    # Of a first message that waits for approval: who is at it, or decided, since when, and in which entry of the trail
    project_id = UnicodeAttribute(null=True)
    decided_by = UnicodeAttribute(null=True)
    decided_at = UnicodeAttribute(null=True)
    decision_id = UnicodeAttribute(null=True)

    # Of a reply: who wrote it, and when it may leave at the earliest
    author = UnicodeAttribute(null=True)
    author_name = UnicodeAttribute(null=True)
    not_before = UnicodeAttribute(null=True)
    template = UnicodeAttribute(null=True)
    variables = UnicodeAttribute(null=True)
    # its entry in the trail, and its idempotency record
    ts_action_id = UnicodeAttribute(null=True)
    event_id = UnicodeAttribute(null=True)
    # who sends it, since when, and how: as it was handed to the provider
    sending_id = UnicodeAttribute(null=True)
    begun_at = UnicodeAttribute(null=True)
    sender = UnicodeAttribute(null=True)
    recipient = UnicodeAttribute(null=True)
    credentials = UnicodeAttribute(null=True)
    subject = UnicodeAttribute(null=True)
    answers = UnicodeAttribute(null=True)
    # what became of it
    provider_id = UnicodeAttribute(null=True)
    sent_at = UnicodeAttribute(null=True)
    state_at = UnicodeAttribute(null=True)
    asked = NumberAttribute(null=True)
    error_code = UnicodeAttribute(null=True)
    error = UnicodeAttribute(null=True)
    # the reply that was written in its place
    retried_by = UnicodeAttribute(null=True)

    due_index = DueIndex()


def approvals_of(company_id: str) -> str:
    """The partition of a company's first messages that wait for approval."""
    return f"to approve\n{company_id}"


def decided_of(company_id: str) -> str:
    """The partition of a company's first messages that somebody has decided about."""
    return f"decided\n{company_id}"


def partition_of(primary_channel: str, conversation_id: str) -> str:
    """The partition of a conversation's messages: both halves of its key, which alone are not unique."""
    return f"{conversation_id}\n{primary_channel}"


def latest_of(conversation: str) -> str:
    """The partition of what the customer of a conversation wrote last, for the partition of its messages."""
    return f"{LATEST}\n{conversation}"


def position_of(received_at: str, message_id: str) -> str:
    """The sort key of a message."""
    return f"{received_at}#{message_id}"
