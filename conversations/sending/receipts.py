"""Receipts: reports of a company's own service on replies that it sends (provider `outbox-only`)."""

import logging
from collections import Counter
from contextlib import suppress

from django.conf import settings

from console.errors import ConsoleError, NotFound
from console.redaction import redact
from console.store import queues
from conversations.receiving.rows import MessageRow
from conversations.sending.deliveries import note_delivery
from conversations.sending.providers import Delivery
from conversations.sending.providers.outbox_only import NotAReceipt, receipt
from conversations.sending.states import OUTBOUND, ReplyState

logger = logging.getLogger(__name__)

RECEIPTS, NOT_UNDERSTOOD = "receipts", "receipts not understood"
_LATER_THAN = {
    ReplyState.SENT: (ReplyState.SENT,),
    ReplyState.DELIVERED: (ReplyState.SENT, ReplyState.DELIVERED),
    ReplyState.READ: (ReplyState.SENT, ReplyState.DELIVERED, ReplyState.READ),
    ReplyState.FAILED: (ReplyState.SENT, ReplyState.FAILED),
}


def receive(counts: Counter[str]) -> int:
    """Take in the receipts of one read of the queue; return how many are finished. Raises the store's errors."""
    if not settings.RECEIPTS_QUEUE_URL:
        return 0
    brought = queues.receive(settings.RECEIPTS_QUEUE_URL, wait=0)
    finished = []
    for each in brought:
        try:
            _take_in(each.body)
            counts[RECEIPTS] += 1
        except NotAReceipt:
            counts[NOT_UNDERSTOOD] += 1
            logger.warning("A message in the receipts queue is no receipt.")
        except ConsoleError as error:
            logger.warning("A receipt comes again: %s", type(error).__name__)
            continue
        finished.append(each)
    queues.delete(settings.RECEIPTS_QUEUE_URL, finished)
    return len(finished)


def _take_in(body: str) -> None:
    reported = receipt(body)
    with suppress(NotFound):
        row = MessageRow.get(reported.conversation, reported.position, consistent_read=True)
        is_ours = row.direction == OUTBOUND and row.message_id == reported.reply_id
        # Receipts come in any order: none moves a reply back to an earlier state.
        if is_ours and row.state in _LATER_THAN.get(ReplyState(reported.state.value), ()):
            note_delivery(row, Delivery(reported.state, reported.code, redact(reported.reason)))
