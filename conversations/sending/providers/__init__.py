"""What brings a reply to a customer: one module for each provider, behind one small interface.

An adapter says one of four things of a message: accepted (its id), `Rejected` (the provider said no), `NotReached` (it
was certainly not handed over) or `NoAnswer` (nobody knows). It never sends anything twice, and never tries again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


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
    the messages that it answers, oldest first. `begun_at` is when its sending began. `row` says where the reply is
    stored (`table`, `conversation`, `position`), for services that read it there. `others` are the provider's ids of
    other messages of this conversation: the same words may be sent twice.
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
    row: Mapping[str, str] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


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


# Longer than any provider asks anybody to wait.
LONGEST_RETRY_SECONDS = 3600.0


def credential(secret: Mapping[str, Any], key: str) -> str:
    """Return a credential of a company's secret. Raises `CredentialsRejected` where it is missing or no plain text."""
    value = secret.get(key)
    text = value.strip() if isinstance(value, str) else ""
    # What is not printable ASCII cannot stand in a header, and the error that said so would quote it.
    if not text or not text.isascii() or not text.isprintable():
        raise CredentialsRejected("", f"The company's secret has no usable {key}. Ask an administrator to correct it.")
    return text


def retry_after(headers: Mapping[str, str]) -> float:
    """Return how many seconds a busy provider asks to wait, 1 where it does not say."""
    text = str(headers.get("Retry-After") or "").strip()
    seconds = float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1.0
    return min(seconds, LONGEST_RETRY_SECONDS)
