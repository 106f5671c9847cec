"""Link companies to a tenant, and unlink them."""

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.form_pages import FORM_METHODS, FormPage, process_form
from console.permissions import Permission
from console.redaction import redact
from console.staff.known_companies import listed
from tenants import companies
from tenants.forms import CompaniesForm
from tenants.queries import load_tenant
from tenants.views.frame import (
    TenantConfirmation,
    TenantPartGone,
    ask_confirmation,
    back_to,
    frame,
    refuse_deleted,
    unseal_part,
)


@requires(Permission.TENANT_WRITE)
@require_http_methods(FORM_METHODS)
def link(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Link companies within the person's scope."""
    staff = request.staff
    tenant = load_tenant(tenant_id, staff)
    if refused := refuse_deleted(request, tenant_id, tenant.status):
        return refused
    linked = {each.company_id for each in tenant.companies}
    data = request.POST if request.method == "POST" else None
    form = CompaniesForm(data, tenant_id=tenant_id, staff=staff, known=companies.linkable(staff))
    page = FormPage(
        template="tenants/companies.html",
        form=form,
        about="the tenant",
        back=reverse("tenant", args=[tenant_id]),
        context=frame(tenant, staff, "tenant", "Link companies"),
    )

    def act() -> str:
        form.check_shared()
        for company_id in form.ids:
            if company_id not in linked:
                companies.link(tenant_id, company_id, staff)
        if not form.ids:
            return "Nothing to link."
        unknown = companies.without_data(form.ids)
        if unknown is None:
            messages.warning(request, "Whether anything is stored of these companies could not be checked.")
            return "The companies are linked."
        ids = "id" if len(unknown) == 1 else "ids"
        doubt = f" Nothing is stored of {redact(listed(unknown))} yet. Check the {ids}." if unknown else ""
        return f"The companies are linked.{doubt}"

    return process_form(request, page, act)


@requires(Permission.TENANT_WRITE)
@require_http_methods(FORM_METHODS)
@back_to("tenant", "This company is no longer linked.")
def unlink(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Unlink a company."""
    company_id = unseal_part(tenant_id, "company", ref)
    tenant = load_tenant(tenant_id, request.staff)
    if company_id not in {each.company_id for each in tenant.companies}:
        raise TenantPartGone
    question = TenantConfirmation(
        title="Unlink this company?",
        points=(f"{company_id} is no longer linked to {tenant.name}. Its conversations stay as they are.",),
        submit="Unlink the company",
        back=reverse("tenant", args=[tenant_id]),
        danger=True,
    )

    def act() -> str:
        companies.unlink(tenant_id, company_id, request.staff)
        return "The company is unlinked."

    return ask_confirmation(request, frame(tenant, request.staff, "tenant", "Unlink"), question, act)
