"""`/audit/picture/`: actions and hand-offs per day of what a review finds, drawn and as a table."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.audit.chart.counting import DAYS_SHOWN, count_days
from console.audit.chart.rendering import render_chart
from console.audit.review.forms import review_of
from console.audit.review.gathering import look_ahead
from console.audit.review.page import covered_words
from console.audit.review.plan import TRAIL_BY_TRAIL
from console.audit.review.reading import ReviewFound
from console.audit.review.words import describe_filters
from console.permissions import Permission
from console.templatetags.console import zone_of


@requires(Permission.AUDIT_REVIEW)
@require_safe
def chart(request: StaffRequest) -> HttpResponse:
    """The chart with its numbers: a page, or for htmx the part of it that a review can show. Filters as there."""
    form, review, query = review_of(request.GET, request.staff)
    zone = zone_of(request.staff)
    plan = look_ahead(review, request.staff)
    counted = count_days(review, request.staff, zone)
    context = {
        "problems": form.problems,
        "filters": describe_filters(form, review, opened=form.staff.scope.everything),
        "notices": plan.notices,
        "covered": covered_words(ReviewFound((), covered=plan.covered, notices=plan.notices), review),
        "possible": bool(plan.partitions) or TRAIL_BY_TRAIL not in plan.notices,
        "counted": counted,
        "chart": render_chart(counted.days),
        "days": tuple(reversed(counted.days)),
        "days_shown": DAYS_SHOWN,
        "zone": zone.key,
        "review_url": f"{reverse('audit')}?{query}" if query else reverse("audit"),
        "crumbs": [{"label": "Audit", "url": reverse("audit")}, {"label": "Chart"}],
    }
    is_fragment = request.htmx  # type: ignore[attr-defined]
    return render(request, "audit/_chart.html" if is_fragment else "audit/chart.html", context)
