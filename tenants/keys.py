"""Keys of the tenants table (schema tenants; data model, section 6). Only this module formats and parses them.

Channel ids that people type are validated and normalised to the form that webhooks carry.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from django.utils.text import slugify

from console.errors import BadReference, Invalid
from console.permissions import is_reserved
from console.redaction import redact
from console.refs import seal, unseal
from console.store.models import PARTITION_KEY_BYTES, SORT_KEY_BYTES, fits

META = "META"
# The console's own item: every change of a tenant's users increments it, so that concurrent changes conflict.
USERS = "USERS"
OWNER = "OWNER"
TENANT, USER, CHANNEL, COMPANY, MEMORY = "TENANT#", "USER#", "CHANNEL#", "COMPANY#", "MEMORY#"
# The platform's invitations have their own partitions, with sort key META.
INVITE = "INVITE#"
# Sorts right after the last memory: "$" is the character after "#".
MEMORY_END = "MEMORY$"
MAX_ID = 100
MAX_NAME = 120
ID_RULE = (
    f"Use lower-case letters and digits, separated by single dots, dashes or underscores, up to {MAX_ID} characters."
)
_NEW_ID = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", re.ASCII)
_PROPOSED_LENGTH = 40
_PLAIN_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
# Path segments after `/tenants/` that are routes.
_RESERVED = ("new",)
_PHONE = re.compile(r"\d{7}")


class ItemKind(StrEnum):
    """What an item is, judging by its keys alone."""

    META = "tenant"
    USER = "user"
    CHANNEL = "channel mapping"
    COMPANY = "company"
    MEMORY = "memory"
    USERS = "guard of users"
    GUARD = "guard of a channel"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel as webhooks name it: `type` such as `teams`, `id` such as the bot's app id or our number."""

    type: str
    id: str

    @property
    def key(self) -> str:
        """`CHANNEL#{type}#{id}`: sort key of its mapping, `gsi1pk` there, partition key of its guard."""
        return f"{CHANNEL}{self.type}#{self.id}"

    @classmethod
    def of(cls, key: str) -> Self | None:
        """Parse a key as formatted by `key`; return None for anything else."""
        prefix, found, rest = key.partition(CHANNEL)
        kind, parted, channel_id = rest.partition("#")
        return cls(kind, channel_id) if found and not prefix and parted and kind and channel_id else None


def partition_of(tenant_id: str) -> str:
    """Return `TENANT#{tenant_id}`."""
    return f"{TENANT}{tenant_id}"


def tenant_of(partition: str | None) -> str:
    """Return the tenant id in a partition key or a `gsi1sk`; "" if there is none."""
    return partition.removeprefix(TENANT) if partition and partition.startswith(TENANT) else ""


def user_key(user_id: str) -> str:
    """Return `USER#{user_id}`."""
    return f"{USER}{user_id}"


def company_key(company_id: str) -> str:
    """Return `COMPANY#{company_id}`."""
    return f"{COMPANY}{company_id}"


def kind_of(pk: str, sk: str) -> ItemKind:
    """Return the kind of the item with these keys. Its other attributes are ignored."""
    if pk.startswith(CHANNEL):
        return ItemKind.GUARD if sk == OWNER and Channel.of(pk) else ItemKind.UNKNOWN
    if not tenant_of(pk):
        return ItemKind.UNKNOWN
    if sk in (META, USERS):
        return ItemKind.META if sk == META else ItemKind.USERS
    if sk.startswith(CHANNEL):
        return ItemKind.CHANNEL if Channel.of(sk) else ItemKind.UNKNOWN
    for prefix, kind in ((USER, ItemKind.USER), (COMPANY, ItemKind.COMPANY), (MEMORY, ItemKind.MEMORY)):
        if sk.startswith(prefix) and len(sk) > len(prefix):
            return kind
    return ItemKind.UNKNOWN


# --- Checking what people type --------------------------------------------------------------------------------------


def proposed_id(name: str) -> str:
    """Return a tenant id made from a name; "" if none can be made."""
    proposed = re.sub(r"[-_]+", "-", slugify(name))[:_PROPOSED_LENGTH].strip("-")
    return "" if _PHONE.search(proposed) else proposed


def checked_new_id(typed: str) -> str:
    """Return the permanent id of a new tenant or user as it is stored. Raises `Invalid`."""
    new_id = typed.strip()
    if not new_id:
        raise Invalid("Enter an id.")
    if len(new_id) > MAX_ID or not _NEW_ID.fullmatch(new_id):
        raise Invalid(ID_RULE)
    if _PHONE.search(new_id):
        raise Invalid("An id cannot contain seven digits in a row, because they could be a phone number.")
    return new_id


def checked_tenant_id(typed: str) -> str:
    """Return the id of a new tenant as it is stored. Raises `Invalid`."""
    tenant_id = checked_new_id(typed)
    if is_reserved(tenant_id):
        raise Invalid(f"{tenant_id!r} is a reserved word. Choose another id.")
    return tenant_id


def checked_name(typed: str) -> str:
    """Return a tenant's display name with single spaces. Raises `Invalid`."""
    name = " ".join(typed.split())
    if not name:
        raise Invalid("Enter a name.")
    if len(name) > MAX_NAME or not name.isprintable():
        raise Invalid(f"Use up to {MAX_NAME} characters and no control characters.")
    return name


def checked_part(typed: str, what: str, most: int = MAX_ID) -> str:
    """Return a part of a key (the id of a user, company or channel), which may not contain "#". Raises `Invalid`.

    `what` names it in the message: "A user id".
    """
    part = typed.strip()
    if not part:
        raise Invalid(f"{what} cannot be empty.")
    if "#" in part:
        raise Invalid(f"{what} cannot contain #.")
    if not part.isprintable():
        raise Invalid(f"{what} cannot contain control or invisible characters.")
    if len(part) > most:
        raise Invalid(f"{what} is at most {most} characters long.")
    return part


def checked_company_id(typed: str) -> str:
    """Return a company's id as it is used in keys. Raises `Invalid`."""
    company_id = checked_part(typed, "A company's id")
    if is_reserved(company_id):
        raise Invalid(f"A company's id cannot be {company_id[:40]!r}: that is a reserved word.")
    return company_id


def check_key(pk: str, sk: str) -> None:
    """Raise `Invalid` if these keys are too long for DynamoDB."""
    if not (fits(pk, PARTITION_KEY_BYTES) and fits(sk, SORT_KEY_BYTES)):
        raise Invalid("That is too long to be stored.")


MAX_TYPE, MAX_CHANNEL_ID = 40, 320
_TYPE = re.compile(r"[a-z0-9]+(?:[_-][a-z0-9]+)*", re.ASCII)
_E164 = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SLACK = re.compile(r"[TCDGEAB][A-Z0-9]{6,20}", re.ASCII)
# The platform names WhatsApp and Telegram channels by the first hex digits of the SHA-256 of the bot's token.
_DIGEST = re.compile(r"[0-9a-f]{16}", re.ASCII)
_BY_TOKEN = ("whatsapp", "telegram")
# By channel type, what webhooks and links put before a number or an address.
_SCHEMES = {
    name: re.compile(rf"\s*(?:{name}|{link})\s*:", re.IGNORECASE)
    for name, link in (("whatsapp", "tel"), ("sms", "tel"), ("email", "mailto"))
}
_TELEGRAM = re.compile(r"-?\d{5,16}|[a-z][a-z0-9_]{4,31}", re.ASCII)
_MASKED = str.maketrans("", "", " \t\u00a0\u2007\u202f()-./‐‑‒–—")


@dataclass(frozen=True, slots=True)
class ChannelType:
    """A channel type that the console knows. `check` returns an id as it is stored, or raises `Invalid`."""

    name: str
    label: str
    help: str
    check: Callable[[str], str]


def _phone(typed: str) -> str:
    # People write the trunk zero in brackets; it is not part of the international number.
    number = typed.replace("(0)", "").translate(_MASKED)
    number = f"+{number[2:]}" if number.startswith("00") else number
    if not _E164.fullmatch(number):
        # Do not add a missing plus: a national number could turn into another country's.
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
    # The schema's example is not a UUID, so a plain word is accepted too.
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
    """Return a channel type as it is stored: a known type or any other word. Raises `Invalid`."""
    name = typed.strip().lower()
    if len(name) > MAX_TYPE or not _TYPE.fullmatch(name):
        raise Invalid("A type is a word of lower-case letters and digits, such as teams or web_widget.")
    return name


def checked_channel(type_typed: str, id_typed: str) -> Channel:
    """Return a channel as it is stored. Raises `Invalid`, which says what is wrong with the type or id."""
    name = checked_type(type_typed)
    known, typed = TYPES.get(name), without_scheme(name, id_typed)
    return Channel(name, checked_part((known.check if known else _any)(typed), "A channel's id", MAX_CHANNEL_ID))


def without_scheme(name: str, typed: str) -> str:
    """Return a number or address of a channel type without what webhooks and links put before it: `whatsapp:+44…`."""
    found = _SCHEMES[name].match(typed) if name in _SCHEMES else None
    return typed[found.end() :] if found else typed


def channels_with_id(typed: str) -> Iterator[Channel]:
    """Yield the channel of each type whose ids have a recognisable form that this one has."""
    for name in TYPES:
        if name != "dashboard":
            try:
                yield checked_channel(name, typed)
            except Invalid:
                continue


def is_digest(channel: Channel) -> bool:
    """Return whether the id is the digest of a bot's token, which is not personal even if it looks like a number."""
    return channel.type in _BY_TOKEN and bool(_DIGEST.fullmatch(channel.id))


def label_of(name: str) -> str:
    """Return the label of a channel type."""
    return TYPES[name].label if name in TYPES else name


class TenantId:
    """The path converter of a tenant id: plain, or `~` and a sealed reference."""

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        """Return the id. Raises `ValueError`, which becomes a 404, for an invalid reference."""
        if not value.startswith("~"):
            return value
        try:
            return unseal("tenant", value[1:], 1)[0]
        except BadReference as error:
            raise ValueError("no tenant's reference") from error

    def to_url(self, value: str) -> str:
        """Return the id as it is used in a URL; sealed if it might be personal or clash with a route."""
        if _PLAIN_ID.fullmatch(value) and value not in _RESERVED and redact(value) == value:
            return value
        return "~" + seal("tenant", value)
