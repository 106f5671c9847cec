"""Sending by a company's own service: it gets a pointer to each reply, reads the stored text, and reports back.

The text itself is never in a queue. `docs/providers.md` has the format; `receipts` takes in the reports.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings

from console.errors import StoreUnavailable
from console.refs import keyed_digest
from console.store import queues
from conversations.providers import (
    CannotAsk,
    Delivery,
    ListedMedium,
    ListedMessage,
    NoAnswer,
    NotReached,
    Outgoing,
    Template,
)

VERSION, GROUP_LETTERS = 1, 32


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

    account, ahead = "", timedelta()

    def list_messages(self, channel: str, sender: str, recipient: str) -> Iterator[ListedMessage]:
        """Raise `CannotAsk`: only the service can ask its provider."""
        raise CannotAsk("The sending service has no list of messages.")

    def list_media(self, message_id: str) -> list[ListedMedium]:
        """Raise `CannotAsk`: only the service can ask its provider."""
        raise CannotAsk("The sending service has no list of messages.")
