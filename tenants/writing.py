"""Shared parts of every change of a tenant: the permission check, and one transaction with its trail entries."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, NotFound, Throttled
from console.permissions import Permission, Staff
from console.store.calls import TransactionRefused
from console.store.connection import transaction
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, tenant_trail
from tenants.keys import META, partition_of
from tenants.models import TenantItem, TenantMeta
from tenants.queries import check_tenant
from tenants.records import DELETED

# How often a change is attempted when other writes to the same items interfere.
TRIES = 4
NOT_THERE = "This tenant no longer exists."
NOT_CHANGEABLE = "This tenant was deleted, so nothing can be changed on it."


def check_writer(permission: Permission, tenant_id: str, staff: Staff) -> None:
    """Raise `Forbidden` without the permission, `NotFound` for a tenant out of scope. Reads nothing."""
    staff.require(permission)
    check_tenant(tenant_id, staff)


def entry_of(tenant_id: str, action: Action, by: Staff | Actor, **payload: Any) -> TrailEntry:
    """Return an entry for a tenant's trail."""
    actor = by if isinstance(by, Actor) else Actor.of(by)
    return TrailEntry(tenant_trail(tenant_id), action, actor, company_id=tenant_id, payload=payload)


def write(add: Callable[[TransactWrite], None], *entries: TrailEntry) -> None:
    """Write changes and their entries in one transaction. Raises `TransactionRefused` and the store's errors."""
    at = clock.now()
    with transaction() as writes:
        add(writes)
        for entry in entries:
            writes.save(build(entry, at))


def write_attempts() -> Iterator[Callable[[Callable[[TransactWrite], None], Iterable[TrailEntry]], bool]]:
    """Yield up to `TRIES` write functions: each returns True if it wrote, False if the caller should read and retry.

    The last one raises instead of returning False: `Conflict` if refused, or `Throttled`.
    """
    for left in reversed(range(TRIES)):

        def attempt(add: Callable[[TransactWrite], None], entries: Iterable[TrailEntry], left: int = left) -> bool:
            try:
                write(add, *entries)
            except TransactionRefused as error:
                if not left:
                    raise Conflict("Somebody else is changing this right now. Check it, then try again.") from error
                return False
            except Throttled:
                if not left:
                    raise
                return False
            return True

        yield attempt


def check_exists(writes: TransactWrite, tenant_id: str) -> None:
    """Add to a transaction the condition that the tenant exists and was not deleted."""
    there = TenantMeta.pk.exists() & not_deleted()
    writes.condition_check(TenantMeta, partition_of(tenant_id), META, condition=there)


def not_deleted() -> Condition:
    """Return the condition that a META does not say that the tenant was deleted."""
    condition: Condition = TenantMeta.status.does_not_exist() | (TenantMeta.status != DELETED)
    return condition


def as_read(item: TenantItem, names: Iterable[str]) -> Condition:
    """Return the condition that the item exists, with these attributes as they were read.

    Only text is compared; a value of another type must still be there.
    """
    condition: Condition = TenantItem.pk.exists()
    for name in names:
        attribute, value = getattr(type(item), name), item.raw.get(name)
        if value is None:
            condition &= attribute.does_not_exist()
        elif "S" in value:
            condition &= attribute == value["S"]
        else:
            condition &= attribute.exists()
    return condition


def check_not_deleted(tenant_id: str) -> None:
    """Raise `NotFound` with a message if there is no such tenant, and `Conflict` if it was deleted. One read."""
    if current_meta(tenant_id).plain("status") == DELETED:
        raise Conflict(NOT_CHANGEABLE)


def current_meta(tenant_id: str) -> TenantMeta:
    """Return the tenant's META, strongly consistent. Raises `NotFound` with a message."""
    try:
        return TenantMeta.get(partition_of(tenant_id), META, consistent_read=True)
    except NotFound as error:
        raise NotFound(NOT_THERE) from error
