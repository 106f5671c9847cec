"""`/insight/`: reports on what the AI resolves, costs and fails at and how long people wait."""

import csv
from dataclasses import replace
from io import StringIO
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.answers import url_or_empty as address_of
from console.errors import NotFound
from console.permissions import Permission
from console.store.presence import table_ready
from conversations.insight.budgets import MonthCost, month_costs
from conversations.insight.form import InsightForm
from conversations.insight.reports.conversations import COST, OVERVIEW
from conversations.insight.reports.parts import ChartPanel, Figure, Report, ReportPage
from conversations.insight.reports.usage import BY_PROJECT
from conversations.insight.sums import InsightQuery, read_topics
from conversations.insight.views.frame import NumberUrls, form_and_query, frame_of, page_named, project_names


@requires(Permission.INSIGHT_READ)
@require_safe
def report(request: StaffRequest, slug: str = OVERVIEW.slug) -> HttpResponse:
    """Show one report: figures and charts, each with its definition and a link to the conversations behind it."""
    page = page_named(slug)
    form, query = form_and_query(request, page)
    if not query.owners or not table_ready("INSIGHT"):
        why = "is_absent" if query.owners or request.staff.scope.everything else "has_no_owners"
        return render(request, "insight/report.html", frame_of(request, page, form, query) | {why: True})
    found, at = _build_report(page, query)
    links = NumberUrls(page, form)
    context = frame_of(request, page, form, query) | {
        "report": found,
        "figures": [(each, links.of(each.link)) for each in found.figures],
        "has_times": any(each.unit == "seconds" for each in found.figures),
        "panels": [
            (
                replace(each.chart, urls={place: links.of(link) for place, link in each.links.items()}),
                each.definition,
                reverse("insight-csv", args=[slug, each.chart.id], query=form.values()),
            )
            for each in found.panels
        ],
        "at": at,
    }
    if page is COST:
        context |= _budgets(request, form)
    return render(request, "insight/report.html", context)


@requires(Permission.INSIGHT_READ)
@require_safe
def chart_csv(request: StaffRequest, slug: str, chart_id: str) -> HttpResponse:
    """Return one chart's numbers as CSV, with the filters of the URL."""
    page = page_named(slug)
    _, query = form_and_query(request, page, names_projects=False)
    if not table_ready("INSIGHT"):
        raise NotFound
    panels: dict[str, ChartPanel] = {each.chart.id: each for each in _build_report(page, query)[0].panels}
    if chart_id not in panels:
        raise NotFound
    text = StringIO()
    csv.writer(text).writerows(panels[chart_id].chart.csv_rows())
    name = f"insight-{chart_id}-{query.period.first}-{query.period.last}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(text.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)


def _build_report(page: ReportPage, query: InsightQuery) -> tuple[Report, Any]:
    numbers = read_topics(page.kind, query, page.topics)
    times = [each.at for each in numbers.values() if each.at is not None]
    return _name_projects(page.build(numbers, query), query), max(times, default=None)


def _name_projects(report: Report, query: InsightQuery) -> Report:
    """Replace the ids of projects by their names where one company is chosen: all companies have too many to read."""
    if len(query.owners) != 1 or all(each.chart.id != BY_PROJECT.id for each in report.panels):
        return report
    names = project_names(query.owners[0])

    def named(panel: ChartPanel) -> ChartPanel:
        if panel.chart.id != BY_PROJECT.id:
            return panel
        rows = tuple(replace(row, label=names.get(row.label, row.label)) for row in panel.chart.rows)
        return replace(panel, chart=replace(panel.chart, rows=rows))

    return replace(report, panels=tuple(map(named, report.panels)))


def _budgets(request: StaffRequest, form: InsightForm) -> dict[str, Any]:
    """Return this month's budgets: figures for the chosen company, or a row for each company with a budget."""
    company_id, leads = form.owner, request.staff.can(Permission.TEAM_LEAD)
    names, today = {company_id: form.owners[company_id]} if company_id else form.owners, clock.now().date()
    costs = month_costs(names, today)
    if not company_id:
        return {
            "month": today,
            "budgets": [(each, address_of("budget", each.company_id) if leads else "") for each in costs],
        }
    return {
        "month": today,
        "budget": costs[0] if costs else None,
        "budget_figures": [(each, "") for cost in costs for each in _budget_figures(cost)],
        "budget_url": address_of("budget", company_id) if leads else "",
    }


def _budget_figures(cost: MonthCost) -> tuple[Figure, ...]:
    """Return what is spent this month, the budget, and what is left."""
    month, over = f"{cost.first:%B %Y}", cost.over
    return (
        Figure(
            "Spent this month",
            cost.spent,
            "cents",
            f"The cost of conversation tokens in {month} (UTC) so far: {cost.percent}% of the budget. The filters do "
            "not apply. Tokens without a known price are not included.",
        ),
        Figure("Budget", cost.amount, "cents", "What the company plans to spend in each calendar month (UTC)."),
        Figure(
            "Over the budget" if over else "Left in the budget",
            over or cost.left,
            "cents",
            f"The difference between the budget and what was spent in {month}.",
        ),
    )
