"""How people answer, and whether a customer may be answered now: one pure function for every page and check.

It uses facts of the item (schema platform-conversations: `allowed_channels`, `comms_consent`) and WhatsApp's rules
(schema platform-replies).
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from urllib.parse import quote

from console import clock
from console.permissions import Staff
from console.redaction import redact
from console.store.connection import known_absent
from console.trees import isolated, text_of
from conversations.converting import OWN_ADDRESSES, channel_of, from_config, hand_off_of, identifier_for, is_true
from conversations.models import Conversation
from conversations.outbox.rows import is_configured
from conversations.records import HandOffState

# The attributes that say between whom a conversation is: a customer, and a company's own number or address.
BETWEEN = (
    *("primary_channel", "conversation_id", "company_id", "ttl", "channel_method", "channel_config"),
    *("recipient_tel", "recipient_email"),
    *(f"gsi_{name}" for name in OWN_ADDRESSES.values()),
)
# WhatsApp accepts free text for this long after the customer's last message, then approved templates only.
WINDOW = timedelta(hours=24)
WHATSAPP = "whatsapp"
# Maximum characters of one message, for each channel over which replies can be sent.
MAX_CHARACTERS = {WHATSAPP: 1_600, "sms": 1_600, "email": 20_000}


class Obstacle(StrEnum):
    """A reason why a reply cannot be sent."""

    HOLDER = "holder"
    CHANNEL = "channel"
    CONSENT = "consent"
    OPTED_OUT = "opted out"
    WINDOW = "window"
    SENDER = "sender"
    RECIPIENT = "recipient"
    CREDENTIALS = "credentials"
    EMPTY = "empty"
    LENGTH = "length"


# Obstacles that also apply to an answer from another application.
CUSTOMER_OBSTACLES = (Obstacle.CHANNEL, Obstacle.CONSENT, Obstacle.WINDOW)


@dataclass(frozen=True, slots=True)
class ReplyFacts:
    """The facts that `check_reply` decides on. `allowed` are channels, empty if the item names none.

    `heard_at` is when the customer last wrote, `holder` the agent who holds the conversation ("" for none). `sender` is
    the company's own number or address, `recipient` the customer's, and `credentials` the name of the company's
    secret; each is "" if the item does not name it.
    """

    channel: str
    allowed: frozenset[str]
    has_consent: bool
    heard_at: datetime | None
    holder: str = ""
    sender: str = ""
    recipient: str = ""
    credentials: str = ""
    # Whether the customer wants no more messages from that sender.
    is_opted_out: bool = False

    @classmethod
    def of(cls, item: Conversation, heard_at: datetime | None) -> "ReplyFacts":
        """Read the facts of an item; `heard_at` is the time of its customer's last message, None if unknown."""
        allowed = item.plain("allowed_channels")
        named = allowed if isinstance(allowed, list) else []
        channel, hand_off = channel_of(item), hand_off_of(item)
        return cls(
            channel=channel,
            allowed=frozenset(each.strip().lower() for each in named if isinstance(each, str)),
            has_consent=is_true(item.plain("comms_consent")),
            heard_at=heard_at,
            holder=hand_off.agent if hand_off.state is HandOffState.HELD else "",
            sender=sender_of(item, channel),
            recipient=recipient_of(item, channel),
            credentials=from_config(item.plain("channel_config"), channel, f"{channel}_credentials_id"),
        )


@dataclass(frozen=True, slots=True)
class ReplyDraft:
    """A reply to check. `is_template`: the approved template; `is_accepted`: it was accepted before."""

    author: str
    text: str
    is_template: bool = False
    is_accepted: bool = False


@dataclass(frozen=True, slots=True)
class ReplyCheck:
    """The result of a check: the obstacles, () if the reply may go, and when the window ends (None for no limit)."""

    obstacles: tuple[Obstacle, ...]
    until: datetime | None


def check_reply(facts: ReplyFacts, now: datetime, draft: ReplyDraft | None = None) -> ReplyCheck:
    """Return what prevents a reply at an instant; without a draft, what prevents any reply. Pure; never raises.

    The author has to hold the conversation. An accepted reply also goes if nobody holds it any more, because its author
    may answer and hand back right away.
    """
    ends = facts.heard_at + WINDOW if facts.heard_at is not None and facts.channel == WHATSAPP else None
    found = {
        Obstacle.CHANNEL: bool(facts.allowed) and facts.channel not in facts.allowed,
        Obstacle.CONSENT: not facts.has_consent,
        Obstacle.OPTED_OUT: facts.is_opted_out,
        Obstacle.WINDOW: facts.channel == WHATSAPP and (ends is None or ends <= now),
        Obstacle.SENDER: not facts.sender,
        Obstacle.RECIPIENT: not facts.recipient,
        Obstacle.CREDENTIALS: not facts.credentials,
    }
    if draft is not None:
        allowed_holders = (draft.author, "") if draft.is_accepted else (draft.author,)
        found |= {
            Obstacle.HOLDER: facts.holder not in allowed_holders,
            Obstacle.WINDOW: found[Obstacle.WINDOW] and not draft.is_template,
            Obstacle.EMPTY: not draft.text.strip(),
            Obstacle.LENGTH: length_of(draft.text) > MAX_CHARACTERS.get(facts.channel, 0),
        }
    return ReplyCheck(tuple(each for each in Obstacle if found.get(each)), ends)


def length_of(text: str) -> int:
    """Return the length of a text in UTF-16 code units, as browsers and providers count it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def explain_obstacle(obstacle: Obstacle, channel: str) -> str:
    """Explain an obstacle in a sentence. `channel` is a name to show: `WhatsApp`, `SMS`, `email`."""
    match obstacle:
        case Obstacle.HOLDER:
            return "A colleague has this conversation now."
        case Obstacle.CHANNEL:
            return f"This project does not allow messages over {channel or 'this channel'}."
        case Obstacle.CONSENT:
            return "This customer has not agreed to be contacted."
        case Obstacle.OPTED_OUT:
            return "This customer asked for no more messages (STOP)."
        case Obstacle.WINDOW:
            return "WhatsApp’s 24 hours for free text have ended."
        case Obstacle.SENDER:
            which = f"{channel} " if channel else ""
            return f"The conversation does not say which {which}number or address to answer from."
        case Obstacle.RECIPIENT:
            return "The conversation has no customer number or address that you can write to."
        case Obstacle.CREDENTIALS:
            return f"The conversation does not name the credentials for {channel or 'its channel'}."
        case Obstacle.EMPTY:
            return "Write a reply."
        case Obstacle.LENGTH:
            longest = MAX_CHARACTERS.get(channel.lower(), 0)
            return (
                f"Shorten the reply to {longest:,} characters."
                if longest
                else "Replies cannot be sent over this channel."
            )


_NUMBER = re.compile(r"\+?\d{7,15}", re.ASCII)
_EMAIL = re.compile(r"[^\s@<>\"']{1,64}@[^\s@<>\"']{1,255}")
_CHANNEL_WORDS = {"whatsapp": "WhatsApp", "sms": "SMS", "email": "email"}


@dataclass(frozen=True, slots=True)
class ChannelLink:
    """A link that opens the person's own application for a channel with the recipient filled in."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class AnswerChannel:
    """How the holder answers: the channel, the company's own number or address, and the recipient masked.

    `until` is when WhatsApp stops accepting free text; `warnings` explain the obstacles in sentences. `is_sent_here`:
    the page has a reply box, which shows both.
    """

    channel: str
    ours: str
    masked: str
    until: datetime | None
    warnings: tuple[str, ...]
    is_sent_here: bool = False


@dataclass(frozen=True, slots=True)
class Revealed:
    """The recipient in full. Only for the response to a recorded reveal; never stored, cached or put into a URL."""

    number: str = ""
    email: str = ""
    name: str = ""
    links: tuple[ChannelLink, ...] = ()


def answer_of(item: Conversation, staff: Staff, heard_at: datetime | None, now: datetime) -> AnswerChannel:
    """Return how this person answers a conversation; `heard_at` is when its customer last wrote, if known."""
    channel = channel_of(item)
    name = channel_words(item)
    check = check_reply(ReplyFacts.of(item, heard_at), now)
    return AnswerChannel(
        channel=name,
        ours=sender_of(item, channel),
        masked=identifier_for(item.primary_channel, staff),
        until=None if Obstacle.WINDOW in check.obstacles else check.until,
        warnings=tuple(
            _warning(each, name, check.until, now) for each in check.obstacles if each in CUSTOMER_OBSTACLES
        ),
        is_sent_here=is_configured() and not known_absent("MESSAGES"),
    )


def _warning(obstacle: Obstacle, channel: str, until: datetime | None, now: datetime) -> str:
    if obstacle is not Obstacle.WINDOW:
        return explain_obstacle(obstacle, channel)
    if until is None:
        return (
            "WhatsApp accepts free text for 24 hours after a customer writes. The console does not know when "
            "this customer wrote."
        )
    ended = clock.format_span(now - until)
    return f"The 24 hours for free text over WhatsApp ended {ended} ago. Our number can only send a template now."


def channel_words(item: Conversation) -> str:
    """Return the name of a conversation's channel: `WhatsApp`, `SMS`, `email`, or the stored value, redacted."""
    return _CHANNEL_WORDS.get(channel_of(item)) or redact(text_of(item.plain("channel_method") or ""))[:40]


def reveal_recipient(item: Conversation) -> Revealed:
    """Return the number, email and name as stored, with links to write to them."""
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
    # Without the country code, WhatsApp opens an error or a chat with somebody else.
    if digits and not digits.startswith("0"):
        links.append(ChannelLink("Opens your own WhatsApp", f"https://wa.me/{digits}"))
    if digits:
        links.append(
            ChannelLink("Opens your own SMS app", f"sms:{digits}" if digits.startswith("0") else f"sms:+{digits}")
        )
    if channel == "sms":
        links.reverse()
    if _EMAIL.fullmatch(email):
        links.insert(
            0 if channel == "email" else len(links),
            ChannelLink("Opens your own email", f"mailto:{quote(email, safe='@')}"),
        )
    return links


def _number(text: str) -> str:
    """Return the digits of a phone number; "" for anything else."""
    compact = re.sub(r"[\s().-]", "", text)
    return compact.lstrip("+") if _NUMBER.fullmatch(compact) else ""


def _stored(item: Conversation, name: str) -> str:
    value = item.plain(name)
    return "" if value is None or isinstance(value, bool | dict | list) else text_of(value).strip()


def sender_of(item: Conversation, channel: str) -> str:
    """Return the company's own number or address on a channel; "" if the item names none."""
    name = OWN_ADDRESSES.get(channel)
    return (
        "" if name is None else _stored(item, f"gsi_{name}") or from_config(item.plain("channel_config"), channel, name)
    )


def recipient_of(item: Conversation, channel: str) -> str:
    """Return the customer's number with its country code, or address; "" if the item has none that can be used."""
    if channel == "email":
        found = (_stored(item, "recipient_email"), item.primary_channel)
        return next((each for each in found if _EMAIL.fullmatch(each)), "")
    digits = (_number(each) for each in (_stored(item, "recipient_tel"), item.primary_channel))
    # Without the country code, a number is invalid or somebody else's.
    return next((f"+{each}" for each in digits if each and not each.startswith("0")), "")
