"""A tenant's settings: show and change them."""

from functools import cache

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import FAILURES, answer, describe_error
from console.errors import Invalid, StoreUnavailable, Throttled
from console.form_pages import FORM_METHODS
from console.permissions import Permission
from console.redaction.credentials import mask_text
from tenants import settings
from tenants.queries import load_tenant
from tenants.reading import redactor_for, settings_facts
from tenants.records import DELETED, Tenant, TenantRow
from tenants.settings import SettingsChanged
from tenants.settings_form import SettingsForm
from tenants.views.frame import frame, refuse_deleted


@requires(Permission.TENANT_READ)
@require_safe
def show(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Show the settings, the schema's keys first."""
    staff = request.staff
    tenant = load_tenant(tenant_id, staff)
    shown = redactor_for(staff)
    context = frame(tenant, staff, "tenant-settings") | {
        "facts": settings_facts(tenant.settings, shown),
        "text": shown(mask_text(tenant.settings.text)) if tenant.settings.problem else "",
    }
    return render(request, "tenants/settings.html", context)


@requires(Permission.TENANT_WRITE)
@require_http_methods(FORM_METHODS)
def change(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Change name and settings. A stale save shows both versions and keeps what was typed."""
    staff = request.staff
    stored = settings.load(tenant_id, staff)

    # Read lazily, to show the page or to check an unusual channel type: a save does not need it.
    @cache
    def tenant() -> Tenant | TenantRow:
        try:
            return load_tenant(tenant_id, staff)
        except (StoreUnavailable, Throttled):
            if request.method != "POST":
                raise
            # Keep what was typed, even if the rest of the page cannot be read.
            return TenantRow(tenant_id, stored.name or tenant_id, stored.status, None)

    def mapped() -> list[str]:
        read = tenant()
        if isinstance(read, Tenant):
            return [each.channel.type for each in read.channels]
        # They were offered when the form was opened.
        return request.POST.getlist("enabled_channels")

    def respond(form: SettingsForm, error: Exception | None = None, *, stale: bool = False) -> HttpResponse:
        context = frame(tenant(), staff, "tenant-settings", "Change") | {
            "form": form,
            "seen": form.stored.seen,
            "stale": stale,
            "differences": form.differences() if stale else (),
        }
        return answer(request, "tenants/settings_change.html", context, error)

    if request.method != "POST":
        opened = SettingsForm(None, stored=stored, mapped=mapped)
        return refuse_deleted(request, tenant_id, stored.status) or respond(opened)
    form = SettingsForm(request.POST, stored=stored, mapped=mapped)
    seen = request.POST.get("seen", "")
    if seen != stored.seen and stored.status != DELETED:
        return respond(form, SettingsChanged(), stale=True)
    if not form.is_valid():
        return respond(form, Invalid())
    try:
        changed = settings.save(tenant_id, form.name_typed, form.known, form.others, seen, staff)
    except SettingsChanged as error:
        form = SettingsForm(request.POST, stored=settings.load(tenant_id, staff), mapped=mapped)
        return respond(form, error, stale=True)
    except FAILURES as error:
        form.add_error(None, describe_error(error, "the settings"))
        return respond(form, error)
    messages.success(request, "The settings are saved." if changed else "Nothing to change.")
    return redirect("tenant-settings", tenant_id)
