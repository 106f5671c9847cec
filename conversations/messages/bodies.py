"""Parsing of the platform's hand-off queue messages of any shape (schema platform-replies, 4 and 6).

A body is the context object of the platform's webhook: the provider's data merged with every attribute of the
conversation's item. Names differ by channel and provider, services drift, and anybody can write to a phone number: a
body that cannot be understood raises `NotUnderstood` with a readable reason, never any other exception.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from console.trees import text_of, well_formed
from conversations.messages.kinds import MessagePart, parts_of
from conversations.messages.message import REACTION

# More than SQS takes: the size of a stage table's item.
LONGEST_BODY = 400_000
LONGEST_ID = 256

_ID = ("message_sid", "MessageSid", "message_id", "SmsMessageSid", "Message-ID", "Message-Id", "id")
# In a body merged with an item, this is the item's: the id of the thread.
_EMAIL_ID = "email_id"
_CHANNEL = ("channel_type", "channel", "channel_method")
_FROM = ("from", "From", "from_address", "sender", "from_number")
_TO = ("to", "To", "to_address", "recipient_address", "to_number")
_TEXT = ("body", "Body", "text", "content", "message", "stripped_text")
_WHEN = ("received_at", "message_timestamp", "timestamp", "date_sent")
# Parts that the router's context object of a first message has, and a reply's has not.
FIRST_PARTS = ("frontend_payload", "company_data_payload", "conversation_data")
CALLERS_PART = FIRST_PARTS[0]
CHANNELS = ("whatsapp", "sms", "email")

_PREFIX = re.compile(r"(whatsapp|sms|tel|mailto|email):", re.IGNORECASE)
_NAMED = re.compile(r"[^<>]*<([^<>\s]+)>\s*")
_NOT_IN_NUMBERS = re.compile(r"[\s().\-/]")


# A conversation's primary channel and id.
Key = tuple[str, str]


class NotUnderstood(ValueError):
    """Raised for a body that the console cannot act on. Its text is the reason, without content of the body."""


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A customer's message. Addresses are normalised (see `address`); "" means that the body does not have it.

    `message_id` is the provider's; `conversation_id` and `primary_channel` are the key that the platform found;
    `received_at` is as written, in any format; `parts` are what the message has beside its text. `edit_of` is the
    id of the message that it replaces, "" for none.
    """

    message_id: str
    channel: str
    sender: str
    ours: str
    text: str
    conversation_id: str
    primary_channel: str
    received_at: Any = None
    company_id: str = ""
    edit_of: str = ""
    parts: tuple[MessagePart, ...] = ()
    # Twilio's word for a message that opts out or in: STOP, START or HELP
    opt_out_type: str = ""
    # Whether a person put it into its conversation.
    is_put_here: bool = False

    @property
    def content(self) -> str:
        """The message in words: its text, then its other parts, each in a line."""
        # The text of a reaction is what it consists of.
        texts = [self.text] if self.text.strip() and not any(each.kind == REACTION for each in self.parts) else []
        return "\n".join([*texts, *(each.words for each in self.parts)])

    def as_edit(self) -> "InboundMessage":
        """Return the message as an edit of the one with its id."""
        return replace(self, message_id=f"{self.message_id}:{digits_of(self.content)}", edit_of=self.message_id)

    @property
    def folded(self) -> str:
        """The words by which copies from different sources are compared: the text alone, if there is any."""
        return fold(self.text) or fold(self.content)


def parsed(body: str) -> dict[str, Any]:
    """Parse a body into its object, without lone surrogates. Raises `NotUnderstood`."""
    if len(body) > LONGEST_BODY:
        raise NotUnderstood("The message is too large.")
    try:
        found = json.loads(body, parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood("The message is not JSON.") from error
    if not isinstance(found, dict):
        raise NotUnderstood("The message is not a JSON object.")
    cleaned = well_formed(found)
    return cleaned if isinstance(cleaned, dict) else {}


def about(body: str) -> tuple[str, Key | None]:
    """Return the conversation or sender that a body names ("" for none), and the conversation's full key, if present.

    Bodies with the same name must be handled in order. Never raises.
    """
    try:
        content = parsed(body)
    except NotUnderstood:
        return "", None
    conversation_id, primary_channel = _text(content.get("conversation_id")), _text(content.get("primary_channel"))
    key = (primary_channel, conversation_id) if primary_channel and conversation_id else None
    return conversation_id or address(_first(content, _FROM)), key


def is_first_message(content: Mapping[str, Any]) -> bool:
    """Return whether this is a first message that a rule holds for approval, rather than a customer's reply."""
    return any(isinstance(content.get(name), dict | str) and content.get(name) for name in FIRST_PARTS)


def inbound_message(content: Mapping[str, Any]) -> InboundMessage:
    """Return the customer's message in a body. Raises `NotUnderstood`."""
    sender, ours = _first(content, _FROM), _first(content, _TO)
    conversation_id, primary_channel = _text(content.get("conversation_id")), _text(content.get("primary_channel"))
    if not sender:
        raise NotUnderstood("The message's sender cannot be read.")
    if not conversation_id and not ours:
        raise NotUnderstood("The message names neither a conversation nor our number or address.")
    text = _text_of(content)
    return InboundMessage(
        message_id=_short(_first(content, _ID if conversation_id else (*_ID, _EMAIL_ID))),
        channel=_channel(content, sender, ours),
        sender=address(sender),
        ours=address(ours),
        text=text,
        conversation_id=conversation_id,
        primary_channel=primary_channel,
        received_at=next((content[name] for name in _WHEN if content.get(name)), None),
        company_id=_text(content.get("company_id")),
        parts=tuple(parts_of(content, text)),
        opt_out_type=_text(content.get("OptOutType")),
    )


def staged_message(fragment: Mapping[str, Any], key: Key, channel: str, sender: str) -> InboundMessage:
    """Return the customer's message in a row of the stage table, which has no addresses: the platform placed it."""
    primary_channel, conversation_id = key
    text = _text_of(fragment)
    return InboundMessage(
        message_id=_short(str(fragment["message_sid"])),
        channel=channel if channel in CHANNELS else "",
        sender=sender,
        ours="",
        text=text,
        conversation_id=conversation_id,
        primary_channel=primary_channel,
        received_at=fragment.get("received_at"),
        parts=tuple(parts_of(fragment, text)),
    )


def parties_of(content: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the channel of a message, its sender, and the number or address it was sent to; each "" if unknown."""
    sender, ours = _first(content, _FROM), _first(content, _TO)
    return _channel(content, sender, ours), address(sender), address(ours)


def message_for(content: Mapping[str, Any], key: Key) -> InboundMessage:
    """Return the customer's message in a body that a person puts into a conversation, whatever the body lacks."""
    channel, sender, ours = parties_of(content)
    text = _text_of(content)
    return InboundMessage(
        message_id=_short(_first(content, _ID)),
        channel=channel,
        sender=sender,
        ours=ours,
        text=text,
        conversation_id=key[1],
        primary_channel=key[0],
        received_at=next((content[name] for name in _WHEN if content.get(name)), None),
        parts=tuple(parts_of(content, text)),
        opt_out_type=_text(content.get("OptOutType")),
        is_put_here=True,
    )


def digits_of(text: str) -> str:
    """Return a digest of a text, in sixteen hexadecimal digits, by which the words of copies are compared."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fold(text: str) -> str:
    """Return a text with its blanks folded, in NFC, to compare the words of two copies of a message."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _short(message_id: str) -> str:
    """Return an id that fits into keys: a longer one as its digest."""
    if len(message_id) <= LONGEST_ID:
        return message_id
    return hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()


def address(written: str) -> str:
    """Normalise an address: a number as digits with a plus, an email in lower case, without prefix and name."""
    named = _NAMED.fullmatch(written)
    bare = _PREFIX.sub("", (named[1] if named else written).strip(), count=1).strip()
    if "@" in bare:
        return bare.lower()
    number = _NOT_IN_NUMBERS.sub("", bare)
    digits = number.removeprefix("+").removeprefix("00")
    return f"+{digits}" if digits.isascii() and digits.isdigit() else bare


def _channel(content: Mapping[str, Any], sender: str, ours: str) -> str:
    named = _first(content, _CHANNEL).lower()
    if named in CHANNELS:
        return named
    for written in (sender, ours):
        prefix = written.partition(":")[0].lower()
        if prefix in CHANNELS:
            return prefix
    return "email" if "@" in sender else ""


def _text_of(content: Mapping[str, Any]) -> str:
    value = next((content[name] for name in _TEXT if content.get(name) not in (None, "")), "")
    return value if isinstance(value, str) else text_of(value)


def _first(content: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := _text(content.get(name)))), "")


def _text(value: Any) -> str:
    """Return a string or number as text, "" for other types: they are no ids or addresses."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip() if isinstance(value, str) or abs(value) < 10**40 else ""
