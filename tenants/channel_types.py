"""Types of channels, and what an id of each may be: checked as it is typed, normalised as webhooks carry it."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from console.errors import Invalid
from tenants.keys import Channel, checked_part

MAX_TYPE, MAX_CHANNEL_ID = 40, 320
_TYPE = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*", re.ASCII)
_E164 = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SLACK = re.compile(r"[TCDGEAB][A-Z0-9]{6,20}", re.ASCII)
# Of a bot's token, the first digits of its SHA-256: so the platform names channels of WhatsApp and Telegram.
_DIGEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
_BY_TOKEN = ("whatsapp", "telegram")
_TELEGRAM = re.compile(r"-?\d{5,16}|[a-z][a-z0-9_]{4,31}", re.ASCII)
_MASKED = str.maketrans("", "", " \t\u00a0\u2007\u202f()-./‐‑‒–—")


@dataclass(frozen=True, slots=True)
class ChannelType:
    """A type that the console knows. `check` gives an id as it is stored, and raises `Invalid`."""

    name: str
    label: str
    help: str
    check: Callable[[str], str]


def _phone(typed: str) -> str:
    # People write the trunk zero of a national number in brackets: it is none of an international one.
    number = typed.replace("(0)", "").translate(_MASKED)
    number = f"+{number[2:]}" if number.startswith("00") else number
    if not _E164.fullmatch(number):
        # Added by us, a forgotten plus would make another country's number of a national one.
        if _E164.fullmatch(f"+{number}"):
            raise Invalid(f"The plus before the country code is missing. Should it be +{number}?")
        raise Invalid("Enter the number with its country code, such as +44 20 7946 0018.")
    return number


def _or_digest(check: Callable[[str], str]) -> Callable[[str], str]:
    def checked(typed: str) -> str:
        digest = typed.strip().lower()
        return digest if _DIGEST.fullmatch(digest) else check(typed)

    return checked


def _email(typed: str) -> str:
    address = typed.strip().lower()
    if len(address) > MAX_CHANNEL_ID or not _EMAIL.fullmatch(address):
        raise Invalid("Enter one email address, such as help@example.com.")
    return address


def _teams(typed: str) -> str:
    app_id = typed.strip().lower()
    # The schema's example is no UUID, so a plain word will do as well.
    if not _UUID.fullmatch(app_id) and not _TYPE.fullmatch(app_id):
        raise Invalid("Enter the bot's app id from Azure, such as 2f6f0c2e-8a1b-4c59-9a52-0d2a4c1f7b11.")
    return app_id


def _slack(typed: str) -> str:
    team = typed.strip().upper()
    if not _SLACK.fullmatch(team):
        raise Invalid("Enter the id of the workspace, channel or app, such as T024BE7LD.")
    return team


def _telegram(typed: str) -> str:
    bot = typed.strip().lower().removeprefix("@")
    if not _TELEGRAM.fullmatch(bot):
        raise Invalid("Enter the bot's name, such as acme_support_bot, or its number.")
    return bot


def _any(typed: str) -> str:
    return checked_part(typed, "A channel's id", MAX_CHANNEL_ID)


TYPES = {
    each.name: each
    for each in (
        ChannelType(
            "whatsapp", "WhatsApp", "Our number with its country code, or the platform's id", _or_digest(_phone)
        ),
        ChannelType("sms", "SMS", "Our number, with its country code", _phone),
        ChannelType("email", "Email", "Our address", _email),
        ChannelType("teams", "Teams", "The bot's app id", _teams),
        ChannelType("slack", "Slack", "The workspace's id", _slack),
        ChannelType("telegram", "Telegram", "The bot's name or number, or the platform's id", _or_digest(_telegram)),
        ChannelType("dashboard", "Dashboard", "Any id", _any),
    )
}


def checked_type(typed: str) -> str:
    """A type as stored: one of these, or another word. Raises `Invalid`."""
    name = typed.strip().lower()
    if len(name) > MAX_TYPE or not _TYPE.fullmatch(name):
        raise Invalid("A type is a word of lower-case letters and digits, such as teams or web_widget.")
    return name


def checked_channel(type_typed: str, id_typed: str) -> Channel:
    """A channel as it is stored. Raises `Invalid`, naming what is wrong with the id of that type."""
    name = checked_type(type_typed)
    known = TYPES.get(name)
    return Channel(name, checked_part((known.check if known else _any)(id_typed), "A channel's id", MAX_CHANNEL_ID))


def is_digest(channel: Channel) -> bool:
    """Whether the id is what the platform makes of a bot's token: nothing personal, though it may look like one."""
    return channel.type in _BY_TOKEN and bool(_DIGEST.fullmatch(channel.id))


def label_of(name: str) -> str:
    """A type as people call it."""
    return TYPES[name].label if name in TYPES else name
