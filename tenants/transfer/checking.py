"""What is wrong with the items of one tenant in a file: all that the console would not have written itself."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from console.dynamodb.sizes import MAX_ITEM_BYTES, size_of
from console.errors import Invalid
from console.redaction import redact
from tenants.channel_types import MAX_CHANNEL_ID, MAX_TYPE
from tenants.keys import (
    COMPANY,
    META,
    USER,
    Channel,
    Kind,
    check_key,
    checked_company_id,
    checked_part,
    checked_tenant_id,
    kind_of,
    partition_of,
)
from tenants.models import TenantUser
from tenants.records import ONBOARDING
from tenants.repairing import repairs_of
from tenants.walking import RawItem

IMPORTED = (Kind.META, Kind.USER, Kind.CHANNEL, Kind.COMPANY)
_INDEX_KEYS = ("gsi1pk", "gsi1sk")


def shown(key: str) -> str:
    """A key as a terminal shows it: redacted, and nothing in it that moves the cursor."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in redact(key))


def text_in(item: RawItem, name: str) -> str:
    """An attribute that is text; "" for any other."""
    value = item.get(name, {}).get("S", "")
    return value if isinstance(value, str) else ""


def problems_of(tenant_id: str, items: Mapping[str, RawItem]) -> Iterator[str]:
    """What is wrong, each with the item it is about. `items` are by sort key."""
    try:
        if checked_tenant_id(tenant_id) != tenant_id:
            yield "the id has white space around it"
    except Invalid as error:
        yield f"the id: {error}"
    for sk, item in items.items():
        for problem in _of_item(tenant_id, sk, item):
            yield f"{shown(sk)}: {problem}"
    yield from _of_users(items)


def _of_item(tenant_id: str, sk: str, item: RawItem) -> Iterator[str]:
    pk = partition_of(tenant_id)
    if text_in(item, "pk") != pk:
        yield "its pk is not that of the tenant"
        return
    kind = kind_of(pk, sk)
    if kind is Kind.USERS:
        yield "it is the console's own, which no export has"
    if kind not in IMPORTED:
        return
    if size_of(item) > MAX_ITEM_BYTES:
        yield f"it is larger than {MAX_ITEM_BYTES // 1024} KB, which is the most that DynamoDB takes"
    try:
        check_key(pk, sk)
        _CHECKS[kind](tenant_id, sk, item)
    except Invalid as error:
        yield str(error)
    keys = {"gsi1pk": sk, "gsi1sk": pk} if kind is Kind.CHANNEL else {}
    for name in _INDEX_KEYS:
        # By these webhooks find a tenant: an item must not be found by anything but the channel that it maps.
        if name in item and text_in(item, name) != keys.get(name):
            yield f"its {name} is not that of a mapping of its channel"


def _check_meta(tenant_id: str, sk: str, item: RawItem) -> None:
    _check_named(item, "tenant_id", tenant_id)
    if not text_in(item, "status"):
        raise Invalid("It has no status.")


def _check_user(tenant_id: str, sk: str, item: RawItem) -> None:
    user_id = sk.removeprefix(USER)
    _check_part(user_id, "A user id")
    _check_named(item, "user_id", user_id)
    _check_named(item, "tenant_id", tenant_id)
    if left := repairs_of(TenantUser.from_raw_data(item))[1]:
        raise Invalid(f"It has no {' and no '.join(left)} that the platform can read.")


def _check_company(tenant_id: str, sk: str, item: RawItem) -> None:
    company_id = sk.removeprefix(COMPANY)
    _check_part(company_id, "A company id")
    checked_company_id(company_id)


def _check_channel(tenant_id: str, sk: str, item: RawItem) -> None:
    if channel := Channel.of(sk):
        _check_part(channel.type, "A channel's type", MAX_TYPE)
        _check_part(channel.id, "A channel's id", MAX_CHANNEL_ID)
        _check_named(item, "channel_type", channel.type)
        _check_named(item, "channel_specific_id", channel.id)


_CHECKS: dict[Kind, Callable[[str, str, RawItem], Any]] = {
    Kind.META: _check_meta,
    Kind.USER: _check_user,
    Kind.COMPANY: _check_company,
    Kind.CHANNEL: _check_channel,
}


def _check_part(part: str, what: str, *most: int) -> None:
    if checked_part(part, what, *most) != part:
        raise Invalid(f"{what} cannot have white space around it.")


def _check_named(item: RawItem, name: str, key: str) -> None:
    """An attribute that says again what the key says. Other writers may leave it out."""
    if name in item and text_in(item, name) != key:
        raise Invalid(f"Its {name} is not what its key says.")


def _of_users(items: Mapping[str, RawItem]) -> Iterator[str]:
    users = {sk: item for sk, item in items.items() if sk.startswith(USER) and sk != USER}
    ids = Counter(sk.casefold() for sk in users)
    emails = Counter(email.casefold() for item in users.values() if (email := text_in(item, "email")))
    for sk, item in users.items():
        if ids[sk.casefold()] > 1:
            yield f"{shown(sk)}: another user of the tenant has this id, but for capitals"
        if emails[text_in(item, "email").casefold()] > 1:
            yield f"{shown(sk)}: another user of the tenant has its email"
    begun = not users and text_in(items.get(META, {}), "status") == ONBOARDING
    if not begun and not any(text_in(item, "role") == "admin" for item in users.values()):
        yield "no user is an admin"
