"""Receipts (`docs/providers.md`): reports of a company's own service, `outbox-only`, on the replies that it sends."""

import json
import logging
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from console.errors import ConsoleError, NotFound
from console.redaction import redact
from console.store import queues
from conversations.outbox.rows import MessageRow
from conversations.outbox.states import OUTBOUND, ReplyState
from conversations.providers import Delivery, DeliveryState
from conversations.sending.deliveries import note_delivery

logger = logging.getLogger(__name__)

RECEIPTS, NOT_UNDERSTOOD = "receipts", "receipts not understood"
# Limits of a receipt, in characters.
LONGEST_RECEIPT, LONGEST_ID, LONGEST_CODE, LONGEST_REASON = 10_000, 200, 40, 300
# DynamoDB's limit for a partition key and a sort key together, in bytes.
LONGEST_KEY = 3_072
_LATER_THAN = {
    ReplyState.SENT: (ReplyState.SENT,),
    ReplyState.DELIVERED: (ReplyState.SENT, ReplyState.DELIVERED),
    ReplyState.READ: (ReplyState.SENT, ReplyState.DELIVERED, ReplyState.READ),
    ReplyState.FAILED: (ReplyState.SENT, ReplyState.FAILED),
}


class NotAReceipt(ValueError):
    """Raised for an invalid message in the queue of receipts. Its text does not quote the message."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A sending service's report on a reply. `code` and `reason` are its own: redact them before showing them."""

    reply_id: str
    conversation: str
    position: str
    state: DeliveryState
    provider_id: str = ""
    code: str = ""
    reason: str = ""


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


def receipt(body: str) -> Receipt:
    """Parse a message of the receipts queue; unknown keys are ignored. Raises `NotAReceipt`."""
    if len(body) > LONGEST_RECEIPT:
        raise NotAReceipt("too long")
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise NotAReceipt("no JSON") from None
    row = parsed.get("row") if isinstance(parsed, dict) else None
    if not isinstance(row, dict) or parsed.get("state") not in list(DeliveryState):
        raise NotAReceipt("no row, or no state")
    return Receipt(
        reply_id=_line(parsed, "reply_id", LONGEST_ID, needed=True),
        conversation=_key(row, "conversation"),
        position=_key(row, "position"),
        state=DeliveryState(parsed["state"]),
        provider_id=_line(parsed, "provider_id", LONGEST_ID),
        code=_line(parsed, "code", LONGEST_CODE),
        reason=_line(parsed, "reason", LONGEST_REASON),
    )


def _line(parsed: dict[str, Any], name: str, longest: int, *, needed: bool = False) -> str:
    value = parsed.get(name)
    # Codes are often written as numbers.
    text = "" if value is None else str(value) if type(value) is int else value
    if not isinstance(text, str) or len(text) > longest or not text.isprintable() or (needed and not text.strip()):
        raise NotAReceipt(f"{name} is not as agreed")
    return text


def _key(row: dict[str, Any], name: str) -> str:
    """Return a part of a key, which another service wrote: any text that DynamoDB can store."""
    value = row.get(name)
    with suppress(UnicodeEncodeError):
        if isinstance(value, str) and 0 < len(value.encode()) <= LONGEST_KEY:
            return value
    raise NotAReceipt(f"{name} is not as agreed")
