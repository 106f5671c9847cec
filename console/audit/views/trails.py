"""One trail, `/audit/trails/<ref>/`, and what stands at `/audit/` for people who do not review: their own."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.audit.queries import trail_page
from console.audit.records import TrailPage
from console.audit.scoping import conversation_url, name_of, review_url
from console.audit.state import panel_beside
from console.errors import StoreUnavailable, TableMissing, Throttled
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.trail.actions import staff_trail


def overview(request: StaffRequest) -> HttpResponse:
    """What this person may look up, and the latest entries of their own trail; the caller has checked the role."""
    own = staff_trail(request.staff.username)
    try:
        page, notice = trail_page(own, request.staff), ""
    except TableMissing:
        page, notice = TrailPage(()), "This environment has no trail table, so the console is read-only."
    except (StoreUnavailable, Throttled):
        page, notice = TrailPage(()), "Your trail could not be read. Try again in a moment."
    url = reverse("trail", args=[seal("trail", own)])
    context = {
        "trail": page,
        "notice": notice,
        "next_url": f"{url}?{urlencode({'page': page.next})}" if page.next else "",
        "conversations_url": _conversations_url(request.staff),
    }
    return render(request, "audit/overview.html", context)


@requires(Permission.AUDIT_READ)
@require_safe
def trail(request: StaffRequest, ref: str) -> HttpResponse:
    """One trail, newest first: a page, or for htmx its list."""
    (partition,) = unseal("trail", ref, 1)
    page = trail_page(partition, request.staff, request.GET.get("page", ""))
    url = reverse("trail", args=[ref])
    context = {
        "trail": page,
        "title": name_of(partition),
        # Paging replaces the list alone.
        "state": None if getattr(request, "htmx", False) else panel_beside(partition, clock.now(), page.recipient),
        "conversation_url": conversation_url(partition, request.staff),
        "events_url": review_url("events-of-conversation", partition, request.staff),
        "looks_url": review_url("audit-looks-conversation", partition, request.staff),
        "first_url": url if request.GET.get("page") else "",
        "next_url": f"{url}?{urlencode({'page': page.next})}" if page.next else "",
        "crumbs": [{"label": "Audit", "url": reverse("audit")}, {"label": name_of(partition)}],
    }
    return render(request, "audit/trail.html", context)


def _conversations_url(staff: Staff) -> str:
    if not staff.can(Permission.CONVERSATION_READ):
        return ""
    try:
        return reverse("conversations")
    except NoReverseMatch:  # a build without that app
        return ""
