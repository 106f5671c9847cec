"""`/insight/summary/…/`: the summary of a company's week, on screen and for print."""

from dataclasses import replace

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.errors import NotFound
from console.permissions import Permission
from console.store.presence import table_ready
from conversations.companies import companies_for
from conversations.insight.reports import PAGES
from conversations.insight.summary import IsoWeek, read_summary


@requires(Permission.INSIGHT_READ)
@require_safe
def summary(request: StaffRequest, company_id: str) -> HttpResponse:
    """Show the summary of one week (GET `week`, such as 2026-W47), by default the last complete one."""
    company = next((each for each in companies_for(request.staff) if each.company_id == company_id), None)
    if company is None:
        raise NotFound
    now = IsoWeek.of(clock.now().date())
    week = _week(request.GET.get("week", ""), now)
    days = {"period": "days", "since": str(week.period.first), "until": str(week.period.last), "compare": "on"}
    filters = {"company": company_id, **days}
    context = {
        "company": company,
        "week": week,
        "is_over": week != now,
        "before_url": f"{request.path}?week={week.before}",
        "after_url": f"{request.path}?week={week.after}" if week != now else "",
        "overview_url": reverse("insight", query=filters),
    }
    if not table_ready("INSIGHT"):
        return render(request, "insight/summary.html", context | {"is_absent": True})
    found = read_summary(company, week)
    sections = [
        (each, PAGES[each.slug].title, reverse("insight-report", args=[each.slug], query=filters))
        for each in found.sections
    ]
    # The report links its bars; links are no use on a page for print.
    chart = replace(found.chart.chart, urls={})
    return render(request, "insight/summary.html", context | {"summary": found, "sections": sections, "chart": chart})


def _week(asked: str, now: IsoWeek) -> IsoWeek:
    """Parse the week of a URL. Raises `NotFound` if it is malformed or has not begun."""
    if not asked:
        return now.before
    try:
        week = IsoWeek.parse(asked)
    except ValueError as error:
        raise NotFound from error
    if week.first > now.first:
        raise NotFound
    return week
