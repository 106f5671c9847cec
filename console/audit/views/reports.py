"""Reports of a review: `/audit/picture/`, a chart of actions per day, and `/audit/export/`, a file."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.audit.chart import DAYS_SHOWN, chart_of, count_days
from console.audit.export.rows import COLUMNS
from console.audit.export.streaming import export as export_entries
from console.audit.review.forms import ReviewForm, review_of
from console.audit.review.page import READ_LAST, describe_covered, describe_filters
from console.audit.review.plan import TRAIL_BY_TRAIL, Plan, Review
from console.audit.review.reading import preview_plan
from console.context import list_crumbs, wants_fragment
from console.exports import ExportForm
from console.permissions import Permission
from console.templatetags.components import zone_of


@requires(Permission.AUDIT_EXPORT)
@require_http_methods(["GET", "HEAD", "POST"])
def export(request: StaffRequest) -> HttpResponseBase:
    """Export a review, with the review's GET filters. A file is sent only if all filters are valid."""
    staff = request.staff
    form, review, query = review_of(request.GET, staff)
    plan = preview_plan(review, staff)
    asked = ExportForm(request.POST if request.method == "POST" else None)
    if not asked.is_bound:
        return _page(request, form, review, query, plan, asked)
    if form.problems or TRAIL_BY_TRAIL in plan.notices or not asked.is_valid():
        return _page(request, form, review, query, plan, asked, status=400)
    made = export_entries(form, review, asked.cleaned_data["format"], staff)
    return made.response()


def _page(
    request: StaffRequest,
    form: ReviewForm,
    review: Review,
    query: str,
    plan: Plan,
    asked: ExportForm,
    status: int = 200,
) -> HttpResponse:
    suffix = f"?{query}" if query else ""
    context: dict[str, Any] = {
        "form": asked,
        "action": reverse("audit-export") + suffix,
        "review_url": reverse("audit") + suffix,
        "problems": form.problems,
        "filters": describe_filters(form, review, opened=form.staff.scope.everything),
        # If action types were chosen, the filters already name them.
        "covered": "" if review.actions and not plan.notices else describe_covered(plan.covered, plan.notices, review),
        "notices": plan.notices,
        "possible": TRAIL_BY_TRAIL not in plan.notices,
        "read_last": READ_LAST,
        "limit": f"{settings.AUDIT_EXPORT_LIMIT:,}",
        "columns": [name.replace("_", " ") for name in COLUMNS],
        "crumbs": list_crumbs(("Audit", reverse("audit")), here="Export"),
    }
    return render(request, "audit/export.html", context, status=status)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def chart(request: StaffRequest) -> HttpResponse:
    """Show the chart with its numbers, with the review's GET filters: a page, or for htmx the part inside a review."""
    form, review, query = review_of(request.GET, request.staff)
    zone = zone_of(request.staff)
    plan = preview_plan(review, request.staff)
    counted = count_days(review, request.staff, zone)
    context = {
        "problems": form.problems,
        "filters": describe_filters(form, review, opened=form.staff.scope.everything),
        "notices": plan.notices,
        "covered": describe_covered(plan.covered, plan.notices, review),
        "possible": bool(plan.partitions) or TRAIL_BY_TRAIL not in plan.notices,
        "counted": counted,
        "chart": chart_of(counted),
        "days_shown": DAYS_SHOWN,
        "zone": zone.key,
        "review_url": f"{reverse('audit')}?{query}" if query else reverse("audit"),
        "crumbs": list_crumbs(("Audit", reverse("audit")), here="Chart"),
    }
    is_fragment = wants_fragment(request)
    return render(request, "audit/_chart.html" if is_fragment else "audit/chart.html", context)
