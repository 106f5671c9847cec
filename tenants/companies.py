"""Companies linked to a tenant, each an item of the console's own: the platform overwrites META as a whole."""

import logging
from collections.abc import Sequence
from functools import partial

from pynamodb.transactions import TransactWrite

from console import clock
from console.errors import Conflict, ConsoleError, Invalid, NotFound
from console.permissions import COMPANY, TENANT, Permission, Staff
from console.staff import known_companies
from console.store.calls import TransactionRefused, parallel
from console.store.connection import BATCH
from console.trail.actions import Action
from tenants.keys import check_key, company_key, partition_of
from tenants.models import TenantCompany
from tenants.queries import load_metas, tenants_linked_to
from tenants.reading import redactor_for, row_of
from tenants.records import DELETED, TenantRow
from tenants.writing import check_exists, check_not_deleted, check_writer, entry_of, write

logger = logging.getLogger(__name__)

OUT_OF_SCOPE = "No company in your scope has that id."


def check_company(company_id: str, staff: Staff) -> None:
    """Raise `Invalid` for a company out of the person's scope, whether or not it exists."""
    if not staff.scope.covers_company(company_id):
        raise Invalid(OUT_OF_SCOPE)


def linkable(staff: Staff) -> dict[str, str]:
    """Return the known companies in a person's scope: id to name. Skip unconfirmed ids that belong to a tenant.

    Never raises.
    """
    known = known_companies.known_to(staff)
    tenants = known.of_kind(TENANT).keys() & staff.scope.unconfirmed
    return {each: name for each, name in known.of_kind(COMPANY).items() if each not in tenants}


def without_data(company_ids: Sequence[str]) -> tuple[str, ...] | None:
    """Return those of the companies of which nothing is stored: usually the id was mistyped. Never raises.

    None if that could not be checked. A few small reads for each, in parallel.
    """
    try:
        found = parallel(*(partial(known_companies.is_in_use, each, COMPANY) for each in company_ids))
    except ConsoleError as error:
        logger.warning("Could not check which companies exist: %s", type(error).__name__)
        return None
    return tuple(each for each, is_there in zip(company_ids, found, strict=True) if not is_there)


def linked_elsewhere(company_ids: Sequence[str], tenant_id: str, staff: Staff) -> dict[str, str]:
    """Return those of the companies that another tenant has too, each with the names of those tenants.

    A tenant out of the person's scope is only "another tenant"; a deleted one does not count. One Query for each
    company, in parallel, and one read of the tenants. Raises the store's errors.
    """
    linked = tenants_linked_to(company_ids)
    others = sorted({each for tenants in linked.values() for each in tenants} - {tenant_id})
    rows = {each: row_of(meta, redactor_for(staff)) for each, meta in load_metas(others[:BATCH]).items()}
    words = {each: _words_of(row, staff) for each, row in rows.items() if row.status != DELETED}
    found = {
        company_id: dict.fromkeys(words[each] for each in tenants if each in words)
        for company_id, tenants in linked.items()
        if tenant_id not in tenants
    }
    return {company_id: ", ".join(named) for company_id, named in found.items() if named}


def _words_of(row: TenantRow, staff: Staff) -> str:
    if not staff.scope.covers_tenant(row.tenant_id):
        return "another tenant"
    return f"{row.name} ({row.tenant_id})" if row.name != row.tenant_id else row.tenant_id


def link(tenant_id: str, company_id: str, staff: Staff) -> None:
    """Link a company. Raises `Invalid` out of scope, `Conflict` if it is already linked, `NotFound`."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)
    check_company(company_id, staff)
    check_key(partition_of(tenant_id), company_key(company_id))
    check_not_deleted(tenant_id)

    def add(writes: TransactWrite) -> None:
        check_exists(writes, tenant_id)
        add_company(writes, tenant_id, company_id)

    try:
        write(add, entry_of(tenant_id, Action.COMPANY_LINKED, staff, company=company_id))
    except TransactionRefused as error:
        raise Conflict("This company is already linked.") from error


def unlink(tenant_id: str, company_id: str, staff: Staff) -> None:
    """Unlink a company. Raises `NotFound` if it is no longer linked."""
    check_writer(Permission.TENANT_WRITE, tenant_id, staff)

    def add(writes: TransactWrite) -> None:
        writes.delete(_keyed(tenant_id, company_id), condition=TenantCompany.pk.exists())

    try:
        write(add, entry_of(tenant_id, Action.COMPANY_UNLINKED, staff, company=company_id))
    except TransactionRefused as error:
        raise NotFound("This company is no longer linked.") from error


def add_company(writes: TransactWrite, tenant_id: str, company_id: str) -> None:
    """Add a company to a transaction, on condition that it is not linked yet."""
    company = _keyed(tenant_id, company_id)
    company.linked_at = clock.to_iso(clock.now())
    writes.save(company, condition=TenantCompany.pk.does_not_exist())


def _keyed(tenant_id: str, company_id: str) -> TenantCompany:
    return TenantCompany(partition_of(tenant_id), company_key(company_id))
