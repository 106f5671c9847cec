"""`/insight/`: reports on what the AI resolves, costs and fails at and how long people wait."""

import csv
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.answers import url_or_empty as address_of
from console.caching import cached_for
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.store.calls import parallel
from console.store.presence import table_ready
from conversations.companies import names_for, projects_of
from conversations.insight.budgets import MonthCost, month_costs
from conversations.insight.facts import FactKind
from conversations.insight.form import ALL_OF, InsightForm
from conversations.insight.measures import Measure, Topic
from conversations.insight.reports import PAGES
from conversations.insight.reports.conversations import COST, OVERVIEW
from conversations.insight.reports.parts import ChartPanel, Figure, NumberLink, OwnedBy, Report, ReportPage
from conversations.insight.reports.usage import BY_PROJECT
from conversations.insight.sums import MOST_OWNERS, InsightQuery, read_topics
from tenants.queries import tenant_names

# Companies whose projects are named on a page of several.
MOST_NAMED = 8


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
    """Replace the ids of projects by their names, unless there are too many companies to read them of."""
    if len(query.owners) > MOST_NAMED or all(each.chart.id != BY_PROJECT.id for each in report.panels):
        return report
    names: dict[str, str] = {}
    for found in parallel(*(partial(project_names, each) for each in query.owners)):
        # Companies that share the id of a project share its bar, which is neither's by name.
        names |= {each: name if names.get(each, name) == name else each for each, name in found.items()}

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


# --- What all pages of Insight have in common: who may see which numbers, the filters, and URLs that keep them --------


@cached_for(seconds=300)
def project_names(company_id: str) -> dict[str, str]:
    """Return the names of a company's projects by id, cached. Raises the store's errors."""
    return {each.project_id: each.name for each in projects_of(company_id).projects}


def page_named(slug: str) -> ReportPage:
    """Return the report with this slug. Raises `NotFound`."""
    if slug not in PAGES:
        raise NotFound
    return PAGES[slug]


def form_and_query(
    request: StaffRequest, page: ReportPage, *, names_projects: bool = True
) -> tuple[InsightForm, InsightQuery]:
    """Return the filter form and the query of a URL. Raises `NotFound` for an owner that is not in scope.

    With `names_projects=False` the project is not looked up: an unknown one simply has no numbers.
    """
    owners = _owners(request.staff, page.owned_by)
    wanted = request.GET.get(page.owned_by, "") if page.owned_by else ""
    wanted = wanted or (next(iter(owners)) if len(owners) == 1 else "")
    if wanted and wanted not in owners:
        raise NotFound
    projects: dict[str, str] | None = {}
    if wanted and page.kind is FactKind.CONVERSATIONS:
        projects = project_names(wanted) if names_projects else None
    form = InsightForm(request.GET, page.owned_by, owners, projects, page.channels)
    query = form.query(clock.now().date())
    if page.kind is FactKind.MIDDLEWARE and request.staff.scope.everything and not form.owner:
        # Some conversations have no known company; their facts are stored under "".
        query = replace(query, owners=(*query.owners[: MOST_OWNERS - 1], ""))
    return form, query


def _owners(staff: Staff, owned_by: OwnedBy) -> dict[str, str]:
    """Return the owners whose facts a person may see: id to name.

    Raises `NotFound` for a platform report unless the scope covers everything.
    """
    if owned_by is OwnedBy.TENANT:
        return dict(sorted(tenant_names(staff).items(), key=lambda each: each[1].casefold()))
    if owned_by is OwnedBy.PLATFORM:
        if not staff.scope.everything:
            raise NotFound
        return {"": ALL_OF[owned_by]}
    return names_for(staff)


def frame_of(request: StaffRequest, page: ReportPage, form: InsightForm, query: InsightQuery) -> dict[str, Any]:
    """Return what every page of a report shows around its content, for a template."""
    tabs = [
        {
            "label": each.title,
            "url": filtered_url(reverse("insight-report", args=[each.slug]), form, each),
            "current": each.slug == page.slug,
        }
        for each in PAGES.values()
        if each.owned_by is not OwnedBy.PLATFORM or request.staff.scope.everything
    ]
    return {
        "page": page,
        "form": form,
        "tabs": tabs,
        "query": query,
        "owner_name": form.owners.get(form.owner, "") or ALL_OF[page.owned_by],
        "clear_url": reverse("insight-report", args=[page.slug]) if form.values() else "",
        "problems": form.problems,
        "summary_url": address_of("insight-summary", form.owner) if page is OVERVIEW and form.owner else "",
    }


def filtered_url(path: str, form: InsightForm, page: ReportPage | None = None) -> str:
    """Return a URL with the filters; with `page`, only those that the other report supports."""
    values = form.values()
    if page is not None and page.owned_by is not form.owned_by:
        values.pop("project", None)
        values.pop(form.owned_by, None)
    if page is not None and values.get("channel") not in page.channels:
        values.pop("channel", None)
    return f"{path}?{urlencode(values)}" if values else path


class NumberUrls:
    """URLs of the pages that list what is behind a number."""

    def __init__(self, page: ReportPage, form: InsightForm) -> None:
        path = reverse("insight-behind", args=[page.slug])
        self._begin = f"{path}?{urlencode(form.values())}&"
        self._patterns: dict[tuple[Topic, Measure], str] = {}

    def of(self, link: NumberLink | None) -> str:
        """Return the URL of a link; "" for None."""
        if link is None:
            return ""
        known = link.topic, link.pattern
        if (address := self._patterns.get(known)) is None:
            parts = [("topic", str(link.topic)), *(("m", each) for each in link.pattern)]
            address = self._patterns[known] = self._begin + urlencode(parts)
        if link.period is None:
            return address
        return f"{address}&from={link.period.first}&to={link.period.last}"
