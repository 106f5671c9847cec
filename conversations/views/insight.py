"""`/insight/`: reports of what the AI resolves, costs and fails at, and how long people wait; and what is behind."""

import csv
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
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
from console.permissions import Permission
from console.refs import seal_cursor, unseal_cursor
from console.store.presence import table_ready
from conversations.companies import companies_for, projects_of
from conversations.insight.behind import NumberSource, read_behind
from conversations.insight.facts import InsightFact
from conversations.insight.form import InsightForm
from conversations.insight.identity import links_of
from conversations.insight.measures import Topic, outcome_of
from conversations.insight.reading import InsightQuery, read_topics
from conversations.insight.reports import OVERVIEW, PAGES
from conversations.insight.reports.base import ChartPanel, NumberLink, Report, ReportPage
from conversations.insight.sums import read_sums
from conversations.reading import CHANNELS, conversation_url, reference_of

TITLE = "Insight"


@cached_for(seconds=300)
def _projects(company_id: str) -> dict[str, str]:
    return {each.project_id: each.name for each in projects_of(company_id).projects}


@requires(Permission.INSIGHT_READ)
@require_safe
def report(request: StaffRequest, slug: str = OVERVIEW.slug) -> HttpResponse:
    """One report: figures and charts, each number with its meaning and the way to what is behind it."""
    page = _page_named(slug)
    form, query = _asked(request)
    if not table_ready("INSIGHT") or not query.owners:
        return render(request, "insight/report.html", _frame(request, page, form, query) | {"is_absent": True})
    found, at = _built(page, query)
    links = _Links(page, form)
    context = _frame(request, page, form, query) | {
        "report": found,
        "figures": [(each, links.of(each.link)) for each in found.figures],
        "panels": [
            (
                replace(each.chart, urls={place: links.of(link) for place, link in each.links.items()}),
                each.definition,
                f"{reverse('insight-csv', args=[slug, each.chart.id])}?{urlencode(form.values())}",
            )
            for each in found.panels
        ],
        "at": at,
    }
    return render(request, "insight/report.html", context)


@requires(Permission.INSIGHT_READ)
@require_safe
def chart_csv(request: StaffRequest, slug: str, chart_id: str) -> HttpResponse:
    """One chart's numbers as CSV, with the filters of the address."""
    page = _page_named(slug)
    _, query = _asked(request)
    if not table_ready("INSIGHT"):
        raise NotFound
    panels: dict[str, ChartPanel] = {each.chart.id: each for each in _built(page, query)[0].panels}
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
    """The conversations behind a number (GET `topic`, `m` for each part of its measure, `day`)."""
    page = _page_named(slug)
    form, query = _asked(request)
    link = _link_in(request, page)
    context = _frame(request, page, form, query) | {"back_url": _address(reverse("insight-report", args=[slug]), form)}
    if not table_ready("INSIGHT") or not query.owners:
        return render(request, "insight/behind.html", context | {"is_absent": True})
    period = query.period
    first, last = (link.day, link.day) if link.day else (period.first, period.last)
    sources = [
        NumberSource(page.kind, owner, link.topic, query.where, link.pattern, first, last) for owner in query.owners
    ]
    context |= {"first": first, "last": last, "name": " · ".join(each for each in link.pattern if each != "*")}
    if len(sources) > 1:
        return render(request, "insight/behind.html", context | {"companies": _by_company(sources, form, page, link)})
    binding = (slug, query.owners[0], query.where.key, link.topic, *link.pattern, str(first), str(last))
    cursor = request.GET.get("cursor", "")
    after = unseal_cursor(cursor, *binding, request.staff.username) if cursor else None
    found = read_behind(sources[0], tuple(after) if after else None)
    links = links_of([each.id.partition("#")[0] for each in found.facts])
    context |= {
        "amount": found.amount,
        "rows": [_row(each, links) for each in found.facts],
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


def _asked(request: StaffRequest) -> tuple[InsightForm, InsightQuery]:
    companies = companies_for(request.staff)
    wanted = request.GET.get("company", "") or (companies[0].company_id if len(companies) == 1 else "")
    if wanted and wanted not in {each.company_id for each in companies}:
        raise NotFound
    form = InsightForm(request.GET, companies, _projects(wanted) if wanted else {})
    return form, form.query(clock.now().date())


def _built(page: ReportPage, query: InsightQuery) -> tuple[Report, Any]:
    numbers = read_topics(page.kind, query, page.topics)
    times = [each.at for each in numbers.values() if each.at is not None]
    return page.build(numbers, query), min(times, default=None)


def _frame(request: StaffRequest, page: ReportPage, form: InsightForm, query: InsightQuery) -> dict[str, Any]:
    names = form.companies
    tabs = [
        {
            "label": each.title,
            "url": _address(reverse("insight-report", args=[each.slug]), form),
            "current": each.slug == page.slug,
        }
        for each in PAGES.values()
    ]
    return {
        "page": page,
        "form": form,
        "tabs": tabs,
        "query": query,
        "company_name": names.get(form.company_id, "") or "All companies",
        "clear_url": reverse("insight-report", args=[page.slug]) if form.values().keys() - {"period"} else "",
        "problems": form.problems,
    }


def _address(path: str, form: InsightForm) -> str:
    return f"{path}?{urlencode(form.values())}"


class _Links:
    """Addresses of what is behind numbers."""

    def __init__(self, page: ReportPage, form: InsightForm) -> None:
        self._path, self._filters = reverse("insight-behind", args=[page.slug]), list(form.values().items())

    def of(self, link: NumberLink | None) -> str:
        """The address of one; "" for none."""
        if link is None:
            return ""
        parts = [("topic", str(link.topic)), *(("m", each) for each in link.pattern)]
        if link.day is not None:
            parts.append(("day", link.day.isoformat()))
        return f"{self._path}?{urlencode([*self._filters, *parts])}"


def _link_in(request: StaffRequest, page: ReportPage) -> NumberLink:
    topic, parts = request.GET.get("topic", ""), tuple(request.GET.getlist("m"))
    if topic not in page.topics or not 1 <= len(parts) <= 8 or any(len(each) > 200 for each in parts):
        raise NotFound
    try:
        day = date.fromisoformat(request.GET["day"]) if request.GET.get("day") else None
    except ValueError as error:
        raise NotFound from error
    return NumberLink(Topic(topic), parts, day)


def _by_company(
    sources: list[NumberSource], form: InsightForm, page: ReportPage, link: NumberLink
) -> Iterator[tuple[str, int, str]]:
    """For each company that adds to a number: its name, how much, and the address of what is behind that."""
    base = _Links(page, form).of(link)
    for source in sources[:25]:
        sums = read_sums(source.kind, source.owner, source.topic, source.where, source.first, source.last)
        if amount := sum(source.amount(each.counts) for each in sums):
            yield form.companies[source.owner], amount, f"{base}&{urlencode({'company': source.owner})}"


def _row(fact: InsightFact, links: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    data, parts = fact.data, links.get(fact.id.partition("#")[0])
    outcome = outcome_of(data)
    return {
        "url": conversation_url(reference_of(parts[0], parts[1])) if parts and len(parts) == 2 else "",
        "started": clock.parse_instant(data.get("started")),
        "outcome": outcome.label,
        "channel": CHANNELS.get(str(data.get("channel", "")), str(data.get("channel", ""))),
        "project": data.get("project", ""),
        "messages": sum(int(data.get(name, 0)) for name in ("customer", "ai", "human")),
        "why": data.get("why") if data.get("failed") else data.get("reason", ""),
    }


def _next_url(request: StaffRequest, cursor: str) -> str:
    query = request.GET.copy()
    query["cursor"] = cursor
    return f"{request.path}?{query.urlencode()}"
