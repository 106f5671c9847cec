"""How people answer, and whether a customer may be answered now: one pure function for whoever shows or checks it.

Facts of the item (schema platform-conversations: `allowed_channels`, `comms_consent`), and what WhatsApp takes (schema
platform-replies).
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import quote

from console import clock
from console.permissions import Staff
from console.redaction import redact
from console.trees import isolated, text_of
from conversations.models import Conversation
from conversations.reading import OWN_ADDRESSES, channel_of, identifier_for, is_true, own_address

# WhatsApp takes free text for so long after the customer's last message, then approved templates only.
WINDOW = timedelta(hours=24)
WHATSAPP = "whatsapp"


class Obstacle(StrEnum):
    """What stands in the way of an answer."""

    CHANNEL = "channel"
    CONSENT = "consent"
    WINDOW = "window"


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """What decides. `allowed` are channels, none where the item does not say; `heard_at` is when the customer wrote."""

    channel: str
    allowed: frozenset[str]
    has_consent: bool
    heard_at: datetime | None

    @classmethod
    def of(cls, item: Conversation, heard_at: datetime | None) -> "ReplyFacts":
        """Read them from an item; `heard_at`: its customer's last message, None where there is none that says when."""
        allowed = item.plain("allowed_channels")
        named = allowed if isinstance(allowed, list) else []
        return cls(
            channel=channel_of(item),
            allowed=frozenset(each.strip().lower() for each in named if isinstance(each, str)),
            has_consent=is_true(item.plain("comms_consent")),
            heard_at=heard_at,
        )


@dataclass(frozen=True, slots=True)
class ReplyCheck:
    """What stands in the way, nothing where the customer may be answered; `until`: so long, None for no limit."""

    obstacles: tuple[Obstacle, ...]
    until: datetime | None


def check_reply(facts: ReplyFacts, now: datetime) -> ReplyCheck:
    """Tell whether free text may go to the customer at an instant. Pure; never raises."""
    obstacles = []
    if facts.allowed and facts.channel not in facts.allowed:
        obstacles.append(Obstacle.CHANNEL)
    if not facts.has_consent:
        obstacles.append(Obstacle.CONSENT)
    until = None
    if facts.channel == WHATSAPP:
        until = facts.heard_at + WINDOW if facts.heard_at is not None else None
        if until is None or until <= now:
            obstacles.append(Obstacle.WINDOW)
    return ReplyCheck(tuple(obstacles), until)


_NUMBER = re.compile(r"\+?\d{7,15}", re.ASCII)
_EMAIL = re.compile(r"[^\s@<>\"']{1,64}@[^\s@<>\"']{1,255}")
_CHANNEL_WORDS = {"whatsapp": "WhatsApp", "sms": "SMS", "email": "email"}


@dataclass(frozen=True, slots=True)
class ChannelLink:
    """A link that opens the channel's own application with the recipient."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class AnswerChannel:
    """How the holder answers: the channel, the company's own number or address, and the recipient masked.

    `until`: WhatsApp takes free text so long; `warnings` are sentences about what stands in the way of an answer.
    """

    channel: str
    ours: str
    masked: str
    until: datetime | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Revealed:
    """The recipient in full. Only for the answer to a recorded reveal: never stored, cached or put into a URL."""

    number: str = ""
    email: str = ""
    name: str = ""
    links: tuple[ChannelLink, ...] = ()


def answer_of(item: Conversation, staff: Staff, heard_at: datetime | None, now: datetime) -> AnswerChannel:
    """Return how this person answers in this conversation; `heard_at` is when its customer last wrote, if known."""
    channel = channel_of(item)
    name = _CHANNEL_WORDS.get(channel, redact(text_of(item.plain("channel_method") or ""))[:40])
    check = check_reply(ReplyFacts.of(item, heard_at), now)
    return AnswerChannel(
        channel=name,
        ours=_ours(item, channel),
        masked=identifier_for(item.primary_channel, staff),
        until=None if Obstacle.WINDOW in check.obstacles else check.until,
        warnings=tuple(_warning(each, name, check.until, now) for each in check.obstacles),
    )


def _warning(obstacle: Obstacle, channel: str, until: datetime | None, now: datetime) -> str:
    match obstacle:
        case Obstacle.CHANNEL:
            return f"This project does not allow messages over {channel or 'this channel'}."
        case Obstacle.CONSENT:
            return "This customer has not agreed to be contacted."
        case Obstacle.WINDOW:
            if until is None:
                return (
                    "WhatsApp takes free text for 24 hours after a customer writes. When this one wrote is not known."
                )
            ended = clock.format_span(now - until)
            return (
                f"The 24 hours for free text over WhatsApp ended {ended} ago. Our number can only send a template now."
            )


def revealed(item: Conversation) -> Revealed:
    """Return number, email and name as stored, whatever their type, with links to write to them."""
    number = _stored(item, "recipient_tel") or (item.primary_channel if _number(item.primary_channel) else "")
    email = _stored(item, "recipient_email") or (item.primary_channel if _EMAIL.fullmatch(item.primary_channel) else "")
    names = (_stored(item, "recipient_first_name"), _stored(item, "recipient_last_name"))
    if not number and not email:
        number = item.primary_channel
    name = " ".join(isolated(each) for each in names if each)
    return Revealed(number, email, name, tuple(_links(number, email, channel_of(item))))


def _links(number: str, email: str, channel: str) -> list[ChannelLink]:
    links = []
    digits = _number(number)
    # Without its country code, WhatsApp opens nobody or somebody else.
    if digits and not digits.startswith("0"):
        links.append(ChannelLink("Open in WhatsApp", f"https://wa.me/{digits}"))
    if digits:
        links.append(ChannelLink("Write an SMS", f"sms:{digits}" if digits.startswith("0") else f"sms:+{digits}"))
    if channel == "sms":
        links.reverse()
    if _EMAIL.fullmatch(email):
        links.insert(
            0 if channel == "email" else len(links), ChannelLink("Write an email", f"mailto:{quote(email, safe='@')}")
        )
    return links


def _number(text: str) -> str:
    """The digits of a phone number; "" for anything else."""
    compact = re.sub(r"[\s().-]", "", text)
    return compact.lstrip("+") if _NUMBER.fullmatch(compact) else ""


def _stored(item: Conversation, name: str) -> str:
    value = item.plain(name)
    return "" if value is None or isinstance(value, bool | dict | list) else text_of(value).strip()


def _ours(item: Conversation, channel: str) -> str:
    name = OWN_ADDRESSES.get(channel)
    return "" if name is None else _stored(item, f"gsi_{name}") or own_address(item.plain("channel_config"), channel)
