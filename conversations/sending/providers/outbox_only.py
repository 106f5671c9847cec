"""A company's own service sends: it gets a pointer to each reply, reads the text where it is stored, and reports back.

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
# Of a receipt, in characters.
LONGEST_RECEIPT, LONGEST_ID, LONGEST_CODE, LONGEST_REASON = 10_000, 200, 40, 300
# DynamoDB's own limit of a partition and of a sort key together, in bytes.
LONGEST_KEY = 3_072


class OutboxOnly:
    """A queue of a company's own sending service."""

    def __init__(self, secret: Mapping[str, Any]) -> None:
        """Take no notice of the secret: the service has its own."""

    def send(self, message: Outgoing) -> str:
        """Put a pointer to a reply into the service's FIFO queue, one conversation's in their order; return its id."""
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
        """Raise `CannotAsk`: receipts tell."""
        raise CannotAsk("The sending service reports by itself.")

    def delivery(self, provider_id: str) -> Delivery:
        """Raise `CannotAsk`: receipts tell."""
        raise CannotAsk("The sending service reports by itself.")

    def template(self, template_id: str) -> Template:
        """Raise `CannotAsk`: only the service knows its templates."""
        raise CannotAsk("The sending service has no list of templates.")


class NotAReceipt(ValueError):
    """A message on the queue of receipts that is none. Its words do not quote it."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a sending service says became of a reply. `code` and `reason` are its own: redact them before showing."""

    reply_id: str
    conversation: str
    position: str
    state: DeliveryState
    provider_id: str = ""
    code: str = ""
    reason: str = ""


def receipt(body: str) -> Receipt:
    """Understand a message of the queue of receipts. Raises `NotAReceipt`; keys that it does not know are ignored."""
    if len(body) > LONGEST_RECEIPT:
        raise NotAReceipt("too long")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise NotAReceipt("no JSON") from None
    row = told.get("row") if isinstance(told, dict) else None
    if not isinstance(row, dict) or told.get("state") not in list(DeliveryState):
        raise NotAReceipt("no row, or no state")
    return Receipt(
        reply_id=_line(told, "reply_id", LONGEST_ID, needed=True),
        conversation=_key(row, "conversation"),
        position=_key(row, "position"),
        state=DeliveryState(told["state"]),
        provider_id=_line(told, "provider_id", LONGEST_ID),
        code=_line(told, "code", LONGEST_CODE),
        reason=_line(told, "reason", LONGEST_REASON),
    )


def _line(told: dict[str, Any], name: str, longest: int, *, needed: bool = False) -> str:
    value = told.get(name)
    # Codes are often written as numbers.
    text = "" if value is None else str(value) if type(value) is int else value
    if not isinstance(text, str) or len(text) > longest or not text.isprintable() or (needed and not text.strip()):
        raise NotAReceipt(f"{name} is not as agreed")
    return text


def _key(row: dict[str, Any], name: str) -> str:
    """A part of a key, which another writer made: any text that DynamoDB can hold."""
    value = row.get(name)
    with suppress(UnicodeEncodeError):
        if isinstance(value, str) and 0 < len(value.encode()) <= LONGEST_KEY:
            return value
    raise NotAReceipt(f"{name} is not as agreed")
