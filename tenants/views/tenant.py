"""One tenant: its overview, its readiness list, its history, and the platform's memories of its users."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.audit.queries import trail_page
from console.errors import NotFound
from console.permissions import Permission
from console.trail.recording import tenant_trail
from console.trees import tree_of
from tenants.queries import list_memories, load_tenant
from tenants.readiness import readiness_of
from tenants.reading import redactor_for
from tenants.records import DELETED
from tenants.settings import overwritten
from tenants.settings_text import LABELS, mask_secrets
from tenants.status import steps_from
from tenants.views.frame import frame


@requires(Permission.TENANT_READ)
@require_safe
def overview(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Show a tenant: its identity, what is missing, its companies, and items of unknown types."""
    tenant = load_tenant(tenant_id, request.staff)
    context = frame(tenant, request.staff, "tenant") | {
        "readiness": readiness_of(tenant, request.staff),
        "steps": steps_from(tenant.status) if tenant.meta and request.staff.can(Permission.TENANT_WRITE) else (),
        "unknown": tree_of(dict(tenant.unknown)) if tenant.unknown else None,
    }
    return render(request, "tenants/tenant.html", context)


@requires(Permission.TENANT_READ)
@require_safe
def readiness(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Show the readiness list. Raises `NotFound` for a deleted tenant."""
    tenant = load_tenant(tenant_id, request.staff)
    if tenant.status == DELETED:
        raise NotFound("This tenant was deleted, so it has no readiness list.")
    context = frame(tenant, request.staff, "tenant", "Readiness") | {"readiness": readiness_of(tenant, request.staff)}
    return render(request, "tenants/readiness.html", context)


@requires(Permission.TENANT_READ)
@require_safe
def history(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Show the tenant's trail, and what the platform has changed since the console last saved the settings."""
    staff = request.staff
    tenant = load_tenant(tenant_id, staff)
    trail = trail_page(tenant_trail(tenant_id), staff, request.GET.get("page", ""))
    show = redactor_for(staff)
    found = overwritten(tenant_id) if tenant.meta else None
    url = reverse("tenant-history", args=[tenant_id])
    context = frame(tenant, staff, "tenant-history") | {
        "trail": trail,
        "overwritten": found,
        "differences": [
            (LABELS.get(key, key), *(show(mask_secrets(key, each)) if each else "" for each in pair))
            for key, pair in found.differences.items()
        ]
        if found
        else [],
        "first_url": url if request.GET.get("page") else "",
        "next_url": f"{url}?{urlencode({'page': trail.next})}" if trail.next else "",
    }
    return render(request, "tenants/history.html", context)


@requires(Permission.TENANT_READ)
@require_safe
def memories(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """List what the platform remembers of the sessions of a tenant's users."""
    staff = request.staff
    tenant = load_tenant(tenant_id, staff)
    rows, following = list_memories(tenant_id, staff, request.GET.get("page", ""), tenant.names)
    url = reverse("tenant-memories", args=[tenant_id])
    context = frame(tenant, staff, "tenant", "Memories") | {
        "rows": [(row, tree_of(row.facts) if row.facts not in (None, "", [], {}) else None) for row in rows],
        "first_url": url if request.GET.get("page") else "",
        "next_url": f"{url}?{urlencode({'page': following})}" if following else "",
    }
    return render(request, "tenants/memories.html", context)
