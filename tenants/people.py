"""Find users of tenants by email address, number or id, within scope and with bounded reads."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from console.permissions import Permission, Staff
from console.store.calls import parallel, table_name
from console.store.connection import batch_get, call, pages
from console.store.models import SORT_KEY_BYTES, ForeignModel, fits
from console.store.presence import index_ready
from tenants.keys import USER, label_of, partition_of, tenant_of, user_key
from tenants.models import TenantItem
from tenants.queries import INDEX, list_tenants
from tenants.reading import identities_of, names_in, redactor_for, text

# One Query each: there is no index by address or number, and a tenant has a few dozen users.
TENANTS_ASKED = 20
USERS_PER_TENANT = 200
READS_OF_ID = 4
# The attributes that a user's name is taken from.
NAMED_BY = ("pk", "sk", "email", "display_name")
_LEAST_DIGITS = 7


@dataclass(frozen=True, slots=True)
class KnownUser:
    """A user of a tenant. `name` is redacted if it must be; `by` names the identifiers that matched."""

    tenant_id: str
    name: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownUsers:
    """The users found; `notices` say what was not searched."""

    users: tuple[KnownUser, ...] = ()
    notices: tuple[str, ...] = ()


def users_known_by(spellings: Sequence[str], staff: Staff) -> KnownUsers:
    """Return users of the tenants in scope whose email or channel identity is one of these spellings.

    One Query for each of the first `TENANTS_ASKED` tenants, in parallel. Raises `Forbidden` and the store's errors.
    """
    staff.require(Permission.TENANT_READ)
    wanted = {form for each in spellings for form in _forms(each)}
    tenants, more = _tenants_of(staff)
    read = parallel(*(partial(_users_of, each) for each in tenants)) if tenants else []
    found = tuple(
        KnownUser(tenant_id, _name(item, staff), by)
        for tenant_id, (items, _) in zip(tenants, read, strict=True)
        for item in items
        if (by := _known_by(item, wanted))
    )
    notices = []
    if more:
        notices.append(f"Searched the users of the first {len(tenants)} tenants in your scope. There are more.")
    if cut := [tenant_id for tenant_id, (_, is_cut) in zip(tenants, read, strict=True) if is_cut]:
        notices.append(f"Searched only the first {USERS_PER_TENANT} users of: {', '.join(cut)}.")
    return KnownUsers(found, tuple(notices))


def users_of_id(user_id: str, staff: Staff) -> KnownUsers:
    """Return the users with an id in the tenants in scope.

    One BatchGetItem for each 100 ids of a scope; for scope "all" at most `READS_OF_ID` Queries of the inverted index,
    or nothing without that index. Raises `Forbidden` and the store's errors.
    """
    staff.require(Permission.TENANT_READ)
    if not fits(user_key(user_id), SORT_KEY_BYTES):
        return KnownUsers()
    more = False
    if staff.scope.everything:
        found, more = _everywhere(user_key(user_id))
    else:
        found = _within(staff.scope.tenant_ids, user_key(user_id))
    items = [TenantItem.from_raw_data(raw) for raw in found]
    owners = ((tenant_of(item.plain("pk")), item) for item in items)
    users = tuple(KnownUser(owner, _name(item, staff), ("id",)) for owner, item in owners if owner)
    notice = f"Searched the first {len(items):,} users with that id. There are more."
    return KnownUsers(users, (notice,) if more else ())


def _within(tenant_ids: Iterable[str], sort_key: str) -> list[dict[str, Any]]:
    keys = [{"pk": partition_of(each), "sk": sort_key} for each in sorted(tenant_ids) if fits(partition_of(each))]
    return sorted(batch_get("TENANTS", keys, NAMED_BY), key=lambda raw: str(raw["pk"]["S"]))


def _everywhere(sort_key: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the items with a sort key, and whether there are more."""
    if not index_ready("TENANTS", INDEX):
        return [], False
    asked = pages(
        "Query",
        TableName=table_name("TENANTS"),
        IndexName=INDEX,
        KeyConditionExpression="sk = :sk",
        ExpressionAttributeValues={":sk": {"S": sort_key}},
        ProjectionExpression=", ".join(NAMED_BY),
        Limit=USERS_PER_TENANT,
        ReturnConsumedCapacity="TOTAL",
    )
    answers = list(islice(asked, READS_OF_ID))
    return [raw for answer in answers for raw in answer["Items"]], "LastEvaluatedKey" in answers[-1]


def _tenants_of(staff: Staff) -> tuple[list[str], bool]:
    page = list_tenants(staff)
    ids = [row.tenant_id for row in page.rows]
    return ids[:TENANTS_ASKED], len(ids) > TENANTS_ASKED or bool(page.next)


def _users_of(tenant_id: str) -> tuple[list[ForeignModel], bool]:
    answer = call(
        "Query",
        TableName=table_name("TENANTS"),
        KeyConditionExpression="pk = :pk AND begins_with(sk, :user)",
        ExpressionAttributeValues={":pk": {"S": partition_of(tenant_id)}, ":user": {"S": USER}},
        ProjectionExpression="pk, sk, email, display_name, channel_identities",
        Limit=USERS_PER_TENANT,
        ReturnConsumedCapacity="TOTAL",
    )
    return [TenantItem.from_raw_data(raw) for raw in answer["Items"]], "LastEvaluatedKey" in answer


def _known_by(item: ForeignModel, wanted: set[str]) -> tuple[str, ...]:
    """Return the labels of the user's identifiers that match."""
    identities, _ = identities_of(item.plain("channel_identities"))
    known = [("email", text(item, "email")), *((label_of(kind), each) for kind, each in identities)]
    return tuple(dict.fromkeys(label for label, value in known if wanted & _forms(value)))


def _forms(value: str) -> set[str]:
    """Return normalised forms of an identifier: its lower case, and for a number its digits."""
    plain = value.strip().casefold()
    digits = "".join(char for char in plain if char.isdecimal())
    is_number = len(digits) >= _LEAST_DIGITS and not any(char.isalpha() or char == "@" for char in plain)
    return ({plain} if plain else set()) | ({digits.removeprefix("00")} if is_number else set())


def _name(item: ForeignModel, staff: Staff) -> str:
    show = redactor_for(staff).knowing(names_in((item,)))
    named: Iterable[str] = (text(item, "display_name"), text(item, "email"), str(item.plain("sk")).removeprefix(USER))
    return show(next((each for each in named if each), ""))
