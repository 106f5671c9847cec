"""The recipient in full, after an audited reveal, and how the person who holds a conversation answers."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from console.bidi import isolated
from console.permissions import Staff
from console.redaction import redact
from console.trees import text_of
from conversations.models import Conversation
from conversations.reading import identifier_for

_NUMBER = re.compile(r"\+?\d{7,15}", re.ASCII)
_EMAIL = re.compile(r"[^\s@<>\"']{1,64}@[^\s@<>\"']{1,255}")
CHANNELS = {"whatsapp": "WhatsApp", "sms": "SMS", "email": "email"}
# Where the company's own number or address is: the copy for the index, else in the channel's configuration.
_OURS = {
    "whatsapp": ("gsi_company_whatsapp_number", "company_whatsapp_number"),
    "sms": ("gsi_company_sms_number", "company_sms_number"),
    "email": ("gsi_company_email", "company_email"),
}


@dataclass(frozen=True, slots=True)
class StoreLink:
    """A link that opens the channel's own application with the recipient."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """How to answer, for the holder: the channel, the company's own number or address, the recipient masked."""

    channel: str
    ours: str
    masked: str


@dataclass(frozen=True, slots=True)
class Revealed:
    """The recipient in full. Only for the answer to an audited reveal: never stored, cached or put into a URL."""

    number: str = ""
    email: str = ""
    name: str = ""
    links: tuple[StoreLink, ...] = ()


def answer_of(item: Conversation, staff: Staff) -> StoreAnswer:
    """How that person answers in this conversation."""
    channel = channel_of(item)
    return StoreAnswer(
        channel=CHANNELS.get(channel, redact(text_of(item.plain("channel_method") or ""))[:40]),
        ours=_ours(item, channel),
        masked=identifier_for(item.primary_channel, staff),
    )


def revealed(item: Conversation) -> Revealed:
    """Number, email and name as stored, whatever their type, with the links to write to them."""
    number = _stored(item, "recipient_tel") or (item.primary_channel if _number(item.primary_channel) else "")
    email = _stored(item, "recipient_email") or (item.primary_channel if _EMAIL.fullmatch(item.primary_channel) else "")
    names = (_stored(item, "recipient_first_name"), _stored(item, "recipient_last_name"))
    if not number and not email:
        number = item.primary_channel
    name = " ".join(isolated(each) for each in names if each)
    return Revealed(number, email, name, tuple(_links(number, email, channel_of(item))))


def channel_of(item: Conversation) -> str:
    """The channel's name in lower case; "" where it is not text."""
    value = item.plain("channel_method")
    return value.strip().lower() if isinstance(value, str) else ""


def _links(number: str, email: str, channel: str) -> list[StoreLink]:
    links = []
    digits = _number(number)
    # Without its country code a number opens nobody, or somebody else, in WhatsApp.
    if digits and not digits.startswith("0"):
        links.append(StoreLink("Open in WhatsApp", f"https://wa.me/{digits}"))
    if digits:
        links.append(StoreLink("Write an SMS", f"sms:{digits}" if digits.startswith("0") else f"sms:+{digits}"))
    if channel == "sms":
        links.reverse()
    if _EMAIL.fullmatch(email):
        links.insert(
            0 if channel == "email" else len(links), StoreLink("Write an email", f"mailto:{quote(email, safe='@')}")
        )
    return links


def _number(text: str) -> str:
    """The digits of a telephone number; "" for anything else."""
    compact = re.sub(r"[\s().-]", "", text)
    return compact.lstrip("+") if _NUMBER.fullmatch(compact) else ""


def _stored(item: Conversation, name: str) -> str:
    value = item.plain(name)
    return "" if value is None or isinstance(value, bool | dict | list) else text_of(value).strip()


def _ours(item: Conversation, channel: str) -> str:
    names = _OURS.get(channel)
    if names is None:
        return ""
    return _stored(item, names[0]) or _named(item.plain("channel_config"), names[1])


def _named(configuration: Any, name: str, depth: int = 0) -> str:
    """A text of that name in a configuration: at its top, or below the channel that it is for."""
    if not isinstance(configuration, dict) or depth > 3:
        return ""
    value = configuration.get(name)
    if isinstance(value, str) and value.strip():
        return value.strip()
    return next((found for each in configuration.values() if (found := _named(each, name, depth + 1))), "")
