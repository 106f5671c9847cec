"""What pages show of replies: what became of each, and whether anything of that is new."""

import math
from collections.abc import Iterable

from django.conf import settings

from console import clock
from console.redaction import redact
from console.refs import seal_data
from conversations.models import Conversation
from conversations.receiving.models import MessageRow, partition_of
from conversations.records import ReplyStatus
from conversations.sending.states import OUTBOUND, RETRIED, ReplyState

# Of a conversation's replies, as many of the latest may still change.
LATEST_REPLIES = 30
_LABELS = {
    ReplyState.QUEUED: ("sending", ""),
    ReplyState.SENDING: ("sending", ""),
    ReplyState.SENT: ("sent", ""),
    ReplyState.DELIVERED: ("delivered", "good"),
    ReplyState.READ: ("read", "good"),
    ReplyState.FAILED: ("failed", "bad"),
    ReplyState.NOT_SENT: ("not sent", "bad"),
    ReplyState.UNKNOWN: ("not known to be sent", "human"),
}


def is_configured() -> bool:
    """Whether replies can be sent from here."""
    return bool(settings.OUTBOX_QUEUE_URL)


def may_have_replies(item: Conversation) -> bool:
    """Whether people may have answered in a conversation: somebody has acted on it here."""
    return is_configured() and bool(item.hand_off_action_id)


def status_of(row: MessageRow) -> ReplyStatus:
    """What became of a reply. Never raises: another version's state is shown as it is."""
    known = next((each for each in ReplyState if each == row.state), None)
    label, tone = _LABELS.get(known, (row.state or "", "")) if known else (row.state or "unknown", "")
    leaves = clock.parse_instant(row.not_before)
    seconds = 0 if leaves is None else math.ceil((leaves - clock.now()).total_seconds())
    is_open = known is ReplyState.QUEUED and seconds > 0
    can_retry = known in RETRIED and not row.retried_by and not row.template
    return ReplyStatus(
        state=row.state or "",
        label=label,
        tone=tone,
        at=clock.parse_instant(row.state_at),
        # A sending service may have worded it.
        error=redact(row.error or ""),
        author=row.author or "",
        undo_seconds=seconds if is_open else 0,
        undo=seal_key(row) if is_open else "",
        again=seal_key(row) if can_retry else "",
    )


def seal_key(row: MessageRow) -> str:
    """A reply as the forms below it name it."""
    return seal_data("sent reply", [row.conversation, row.position])


def replies_known(rows: Iterable[MessageRow]) -> str:
    """What a page knows of a conversation's latest replies, for these rows of it; "" for none."""
    replies = sorted((row for row in rows if row.direction == OUTBOUND), key=lambda row: row.position)
    states = [f"{row.position} {row.state} {row.retried_by}" for row in replies[-LATEST_REPLIES:]]
    return "\n".join(states)


def latest_replies(item: Conversation) -> str:
    """`replies_known` as it is stored now. One Query where there may be any; raises the store's errors."""
    if not may_have_replies(item):
        return ""
    rows = MessageRow.query(
        partition_of(item.primary_channel, item.conversation_id),
        filter_condition=MessageRow.direction == OUTBOUND,
        scan_index_forward=False,
        limit=LATEST_REPLIES,
        consistent_read=True,
        attributes_to_get=["conversation", "position", "direction", "state", "retried_by"],
    )
    return replies_known(list(rows))
