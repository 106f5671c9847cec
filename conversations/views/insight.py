"""`/insight/`: reports on what the AI resolves, costs and fails at and how long people wait, with their rows."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
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
from console.caching import cached_for
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel
from console.store.presence import table_ready
from conversations.companies import names_for, projects_of
from conversations.insight.behind import ROWS, NumberSource, read_drill_down
from conversations.insight.budgets import month_costs
from conversations.insight.facts import FactKind
from conversations.insight.form import ALL_OF, InsightForm
from conversations.insight.identity import links_of
from conversations.insight.measures import Measure, Topic
from conversations.insight.reading import MOST_DAYS, MOST_OWNERS, InsightPeriod, InsightQuery, read_topics
from conversations.insight.reports import OVERVIEW, PAGES
from conversations.insight.reports.base import ChartPanel, NumberLink, OwnedBy, Report, ReportPage
from conversations.insight.reports.budget import budget_figures
from conversations.insight.sums import read_sums
from conversations.views.conversation import url_or_empty as address_of
from conversations.views.insight_rows import COLUMNS, describe_number, row_of
from tenants.queries import tenant_names


@cached_for(seconds=300)
def _projects(company_id: str) -> dict[str, str]:
    return {each.project_id: each.name for each in projects_of(company_id).projects}


@requires(Permission.INSIGHT_READ)
@require_safe
def report(request: StaffRequest, slug: str = OVERVIEW.slug) -> HttpResponse:
    """Show one report: figures and charts, each with its definition and a link to the conversations behind it."""
    page = _page_named(slug)
    form, query = _form_and_query(request, page)
    if not query.owners or not table_ready("INSIGHT"):
        why = "is_absent" if query.owners or request.staff.scope.everything else "has_no_owners"
        return render(request, "insight/report.html", _frame(request, page, form, query) | {why: True})
    found, at = _build_report(page, query)
    links = _Links(page, form)
    context = _frame(request, page, form, query) | {
        "report": found,
        "figures": [(each, links.of(each.link)) for each in found.figures],
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
    if page.slug == "cost":
        context |= _budgets(request, form)
    return render(request, "insight/report.html", context)


@requires(Permission.INSIGHT_READ)
@require_safe
def chart_csv(request: StaffRequest, slug: str, chart_id: str) -> HttpResponse:
    """Return one chart's numbers as CSV, with the filters of the URL."""
    page = _page_named(slug)
    _, query = _form_and_query(request, page, names_projects=False)
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


@requires(Permission.INSIGHT_READ)
@require_safe
def behind(request: StaffRequest, slug: str) -> HttpResponse:
    """List the conversations behind a number (GET `topic`, `m` for each part of its measure, `from`, `to`)."""
    page = _page_named(slug)
    form, query = _form_and_query(request, page, names_projects=False)
    link = _link_in(request, page)
    context = _frame(request, page, form, query) | {"back_url": _address(reverse("insight-report", args=[slug]), form)}
    if not table_ready("INSIGHT") or not query.owners:
        return render(request, "insight/behind.html", context | {"is_absent": True})
    period = link.period or query.period
    first, last = period.first, period.last
    sources = [
        NumberSource(page.kind, owner, link.topic, query.where, link.pattern, first, last) for owner in query.owners
    ]
    context |= {"first": first, "last": last, "name": describe_number(link, query.owners)}
    if len(sources) > 1:
        return render(request, "insight/behind.html", context | {"companies": _by_company(sources, form, page, link)})
    binding = (slug, query.owners[0], query.where.key, link.topic, *link.pattern, str(first), str(last))
    cursor = request.GET.get("cursor", "")
    after = unseal_cursor(cursor, *binding, request.staff.username) if cursor else None
    found = read_drill_down(sources[0], tuple(after) if after else None, ROWS)
    links = links_of([each.id.partition("#")[0] for each in found.facts])
    context |= {
        "amount": found.amount,
        "rows": [row_of(each, links.get(each.id.partition("#")[0])) for each in found.facts],
        "columns": COLUMNS[page.kind],
        "reached": found.reached,
        "next_url": _next_url(request, seal_cursor(list(found.next), *binding, request.staff.username))
        if found.next
        else "",
        "restarted": bool(cursor) and after is None,
    }
    return render(request, "insight/behind.html", context)


def _page_named(slug: str) -> ReportPage:
    if slug not in PAGES:
        raise NotFound
    return PAGES[slug]


def _form_and_query(
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
        projects = _projects(wanted) if names_projects else None
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


def _build_report(page: ReportPage, query: InsightQuery) -> tuple[Report, Any]:
    numbers = read_topics(page.kind, query, page.topics)
    times = [each.at for each in numbers.values() if each.at is not None]
    return page.build(numbers, query), min(times, default=None)


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
        "budget_figures": [(each, "") for cost in costs for each in budget_figures(cost)],
        "budget_url": address_of("budget", company_id) if leads else "",
    }


def _frame(request: StaffRequest, page: ReportPage, form: InsightForm, query: InsightQuery) -> dict[str, Any]:
    tabs = [
        {
            "label": each.title,
            "url": _address(reverse("insight-report", args=[each.slug]), form, each),
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


def _address(path: str, form: InsightForm, page: ReportPage | None = None) -> str:
    """Return a URL with the filters; with `page`, only those that the other report supports."""
    values = form.values()
    if page is not None and page.owned_by is not form.owned_by:
        values.pop("project", None)
        values.pop(form.owned_by, None)
    if page is not None and values.get("channel") not in page.channels:
        values.pop("channel", None)
    return f"{path}?{urlencode(values)}" if values else path


class _Links:
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


def _link_in(request: StaffRequest, page: ReportPage) -> NumberLink:
    topic, parts = request.GET.get("topic", ""), tuple(request.GET.getlist("m"))
    if topic not in page.topics or not 1 <= len(parts) <= 8 or any(len(each) > 200 for each in parts):
        raise NotFound
    days = [request.GET.get(name, "") for name in ("from", "to")]
    if not any(days):
        return NumberLink(Topic(topic), parts)
    try:
        period = InsightPeriod(*map(date.fromisoformat, days))
    except ValueError as error:
        raise NotFound from error
    if not 1 <= period.length <= MOST_DAYS:
        raise NotFound
    return NumberLink(Topic(topic), parts, period)


def _by_company(
    sources: list[NumberSource], form: InsightForm, page: ReportPage, link: NumberLink
) -> Iterator[tuple[str, int, str]]:
    """Yield the name, amount and URL of each company that contributes to a number."""
    base = _Links(page, form).of(link)
    asked = sources[:MOST_OWNERS]
    reads = (partial(read_sums, each.kind, each.owner, each.topic, each.where, each.first, each.last) for each in asked)
    for source, sums in zip(asked, parallel(*reads), strict=True):
        if amount := sum(source.amount(each.counts) for each in sums):
            yield form.owners.get(source.owner) or "No company is known", amount, _of_owner(base, form, source)


def _of_owner(base: str, form: InsightForm, source: NumberSource) -> str:
    """Return the URL of what is behind one owner's share of a number; "" for the owner without an id."""
    return f"{base}&{urlencode({str(form.owned_by): source.owner})}" if source.owner else ""


def _next_url(request: StaffRequest, cursor: str) -> str:
    query = request.GET.copy()
    query["cursor"] = cursor
    return f"{request.path}?{query.urlencode()}"
