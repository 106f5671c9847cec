"""Users of a tenant. Id and email are unique within it, and one administrator always remains.

Each change increments the version of the tenant's USERS item in the same transaction, if nobody else has changed it.
So what was checked when all users were read is still true when the change is written.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.transactions import TransactWrite

from console.errors import Conflict, Invalid, NotFound, StoreUnavailable
from console.permissions import Permission, Staff
from console.store.calls import table_name
from console.store.connection import pages
from console.trail.actions import Action
from console.trees import text_of
from tenants.keys import USERS, ItemKind, check_key, partition_of, tenant_of, user_key
from tenants.models import TenantUser, UsersGuard, item_of
from tenants.reading import USER_WRITTEN, form_digest, ids_of
from tenants.writing import as_read, check_exists, check_not_deleted, check_writer, entry_of, write_attempts

# A page of a Query contains about 2,000 users.
PAGES = 20
LAST_ADMIN = "This is the tenant's last administrator. Make another user an administrator first."


@dataclass(frozen=True, slots=True)
class UserValues:
    """The values of a user, checked by the form. `identities` are pairs of channel type and id."""

    user_id: str
    email: str
    name: str
    role: str
    identities: tuple[tuple[str, str], ...] = ()


class NotUnique(Conflict):
    """Another user of the tenant has the same id or email. `field` is "user_id" or "email"."""

    def __init__(self, field: str) -> None:
        self.field = field
        super().__init__(f"Another user of this tenant has this {'id' if field == 'user_id' else 'email'} already.")


class UserChanged(Conflict):
    """Somebody changed the user since the person saw it."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed this user in the meantime.")


@dataclass(frozen=True, slots=True)
class Users:
    """All users of a tenant as stored, by id, and the version of their guard."""

    items: Mapping[str, TenantUser]
    version: int | None

    def admins(self) -> list[str]:
        """Return the ids of the administrators."""
        return [user_id for user_id, item in self.items.items() if item.plain("role") == "admin"]


def users_among(raws: Iterable[dict[str, dict[str, Any]]]) -> Users:
    """Return the users and their guard among a tenant's items in DynamoDB JSON; skip all other items."""
    items: dict[str, TenantUser] = {}
    version: int | None = None
    for kind, item in map(item_of, raws):
        if isinstance(item, TenantUser):
            items[str(item.plain("sk")).removeprefix(user_key(""))] = item
        elif kind is ItemKind.USERS:
            number = item.plain("version")
            version = number if isinstance(number, int) else 0
    return Users(items, version)


def read_users(tenant_id: str) -> Users:
    """Return all users, strongly consistent. Raises `StoreUnavailable` beyond `PAGES` pages, and the store's errors."""
    asked = pages(
        "Query",
        TableName=table_name("TENANTS"),
        KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
        ExpressionAttributeValues={":pk": {"S": partition_of(tenant_id)}, ":prefix": {"S": "USER"}},
        ConsistentRead=True,
        ReturnConsumedCapacity="TOTAL",
    )
    answers = list(islice(asked, PAGES))
    if "LastEvaluatedKey" in answers[-1]:
        raise StoreUnavailable("This tenant has more users than one request can search.")
    return users_among(raw for answer in answers for raw in answer["Items"])


def add(tenant_id: str, values: UserValues, staff: Staff) -> None:
    """Add a user. Raises `NotUnique`, `NotFound`, `Forbidden`, `Invalid` for a key that is too long."""
    check_writer(Permission.USER_WRITE, tenant_id, staff)
    check_key(partition_of(tenant_id), user_key(values.user_id))
    for attempt in write_attempts():
        check_not_deleted(tenant_id)
        users = read_users(tenant_id)
        check_unique(users, values, is_new=True)

        def write(writes: TransactWrite, users: Users = users) -> None:
            check_exists(writes, tenant_id)
            add_user(writes, tenant_id, values)
            add_version_check(writes, tenant_id, users.version)

        if attempt(write, [entry_of(tenant_id, Action.USER_ADDED, staff, user=values.user_id, role=values.role)]):
            return


def change(tenant_id: str, values: UserValues, seen: str, staff: Staff) -> bool:
    """Change the attributes of a user that forms write. Return False if nothing changed.

    Raises `UserChanged` unless the user is as `seen`, `NotUnique`, `Invalid` for the last administrator, `NotFound`.
    """
    check_writer(Permission.USER_WRITE, tenant_id, staff)
    for attempt in write_attempts():
        check_not_deleted(tenant_id)
        users = read_users(tenant_id)
        item = _user(users, values.user_id)
        if form_digest(item) != seen:
            raise UserChanged
        wanted = _changes(item, values)
        if not wanted:
            return False
        check_unique(users, values)
        if users.admins() == [values.user_id] and values.role != "admin":
            raise Invalid(LAST_ADMIN)

        def write(writes: TransactWrite, users: Users = users, item: TenantUser = item, wanted: Any = wanted) -> None:
            check_exists(writes, tenant_id)
            actions = [getattr(TenantUser, name).set(value) for name, value in wanted.items()]
            writes.update(_keyed(tenant_id, values.user_id), actions=actions, condition=as_read(item, USER_WRITTEN))
            add_version_check(writes, tenant_id, users.version)

        # Names and identities are personal: record that they changed, not how.
        fields = [name for name in wanted if name in ("email", "role")]
        entry = entry_of(
            tenant_id,
            Action.USER_CHANGED,
            staff,
            user=values.user_id,
            changed=", ".join(wanted),
            **{"from": {name: item.plain(name) for name in fields}, "to": {name: wanted[name] for name in fields}},
        )
        if attempt(write, [entry]):
            return True
    return False


def remove(tenant_id: str, user_id: str, seen: str, staff: Staff) -> None:
    """Remove a user with all attributes of the item. Raises as `change`."""
    check_writer(Permission.USER_WRITE, tenant_id, staff)
    for attempt in write_attempts():
        users = read_users(tenant_id)
        item = _user(users, user_id)
        if form_digest(item) != seen:
            raise UserChanged
        if users.admins() == [user_id]:
            raise Invalid(LAST_ADMIN)

        def write(writes: TransactWrite, users: Users = users, item: TenantUser = item) -> None:
            writes.delete(_keyed(tenant_id, user_id), condition=as_read(item, USER_WRITTEN))
            add_version_check(writes, tenant_id, users.version)

        role = text_of(item.plain("role"))
        if attempt(write, [entry_of(tenant_id, Action.USER_REMOVED, staff, user=user_id, role=role)]):
            return


def check_unique(users: Users, values: UserValues, *, is_new: bool = False) -> None:
    """Raise `NotUnique` if another user has the email, or a new user's id is taken. Ignores case."""
    for user_id, item in users.items.items():
        if is_new and user_id.casefold() == values.user_id.casefold():
            raise NotUnique("user_id")
        if user_id != values.user_id and _same_email(item, values.email):
            raise NotUnique("email")


def _same_email(item: TenantUser, email: str) -> bool:
    return bool(email) and text_of(item.plain("email") or "").casefold() == email.casefold()


def add_user(writes: TransactWrite, tenant_id: str, values: UserValues) -> None:
    """Add a new user to a transaction, on condition that the id is free."""
    user = _keyed(tenant_id, values.user_id)
    user.user_id, user.tenant_id = values.user_id, tenant_id
    user.email, user.display_name, user.role = values.email, values.name, values.role
    user.channel_identities = _identities(None, values.identities) or "{}"
    writes.save(user, condition=TenantUser.pk.does_not_exist())


def add_version_check(writes: TransactWrite, tenant_id: str, version: int | None) -> None:
    """Add the next version of the users' guard to a transaction, on condition that it is still `version`.

    None means that there is no guard yet.
    """
    unchanged: Condition = UsersGuard.version == version if version else UsersGuard.version.does_not_exist()
    if version == 0:
        unchanged |= UsersGuard.version == 0
    guard = UsersGuard(partition_of(tenant_id), USERS)
    writes.update(guard, actions=[UsersGuard.version.set((version or 0) + 1)], condition=unchanged)


def _keyed(tenant_id: str, user_id: str) -> TenantUser:
    return TenantUser(partition_of(tenant_id), user_key(user_id))


def key_attributes(item: TenantUser) -> dict[str, str]:
    """Return the attributes that repeat the keys of a user's item; the platform reads them."""
    user_id = str(item.plain("sk")).removeprefix(user_key(""))
    return {"user_id": user_id, "tenant_id": tenant_of(str(item.plain("pk")))}


def _user(users: Users, user_id: str) -> TenantUser:
    if user_id not in users.items:
        raise NotFound("This user no longer exists.")
    return users.items[user_id]


def _changes(item: TenantUser, values: UserValues) -> dict[str, str]:
    wanted = key_attributes(item) | {"email": values.email, "display_name": values.name, "role": values.role}
    changed = {name: value for name, value in wanted.items() if item.plain(name) != value}
    if (identities := _identities(item.plain("channel_identities"), values.identities)) is not None:
        changed["channel_identities"] = identities
    return changed


def _identities(stored: Any, rows: Sequence[tuple[str, str]]) -> str | None:
    """Return the new JSON text, or None if the rows equal what is stored, so that other writers' text is kept."""
    try:
        before = json.loads(stored) if isinstance(stored, str) else stored
    except (ValueError, RecursionError):
        before = None
    known: dict[str, Any] = before if isinstance(before, dict) else {}
    typed: dict[str, list[str]] = {}
    for kind, each in rows:
        typed.setdefault(kind, []).append(each)
    # A channel without ids has no row; keep it.
    after: dict[str, Any] = {kind: ids for kind, ids in known.items() if ids == []}
    for kind, ids in typed.items():
        is_list = len(ids) > 1 or isinstance(known.get(kind), list)
        after[kind] = known[kind] if kind in known and ids_of(known[kind]) == ids else ids if is_list else ids[0]
    # Replace text that is not a JSON object: because of it, the platform cannot read any of the tenant's users.
    if after == known and (stored is None or (isinstance(stored, str) and isinstance(before, dict))):
        return None
    return json.dumps(after, ensure_ascii=False, default=text_of)
