"""Companies whose conversations are a tenant's: items of the console's own beside META, which the platform rewrites."""

from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, Invalid, NotFound
from console.permissions import COMPANY, TENANT, Permission, Staff
from console.staff import known_companies
from console.store.calls import TransactionRefused
from console.trail.actions import Action
from tenants.keys import check_key, company_key, partition_of
from tenants.models import TenantCompany
from tenants.writing import check_exists, check_writer, current_meta, entry_of, write

OUT_OF_SCOPE = "No company in your scope has that id."


def check_company(company_id: str, staff: Staff) -> None:
    """Raise `Invalid` for a company out of the person's scope, whether it is there or not."""
    if not staff.scope.covers_company(company_id):
        raise Invalid(OUT_OF_SCOPE)


def linkable(staff: Staff) -> dict[str, str]:
    """Names by id of the companies known within a person's scope; an id that may mean a tenant is left out if it does.

    Never raises.
    """
    known = known_companies.known_to(staff)
    tenants = known.of_kind(TENANT).keys() & staff.scope.unconfirmed
    return {each: name for each, name in known.of_kind(COMPANY).items() if each not in tenants}


def link(tenant_id: str, company_id: str, staff: Staff) -> None:
    """Link a company. Raises `Invalid` out of scope, `Conflict` where it is linked already, `NotFound`."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    check_company(company_id, staff)
    check_key(partition_of(tenant_id), company_key(company_id))
    current_meta(tenant_id)

    def add(writes: TransactWrite) -> None:
        check_exists(writes, tenant_id)
        add_company(writes, tenant_id, company_id)

    try:
        write(add, entry_of(tenant_id, Action.COMPANY_LINKED, staff, company=company_id))
    except TransactionRefused as error:
        raise Conflict("This company is already linked.") from error


def unlink(tenant_id: str, company_id: str, staff: Staff) -> None:
    """Unlink a company. Raises `NotFound` where it is not linked any more."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)

    def add(writes: TransactWrite) -> None:
        writes.delete(_keyed(tenant_id, company_id), condition=TenantCompany.pk.exists())

    try:
        write(add, entry_of(tenant_id, Action.COMPANY_UNLINKED, staff, company=company_id))
    except TransactionRefused as error:
        raise NotFound("This company is no longer linked.") from error


def add_company(writes: TransactWrite, tenant_id: str, company_id: str) -> None:
    """Add to a transaction a company that is not linked yet."""
    company = _keyed(tenant_id, company_id)
    company.linked_at = clock.to_iso(clock.now())
    writes.save(company, condition=TenantCompany.pk.does_not_exist())


def _keyed(tenant_id: str, company_id: str) -> TenantCompany:
    return TenantCompany(partition_of(tenant_id), company_key(company_id))
