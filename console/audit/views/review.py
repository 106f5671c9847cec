"""`/audit/`: the review across conversations, and `/audit/find/`, which seals what a URL must not contain."""

from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.audit.review.forms import CONVERSATION, About, AboutForm, ReviewForm, about_of, query_of, review_of
from console.audit.review.page import READ_LAST, review_page
from console.audit.review.reading import gather
from console.audit.scoping import trail_shown_as
from console.audit.views.trails import overview
from console.context import wants_fragment
from console.errors import Invalid
from console.lookups.personal_searches import has_reason, needs_reason, record_search
from console.permissions import Permission, Staff
from console.refs import seal
from console.trail.recording import SYSTEM_TRAIL, staff_trail

# Entries counted for the trail entry of a search for personal data.
COUNTED = 50


@requires(Permission.AUDIT_READ)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """Show reviewers everything in scope, newest first (for htmx, only the list), and others their own trail.

    GET filters: group, action, actor, nobody, result, company, since, until; `about` is sealed, `page` is a cursor.
    """
    staff = request.staff
    if not staff.can(Permission.AUDIT_REVIEW):
        return overview(request)
    cursor = request.GET.get("page", "")
    form, review, query = review_of(request.GET, staff)
    page = review_page(review, staff, form.company_names, cursor)
    filters = _filters(form, request)
    context = {
        **filters,
        "page": page,
        "read_last": "" if page.trail_by_trail else READ_LAST,
        "filtered": bool(form.values()),
        "hints": _hints(form, filters["about"]) if not page.rows else (),
        "query": query,
        "may_export": staff.can(Permission.AUDIT_EXPORT),
        "first_url": _url(query) if cursor else "",
        "next_url": _url(query, page=page.found.next) if page.found.next else "",
        **_trails(staff),
    }
    is_fragment = wants_fragment(request)
    return render(request, "audit/_review.html" if is_fragment else "audit/review.html", context)


@requires(Permission.AUDIT_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def find(request: StaffRequest) -> HttpResponse:
    """Show the form; POST `what`, `value` redirects to the review of that, with the filters of this URL."""
    staff = request.staff
    form, _, query = review_of(request.GET, staff)
    typed = AboutForm(request.POST if request.method == "POST" else None, staff)
    if typed.is_bound and typed.is_valid():
        value = typed.cleaned_data["value"]
        try:
            if not needs_reason(value, staff):
                return redirect(_url(query_of(form, _meant(typed.about(), staff))))
            if has_reason(typed, staff):
                about, _ = record_search(value, typed, staff, partial(_find, form, typed), itemgetter(1))
                return redirect(_url(query_of(form, about)))
        except Invalid as error:
            typed.add_error("value", str(error))
    context = {"about_form": typed, "find_url": _find_url(query), "back_url": _url(query), **_trails(request.staff)}
    return render(request, "audit/find.html", context)


def _meant(about: About, staff: Staff) -> About:
    """Return what a typed text means: a conversation's id may be typed as pages show it."""
    return replace(about, value=trail_shown_as(about.value, staff)) if about.what == CONVERSATION else about


def _find(form: ReviewForm, typed: AboutForm) -> tuple[About, int]:
    """Return what a valid form names, and how many entries a search for it finds, up to `COUNTED`."""
    about = _meant(typed.about(), form.staff)
    return about, len(gather(form.review(about), form.staff, COUNTED, 1).entries)


def _filters(form: ReviewForm, request: StaffRequest) -> dict[str, Any]:
    """Return the context of the forms above the list, and the URLs that clear them."""
    about = about_of(request.GET)
    kept = urlencode({"about": about.sealed}) if about else ""
    return {
        "form": form,
        "about": about,
        "about_form": AboutForm(None, form.staff),
        "find_url": _find_url(query_of(form, None)),
        "clear_url": _url(kept) if form.values() or form.errors else "",
        "start_url": _url(kept),
        "without_about_url": _url(query_of(form, None)) if about else "",
    }


def _hints(form: ReviewForm, about: About | None) -> tuple[str, ...]:
    """Return what may be wrong with filters that match nothing."""
    # Say nothing about a sealed key to people who merely have its link.
    if about and about.hint and form.staff.scope.everything:
        return (about.hint,)
    return ()


def _trails(staff: Staff) -> dict[str, str]:
    """Return URLs of single trails; the system's is for people with all companies in scope."""
    return {
        "own_url": reverse("trail", args=[seal("trail", staff_trail(staff.username))]),
        "system_url": reverse("trail", args=[seal("trail", SYSTEM_TRAIL)]) if staff.scope.everything else "",
    }


def _find_url(query: str) -> str:
    return reverse("audit-find") + (f"?{query}" if query else "")


def _url(query: str, **more: str) -> str:
    whole = "&".join(part for part in (query, urlencode(more)) if part)
    return reverse("audit") + (f"?{whole}" if whole else "")
