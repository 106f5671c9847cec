"""Change a tenant's status: a confirmation page that shows what is missing and asks for a reason."""

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.errors import NotFound
from console.form_pages import FORM_METHODS
from console.permissions import Permission
from tenants import status
from tenants.forms import ReasonForm
from tenants.queries import load_tenant
from tenants.readiness import readiness_of
from tenants.status import StatusStep
from tenants.views.frame import TenantConfirmation, ask_confirmation, frame

_POINTS = {
    StatusStep.ACTIVATE: ("Webhooks that find the tenant will be served.",),
    StatusStep.SUSPEND: (
        "Webhooks still find the tenant, but the platform does not serve them.",
        "Its settings, users and channels stay.",
    ),
    StatusStep.REACTIVATE: ("Webhooks that find the tenant are served again.",),
    StatusStep.DISCARD: (
        "Its channels are released, so other tenants can have them.",
        "Its users, its links to companies and what was typed in the onboarding are removed.",
        "Its id stays taken, and its history stays.",
        "You cannot undo this.",
    ),
}
_DONE = {
    StatusStep.ACTIVATE: "The tenant is active.",
    StatusStep.SUSPEND: "The tenant is suspended.",
    StatusStep.REACTIVATE: "The tenant is active again.",
    StatusStep.DISCARD: "The tenant is discarded. Its id stays taken.",
}


@requires(Permission.TENANT_WRITE)
@require_http_methods(FORM_METHODS)
def change(request: StaffRequest, tenant_id: str, step: str) -> HttpResponse:
    """Activate, suspend, reactivate or discard a tenant."""
    if step not in StatusStep.__members__.values():
        raise NotFound
    staff, wanted = request.staff, StatusStep(step)
    tenant = load_tenant(tenant_id, staff)
    form = ReasonForm(request.POST if request.method == "POST" else None, required=status.needs_reason(wanted))
    unready, hindered = None, status.hindrance_of(wanted, tenant.status)
    # On POST, `status.change` checks this itself and raises `NotReady`.
    if (
        wanted is StatusStep.ACTIVATE
        and not hindered
        and request.method != "POST"
        and not (found := readiness_of(tenant, staff)).complete
    ):
        unready = found
    question = TenantConfirmation(
        title=f"{wanted.capitalize()} this tenant?",
        points=_POINTS[wanted],
        submit=f"{wanted.capitalize()} the tenant",
        back=reverse("tenant", args=[tenant_id]),
        danger=wanted in (StatusStep.SUSPEND, StatusStep.DISCARD),
        seen=tenant.status,
        form=form,
        hindered=hindered,
        unready=unready,
    )

    def act() -> str:
        status.change(tenant_id, wanted, form.cleaned_data["reason"], request.POST.get("seen", ""), staff)
        return _DONE[wanted]

    return ask_confirmation(request, frame(tenant, staff, "tenant", wanted.capitalize()), question, act)
