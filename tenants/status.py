"""A tenant's status: onboarding to active behind the readiness list, suspended and reactivated with a reason."""

from dataclasses import dataclass
from enum import StrEnum

from pynamodb.transactions import TransactWrite

from console.audit.actions import Action
from console.dynamodb.translation import TransactionRefused
from console.errors import Conflict, Invalid
from console.staff.permissions import Permission, Staff
from tenants.channels import ChannelTaken, check_free, claims_of
from tenants.keys import META, partition_of
from tenants.models import TenantMeta
from tenants.queries import load_tenant
from tenants.readiness import Readiness, readiness_of
from tenants.records import ACTIVE, ONBOARDING, SUSPENDED, Tenant
from tenants.writing import check_writer, entry_of, write

MAX_REASON = 300
# Channels whose claims are asked for before a tenant becomes active: far more than one has.
CHANNELS_ASKED = 20


class Step(StrEnum):
    """A change of status."""

    ACTIVATE = "activate"
    SUSPEND = "suspend"
    REACTIVATE = "reactivate"


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Why a tenant cannot become active: what its readiness list misses, and channels that others claim too.

    True where there are any.
    """

    readiness: Readiness
    clashes: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.readiness.complete or bool(self.clashes)

    @property
    def words(self) -> tuple[str, ...]:
        """All of them."""
        missing = (f"{point.label}: {point.words}" for point in self.readiness.points if not point.met)
        return (*missing, *self.clashes)


class NotReady(Invalid):
    """The tenant cannot become active. `obstacles` say why."""

    def __init__(self, obstacles: Obstacles) -> None:
        self.obstacles = obstacles
        super().__init__("It is not ready. " + " ".join(obstacles.words))


_TO = {Step.ACTIVATE: ACTIVE, Step.SUSPEND: SUSPENDED, Step.REACTIVATE: ACTIVE}
_ACTIONS = {
    Step.ACTIVATE: Action.TENANT_ACTIVATED,
    Step.SUSPEND: Action.TENANT_SUSPENDED,
    Step.REACTIVATE: Action.TENANT_REACTIVATED,
}


def steps_from(status: str) -> tuple[Step, ...]:
    """What can be done in a status; one that the schema does not know can be left by either way."""
    return {
        ACTIVE: (Step.SUSPEND,),
        SUSPENDED: (Step.REACTIVATE,),
        ONBOARDING: (Step.ACTIVATE,),
    }.get(status, (Step.ACTIVATE, Step.SUSPEND))


def needs_reason(step: Step) -> bool:
    """Whether it is done only with a reason."""
    return step is not Step.ACTIVATE


def obstacles(tenant: Tenant, staff: Staff) -> Obstacles:
    """Why a tenant cannot become active."""
    return Obstacles(readiness_of(tenant), clashes(tenant, staff))


def clashes(tenant: Tenant, staff: Staff) -> tuple[str, ...]:
    """Channels of a tenant that another one claims too, in words: two rounds of reads for each channel."""
    found = []
    for mine in tenant.channels[:CHANNELS_ASKED]:
        try:
            check_free(claims_of(mine.channel), staff, tenant.tenant_id)
        except ChannelTaken as error:
            found.append(f"{mine.type_label} {mine.shown}: {error}")
    return tuple(found)


def change(tenant_id: str, step: Step, reason: str, seen: str, staff: Staff) -> None:
    """Change the status, if it is still `seen`. Raises `NotReady`, `Invalid` (no reason), `Conflict`, `NotFound`."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    tenant = load_tenant(tenant_id, staff)
    if tenant.status != seen:
        raise Conflict(f"The status is {tenant.status or 'not set'} by now: someone else changed it meanwhile.")
    if step not in steps_from(tenant.status):
        raise Conflict(f"The tenant is {tenant.status} already.")
    if not tenant.meta:
        raise Invalid("There is no META item, so there is no status to change.")
    if needs_reason(step) and not reason:
        raise Invalid("Say why.")
    if step is Step.ACTIVATE and (found := obstacles(tenant, staff)):
        raise NotReady(found)
    to = _TO[step]
    told = {"from": {"status": tenant.status}, "to": {"status": to}} | ({"reason": reason} if reason else {})

    def add(writes: TransactWrite) -> None:
        status = TenantMeta.status
        as_seen = (status == seen) if seen else status.does_not_exist()
        meta = TenantMeta(partition_of(tenant_id), META)
        writes.update(meta, actions=[status.set(to)], condition=TenantMeta.pk.exists() & as_seen)

    try:
        write(add, entry_of(tenant_id, _ACTIONS[step], staff, **told))
    except TransactionRefused as error:
        raise Conflict("Someone else changed the status meanwhile. Look again, then repeat.") from error
