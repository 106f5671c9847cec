"""A tenant's status: activated once the readiness list is complete; suspended, reactivated, discarded with a reason."""

from enum import StrEnum

from pynamodb.transactions import TransactWrite

from console.errors import Conflict, Invalid
from console.permissions import Permission, Staff
from console.store.calls import TransactionRefused
from console.trail.actions import Action
from tenants.discarding import removal_of
from tenants.keys import META, partition_of
from tenants.models import TenantMeta
from tenants.queries import load_tenant
from tenants.readiness import Readiness, readiness_of
from tenants.records import ACTIVE, DELETED, ONBOARDING, SUSPENDED
from tenants.writing import check_writer, entry_of, write

MAX_REASON = 300


class StatusStep(StrEnum):
    """A change of status."""

    ACTIVATE = "activate"
    SUSPEND = "suspend"
    REACTIVATE = "reactivate"
    DISCARD = "discard"


class NotReady(Invalid):
    """The tenant cannot become active. `readiness` says why."""

    def __init__(self, readiness: Readiness) -> None:
        self.readiness = readiness
        missing = [f"{each.label}: {each.words}" for each in readiness.points if not each.met]
        super().__init__("It is not ready. " + " ".join(missing))


_TO = {
    StatusStep.ACTIVATE: ACTIVE,
    StatusStep.SUSPEND: SUSPENDED,
    StatusStep.REACTIVATE: ACTIVE,
    StatusStep.DISCARD: DELETED,
}
_ACTIONS = {
    StatusStep.ACTIVATE: Action.TENANT_ACTIVATED,
    StatusStep.SUSPEND: Action.TENANT_SUSPENDED,
    StatusStep.REACTIVATE: Action.TENANT_REACTIVATED,
    StatusStep.DISCARD: Action.TENANT_DISCARDED,
}


def steps_from(status: str) -> tuple[StatusStep, ...]:
    """Return the steps possible from a status; from an unknown one, a tenant can be activated or suspended."""
    return {
        ACTIVE: (StatusStep.SUSPEND,),
        SUSPENDED: (StatusStep.REACTIVATE,),
        ONBOARDING: (StatusStep.ACTIVATE, StatusStep.DISCARD),
        DELETED: (),
    }.get(status, (StatusStep.ACTIVATE, StatusStep.SUSPEND))


def needs_reason(step: StatusStep) -> bool:
    """Return whether a step requires a reason."""
    return step is not StatusStep.ACTIVATE


def hindrance_of(step: StatusStep, status: str) -> str:
    """Return why a step is impossible from a status, as a sentence; "" if it is possible."""
    if status == DELETED:
        return "This tenant was deleted, so its status can no longer change."
    return "" if step in steps_from(status) else f"The tenant is already {status}."


def change(tenant_id: str, step: StatusStep, reason: str, seen: str, staff: Staff) -> None:
    """Change the status, if it is still `seen`. Raises `NotReady`, `Invalid` (no reason), `Conflict`, `NotFound`."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    tenant = load_tenant(tenant_id, staff)
    if tenant.status != seen:
        raise Conflict(f"The status is {tenant.status or 'not set'} now. Somebody else changed it.")
    if words := hindrance_of(step, tenant.status):
        raise Conflict(words)
    if not tenant.meta:
        raise Invalid("There is no META item, so there is no status to change.")
    if needs_reason(step) and not reason:
        raise Invalid("Say why.")
    if step is StatusStep.ACTIVATE and not (found := readiness_of(tenant, staff)).complete:
        raise NotReady(found)
    to = _TO[step]
    payload = {"from": {"status": tenant.status}, "to": {"status": to}} | ({"reason": reason} if reason else {})
    removed = removal_of(tenant_id, staff) if step is StatusStep.DISCARD else None
    payload |= removed.payload if removed else {}

    def add(writes: TransactWrite) -> None:
        status = TenantMeta.status
        as_seen = (status == seen) if seen else status.does_not_exist()
        meta = TenantMeta(partition_of(tenant_id), META)
        writes.update(meta, actions=[status.set(to)], condition=TenantMeta.pk.exists() & as_seen)
        if removed:
            removed.add_to(writes)

    try:
        write(add, entry_of(tenant_id, _ACTIONS[step], staff, **payload))
    except TransactionRefused as error:
        raise Conflict("Somebody else changed this tenant in the meantime. Check it, then try again.") from error
