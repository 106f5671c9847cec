"""`/tenants/`: the tenants in a person's scope."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.permissions import Permission
from tenants.forms import StatusFilter
from tenants.queries import list_tenants


@requires(Permission.TENANT_READ)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List tenants by id; for htmx only the list. GET filter: status; `page` is a cursor, `open` redirects to an id."""
    if wanted := request.GET.get("open", "").strip():
        return redirect("tenant", wanted)
    form = StatusFilter(request.GET)
    form.is_valid()
    status = form.chosen("status")
    page = list_tenants(request.staff, status, request.GET.get("page", ""))
    values = {"status": status} if status else {}
    context = {
        "form": form,
        "page": page,
        "clear_url": reverse("tenants") if values or form.errors else "",
        "first_url": _url(values) if request.GET.get("page") else "",
        "back_url": _url(values | {"page": page.back}) if page.back else "",
        "next_url": _url(values | {"page": page.next}) if page.next else "",
        "may_write": request.staff.can(Permission.TENANT_WRITE),
    }
    is_fragment = request.htmx  # type: ignore[attr-defined]
    return render(request, "tenants/_list.html" if is_fragment else "tenants/index.html", context)


def _url(values: dict[str, str]) -> str:
    return reverse("tenants") + (f"?{urlencode(values)}" if values else "")
