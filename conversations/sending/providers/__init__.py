"""What brings a reply to a customer: one module for each provider, behind one small interface.

An adapter says one of four things of a message: accepted (its id), `Rejected` (the provider said no), `NotReached` (it
was certainly not handed over) or `NoAnswer` (nobody knows). It never sends anything twice, and never tries again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol


class DeliveryState(StrEnum):
    """What a provider says became of a message that it accepted."""

    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as a provider takes it.

    `sender` is the company's own number or address, `recipient` the customer's. With `template`, the id of one that the
    provider knows, `variables` fill its blanks and `text` is what it then says. Of an email, `answers` are the ids of
    the messages that it answers, oldest first. `begun_at` is when its sending began.
    """

    reply_id: str
    channel: str
    sender: str
    recipient: str
    text: str
    begun_at: datetime
    template: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    subject: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message. `code` is the provider's own of a failure, `words` say it to people."""

    state: DeliveryState
    code: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A message that the provider approved. `variables` are the names of its blanks, in their order, with examples."""

    template_id: str
    body: str
    variables: Mapping[str, str]


class Rejected(Exception):
    """The provider said no, and will say so again. `code` is its own, `words` say why to people."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(code)
        self.code, self.words = code, words


class CredentialsRejected(Rejected):
    """The provider does not take the company's credentials."""


class NotReached(Exception):
    """The message was certainly not accepted: the provider was not reached, or was too busy.

    `retry_after`: so many seconds later it may be tried again, 0 where the provider did not say.
    """

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class NoAnswer(Exception):
    """The message may have been accepted: the answer was lost, or could not be read."""


class CannotAsk(Exception):
    """The provider cannot be asked about messages with these credentials: nobody will ever know."""


class Provider(Protocol):
    """An adapter, made with the content of a company's secret. All calls have time-outs; none tries again."""

    def send(self, message: Outgoing) -> str:
        """Hand a message over; return the provider's id of it.

        Raises `Rejected`, `CredentialsRejected`, `NotReached` and `NoAnswer`.
        """

    def find(self, message: Outgoing) -> str | None:
        """Return the id of a message that may have been handed over; None where the provider does not know it.

        Raises `CannotAsk`, and as `send`.
        """

    def delivery(self, provider_id: str) -> Delivery:
        """Return what became of a message. Raises `CannotAsk`, and as `send`."""

    def template(self, template_id: str) -> Template:
        """Return an approved template. Raises `CannotAsk` where the provider has none, and as `send`."""
