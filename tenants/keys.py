"""Keys of the tenants table (schema tenants; data model, section 6): the one place that spells and reads them."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from django.utils.text import slugify

from console.errors import Invalid
from console.permissions import is_reserved
from console.store.keys import PARTITION_KEY_BYTES, SORT_KEY_BYTES, fits

META = "META"
# The console's own: bumped by every change of a tenant's users, so that two changes at once cannot both hold.
USERS = "USERS"
OWNER = "OWNER"
TENANT, USER, CHANNEL, COMPANY, MEMORY = "TENANT#", "USER#", "CHANNEL#", "COMPANY#", "MEMORY#"
# The platform's invitations have partitions of their own, and are META there.
INVITE = "INVITE#"
# What lies behind the last memory: $ comes next to #.
MEMORY_END = "MEMORY$"
MAX_ID = 100
MAX_NAME = 120
_TENANT_ID = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", re.ASCII)
_PROPOSED_LENGTH = 40
_PHONE = re.compile(r"\d{7}")


class ItemKind(StrEnum):
    """What an item is, told by its keys alone."""

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
        """What `key` made; None for what is no such key."""
        prefix, found, rest = key.partition(CHANNEL)
        kind, parted, channel_id = rest.partition("#")
        return cls(kind, channel_id) if found and not prefix and parted and kind and channel_id else None


def partition_of(tenant_id: str) -> str:
    """`TENANT#{tenant_id}`."""
    return f"{TENANT}{tenant_id}"


def tenant_of(partition: str | None) -> str:
    """The tenant of a partition, or of a `gsi1sk`; "" where there is none."""
    return partition.removeprefix(TENANT) if partition and partition.startswith(TENANT) else ""


def user_key(user_id: str) -> str:
    """`USER#{user_id}`."""
    return f"{USER}{user_id}"


def company_key(company_id: str) -> str:
    """`COMPANY#{company_id}`."""
    return f"{COMPANY}{company_id}"


def kind_of(pk: str, sk: str) -> ItemKind:
    """What the item of these keys is. Whatever else is stored in it says nothing about that."""
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


# --- What the console itself writes ---------------------------------------------------------------------------------


def proposed_id(name: str) -> str:
    """A tenant id made of a name; "" where none can be."""
    proposed = re.sub(r"[-_]+", "-", slugify(name))[:_PROPOSED_LENGTH].strip("-")
    return "" if _PHONE.search(proposed) else proposed


def checked_tenant_id(typed: str) -> str:
    """An id that a new tenant may have. Raises `Invalid`."""
    tenant_id = typed.strip()
    if not tenant_id:
        raise Invalid("Enter an id.")
    if len(tenant_id) > MAX_ID or not _TENANT_ID.fullmatch(tenant_id):
        raise Invalid(
            f"Use lower-case letters and digits, separated by single dots, dashes or underscores, up to {MAX_ID} "
            "characters."
        )
    if _PHONE.search(tenant_id):
        raise Invalid(
            "An id appears in addresses, so it cannot contain anything that could be a phone number: seven digits."
        )
    if is_reserved(tenant_id):
        raise Invalid(f"{tenant_id!r} has a meaning of its own in scopes. Choose another id.")
    return tenant_id


def checked_name(typed: str) -> str:
    """A tenant's display name. Raises `Invalid`."""
    name = " ".join(typed.split())
    if not name:
        raise Invalid("Enter a name.")
    if len(name) > MAX_NAME or not name.isprintable():
        raise Invalid(f"Use up to {MAX_NAME} characters and no control characters.")
    return name


def checked_part(typed: str, what: str, most: int = MAX_ID) -> str:
    """A part of a key (of a user, company or channel) without what would end it early. Raises `Invalid`.

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
    """A company's id as a key has it. Raises `Invalid`."""
    company_id = checked_part(typed, "A company's id")
    if is_reserved(company_id):
        raise Invalid(f"A company's id cannot be {company_id[:40]!r}: that has a meaning of its own in scopes.")
    return company_id


def check_key(pk: str, sk: str) -> None:
    """Raise `Invalid` unless DynamoDB takes these keys."""
    if not (fits(pk, PARTITION_KEY_BYTES) and fits(sk, SORT_KEY_BYTES)):
        raise Invalid("That is too long to be stored.")
