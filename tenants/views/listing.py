"""`/tenants/`: the tenants in a person's scope."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.context import wants_fragment
from console.permissions import Permission
from tenants.forms import StatusFilter
from tenants.queries import list_tenants
from tenants.readiness import readiness_among


@requires(Permission.TENANT_READ)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List tenants by id; for htmx only the list, or the `readiness` of its rows, which costs more than the list.

    GET filter: status; `page` is a cursor, `open` redirects to an id.
    """
    if wanted := request.GET.get("open", "").strip():
        return redirect("tenant", wanted)
    form = StatusFilter(request.GET)
    form.is_valid()
    status = form.chosen("status")
    cursor = request.GET.get("page", "")
    page = list_tenants(request.staff, status, cursor)
    values = {"status": status} if status else {}
    context = {
        "form": form,
        "page": page,
        "clear_url": reverse("tenants") if values or form.errors else "",
        "first_url": _url(values) if cursor else "",
        "back_url": _url(values | {"page": page.back}) if page.back else "",
        "next_url": _url(values | {"page": page.next}) if page.next else "",
        "may_write": request.staff.can(Permission.TENANT_WRITE),
    }
    is_fragment = wants_fragment(request)
    if is_fragment and request.GET.get("readiness"):
        found = readiness_among(page.rows, request.staff)
        rows = [(row, found[row.tenant_id]) for row in page.rows if row.tenant_id in found]
        return render(request, "tenants/_readiness_cells.html", {"rows": rows})
    context["readiness_url"] = _url(values | ({"page": cursor} if cursor else {}) | {"readiness": "1"})
    return render(request, "tenants/_list.html" if is_fragment else "tenants/index.html", context)


def _url(values: dict[str, str]) -> str:
    return reverse("tenants") + (f"?{urlencode(values)}" if values else "")
