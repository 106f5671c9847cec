"""Providers that deliver messages to customers: one module each, behind one small interface.

Sending has one of four outcomes: accepted (its id), `Rejected` (the provider refused it), `NotReached` (it was
certainly not handed over) or `NoAnswer` (it may have been accepted). An adapter never sends anything twice, and never
retries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol


class DeliveryState(StrEnum):
    """The delivery state of an accepted message, as its provider reports it."""

    SENT = "sent"
    DELIVERED = "delivered"
    READ = "read"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to hand to a provider.

    `sender` is the company's own number or address, `recipient` the customer's. With `template`, the id of a template
    that the provider knows, `variables` fill its blanks and `text` is the result. For an email, `answers` are the ids
    of the messages that it answers, oldest first. `begun_at` is when its sending began. `row` is where the reply is
    stored (`table`, `conversation`, `position`), for services that read it from there. `others` are the provider's ids
    of other messages in this conversation: the same text may be sent twice.
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
    """The delivery of a message. For a failure, `code` is the provider's own, and `words` explain it to people."""

    state: DeliveryState
    code: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A message that the provider approved. `variables` are the names of its blanks, in order, with examples."""

    template_id: str
    body: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ListedMessage:
    """A message in a provider's list. `at` is the provider's own time; addresses are as the provider writes them.

    `media` is the number of its media; `is_answer`: sent by a program through the provider's API.
    """

    message_id: str
    at: datetime
    sender: str
    recipient: str
    text: str
    media: int = 0
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class ListedMedium:
    """A medium of a message in a provider's list: its content type, and where the provider has it."""

    content_type: str
    url: str


class Rejected(Exception):
    """Raised when the provider refused and would refuse again. `code` is its own, `words` explain it to people."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(code)
        self.code, self.words = code, words


class CredentialsRejected(Rejected):
    """Raised when the provider does not accept the company's credentials."""


class NotReached(Exception):
    """Raised when the message was certainly not accepted: the provider was not reached, or was too busy.

    `retry_after`: seconds after which to retry, 0 if the provider did not say.
    """

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class NoAnswer(Exception):
    """Raised when the message may have been accepted: the answer was lost, or could not be read."""


class CannotAsk(Exception):
    """Raised when the provider cannot be asked about messages with these credentials: the outcome stays unknown."""


class Provider(Protocol):
    """An adapter, made with the content of a company's secret. All calls have time-outs and none is retried."""

    def send(self, message: Outgoing) -> str:
        """Hand over a message; return the provider's id for it.

        Raises `Rejected`, `CredentialsRejected`, `NotReached` and `NoAnswer`.
        """

    def find(self, message: Outgoing) -> str | None:
        """Return the id of a message that may have been handed over, None if the provider does not know it.

        Raises `CannotAsk`, and as `send`.
        """

    def delivery(self, provider_id: str) -> Delivery:
        """Return the delivery of a message. Raises `CannotAsk`, and as `send`."""

    def template(self, template_id: str) -> Template:
        """Return an approved template. Raises `CannotAsk` if the provider has none, and as `send`."""

    def list_messages(self, channel: str, sender: str, recipient: str) -> Iterator[ListedMessage]:
        """Yield the messages from one number to another, the newest first, page by page.

        Raises `CannotAsk` if the provider has no such list, and as `send`.
        """

    def list_media(self, message_id: str) -> list[ListedMedium]:
        """Return the media of a listed message. Raises as `list_messages`."""

    @property
    def account(self) -> str:
        """The account at the provider whose rate limits hold, "" for none."""

    @property
    def ahead(self) -> timedelta:
        """How far the provider's clock was ahead of ours in its last answer; 0 if it did not say."""


# Longer than any provider asks to wait.
LONGEST_RETRY_SECONDS = 3600.0


def credential(secret: Mapping[str, Any], key: str) -> str:
    """Return a credential from a company's secret. Raises `CredentialsRejected` if it is missing or no plain text."""
    value = secret.get(key)
    text = value.strip() if isinstance(value, str) else ""
    # Only printable ASCII is valid in a header, and the error of an invalid header would quote it.
    if not text or not text.isascii() or not text.isprintable():
        raise CredentialsRejected("", f"The company's secret has no usable {key}. Ask an administrator to correct it.")
    return text


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that a busy provider asks to wait, 1 if it does not say."""
    text = str(headers.get("Retry-After") or "").strip()
    seconds = float(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1.0
    return min(seconds, LONGEST_RETRY_SECONDS)
