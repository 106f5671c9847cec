"""`/audit/accounts/`: the access review. Auditors and administrators see and export accounts, and record a review."""

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.audit import access_review
from console.context import list_crumbs, wants_fragment
from console.exports import ExportForm
from console.permissions import Permission
from console.staff import directory
from console.staff.directory_forms import DirectoryFilter


@requires(Permission.AUDIT_REVIEW)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List the accounts in scope: a page, or for htmx only its list. GET filters as of `/staff/`; changes nothing."""
    return _page(request, ExportForm())


def _page(request: StaffRequest, export_form: ExportForm, status: int = 200) -> HttpResponse:
    staff, form, cursor = request.staff, DirectoryFilter(request.GET), request.GET.get("page", "")
    page = directory.read_page(staff, form.filters(), cursor, with_recovery_codes=True)
    values, here = form.values(), reverse("access-review")
    context = {
        "form": form,
        "page": page,
        "filtered": bool(values),
        "clear_url": here if values or form.errors else "",
        "first_url": reverse("access-review", query=values) if cursor else "",
        "next_url": reverse("access-review", query=values | {"page": page.next}) if page.next else "",
        "is_review": True,
        "may_manage": staff.can(Permission.STAFF_MANAGE),
    }
    if wants_fragment(request):
        return render(request, "staff/_directory.html", context)
    reviews, reviews_notice = access_review.past_reviews(staff)
    context |= {
        "reviews": reviews,
        "reviews_notice": reviews_notice,
        "export_form": export_form,
        "may_export": staff.can(Permission.AUDIT_EXPORT),
        "crumbs": list_crumbs(("Audit", reverse("audit")), here="Access review"),
    }
    return render(request, "audit/access_review.html", context, status=status)


@requires(Permission.AUDIT_EXPORT)
@post_only_form("access-review")
def export(request: StaffRequest) -> HttpResponseBase:
    """Export all accounts in scope, as CSV or JSON Lines. Recorded first."""
    form = ExportForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    return access_review.export(form.cleaned_data["format"], request.staff).response()


@requires(Permission.AUDIT_REVIEW)
@post_only_form("access-review")
def record(request: StaffRequest) -> HttpResponse:
    """Record that the person has reviewed the accounts in their scope."""
    count = access_review.record_review(request.staff)
    messages.success(request, f"Your review of {count:,} account{'' if count == 1 else 's'} is recorded.")
    return redirect("access-review")
