"""Home, the system page, and the pages for errors outside the console's own."""

import logging

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from console import clock, system_sections
from console.access import StaffRequest, requires, signed_in
from console.error_pages import render_status
from console.permissions import Permission, Role
from console.provisioning import check as inspection
from console.store import calls

logger = logging.getLogger(__name__)

COSTS_SHOWN = 20


# The home of each role.
HOMES = {Role.AGENT: "queue", Role.ONBOARDING: "tenants", Role.AUDITOR: "audit", Role.ADMIN: "queue"}


@signed_in
@require_safe
def home(request: StaffRequest) -> HttpResponse:
    """Redirect to the role's home."""
    return redirect(HOMES[request.staff.role])


@requires(Permission.SYSTEM_READ)
@require_safe
def system(request: StaffRequest) -> HttpResponse:
    """Show this environment's tables against the schemas, the apps' sections, and the cost of the last requests."""
    costs = list(reversed(calls.recent_costs))[:COSTS_SHOWN]
    reports, failure = inspection.inspect_each(), ""
    if len(failures := {report.failure for report in reports}) == 1 and (failure := failures.pop()):
        # Show a failure that all tables share only once.
        reports = []
    sections = system_sections.sections(clock.now())
    context = {"reports": reports, "failure": failure, "costs": costs, "sections": sections}
    return render(request, "system.html", context | {"region": settings.AWS_REGION})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Refuse a form without a valid token: most often its page was opened before the last sign-in."""
    return render_status(
        request,
        403,
        "Nothing was changed. Go back, reload the page and send it again.",
        title="This form is no longer valid",
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render Django's own 400."""
    return render_status(request, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render Django's own 403."""
    return render_status(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render Django's own 404; never says which routes exist."""
    return render_status(request, 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Render the 500 page; Django has already logged the error (redacted)."""
    return render_status(request, 500)
