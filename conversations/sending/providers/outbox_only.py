"""Sending by a company's own service: it gets a pointer to each reply, reads the stored text, and reports back.

The text itself is never in a queue. `docs/providers.md` has both formats.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from console.errors import StoreUnavailable
from console.refs import keyed_digest
from console.store import queues
from conversations.sending.providers import CannotAsk, Delivery, DeliveryState, NoAnswer, NotReached, Outgoing, Template

VERSION, GROUP_LETTERS = 1, 32
# Limits of a receipt, in characters.
LONGEST_RECEIPT, LONGEST_ID, LONGEST_CODE, LONGEST_REASON = 10_000, 200, 40, 300
# DynamoDB's limit for a partition key and a sort key together, in bytes.
LONGEST_KEY = 3_072


class OutboxOnly:
    """The queue of a company's own sending service."""

    def __init__(self, secret: Mapping[str, Any]) -> None:
        """Ignore the secret: the service has its own."""

    def send(self, message: Outgoing) -> str:
        """Put a pointer to a reply into the service's FIFO queue, in order per conversation; return the reply's id."""
        pointer = {
            "version": VERSION,
            "reply_id": message.reply_id,
            "channel": message.channel,
            "from": message.sender,
            "to": message.recipient,
            "template": message.template,
            "variables": dict(message.variables),
            "subject": message.subject,
            "answers": list(message.answers),
            "row": dict(message.row),
        }
        group = keyed_digest(message.row.get("conversation", ""))[:GROUP_LETTERS]
        if not settings.SENDING_SERVICE_QUEUE_URL:
            raise NotReached("No queue of a sending service is set up.")
        try:
            queues.send(settings.SENDING_SERVICE_QUEUE_URL, json.dumps(pointer), group=group, once=message.reply_id)
        except queues.NotSent:
            raise NotReached("The queue of the sending service did not take the reply.") from None
        except StoreUnavailable:
            raise NoAnswer("The queue of the sending service did not answer.") from None
        return message.reply_id

    def find(self, message: Outgoing) -> str | None:
        """Raise `CannotAsk`: the service reports with receipts."""
        raise CannotAsk("The sending service reports by itself.")

    def delivery(self, provider_id: str) -> Delivery:
        """Raise `CannotAsk`: the service reports with receipts."""
        raise CannotAsk("The sending service reports by itself.")

    def template(self, template_id: str) -> Template:
        """Raise `CannotAsk`: only the service knows its templates."""
        raise CannotAsk("The sending service has no list of templates.")


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
