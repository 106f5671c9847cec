"""`/insight/…/behind/`: the rows behind a number, as a page and as a file."""

from collections.abc import Iterator
from datetime import date
from functools import partial
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.errors import NotFound
from console.exports import Csv, Export, ExportBounds, send
from console.permissions import Permission
from console.refs import seal_cursor, unseal_cursor
from console.staff import colleagues
from console.store.calls import parallel, run_alongside
from console.store.presence import table_ready
from conversations.insight.drill_down import ROWS, CountedNumber, FactPage, Position, read_drill_down
from conversations.insight.facts import FactKind, InsightFact
from conversations.insight.form import InsightForm
from conversations.insight.identity import links_of
from conversations.insight.measures import Topic
from conversations.insight.reports.conversations import names_by_pseudonym
from conversations.insight.reports.parts import NumberLink, ReportPage
from conversations.insight.sums import MOST_DAYS, MOST_OWNERS, InsightPeriod, InsightQuery, read_sums
from conversations.insight.views.reports import (
    NumberUrls,
    filtered_url,
    form_and_query,
    frame_of,
    page_named,
    project_names,
)
from conversations.insight.views.rows import SHOWN, Parts, RowNames, describe_number, file_row_of, row_of

# A file behind a number: rows and reads in one piece, pieces (which can be empty), and seconds.
FILE_ROWS, FILE_PIECES, MOST_SECONDS = 500, 400, 60.0


@requires(Permission.INSIGHT_READ)
@require_safe
def behind(request: StaffRequest, slug: str) -> HttpResponse:
    """List the conversations behind a number (GET `topic`, `m` for each part of its measure, `from`, `to`)."""
    page = page_named(slug)
    with run_alongside(table_ready, "INSIGHT") as is_ready:
        form, query = form_and_query(request, page, names_projects=False)
    link = _link_in(request, page)
    context = frame_of(request, page, form, query) | {
        "back_url": filtered_url(reverse("insight-report", args=[slug]), form)
    }
    if not is_ready.result() or not query.owners:
        return render(request, "insight/behind.html", context | {"is_absent": True})
    sources = _sources(page, query, link)
    first, last, owner = sources[0].first, sources[0].last, query.owners[0]
    context |= {"first": first, "last": last}
    if len(sources) > 1:
        more = {"name": describe_number(link, query.owners, {}), "companies": _by_company(sources, form, page, link)}
        return render(request, "insight/behind.html", context | more)
    binding = (slug, owner, query.where.key, link.topic, *link.pattern, str(first), str(last))
    cursor = request.GET.get("cursor", "")
    after = unseal_cursor(cursor, *binding, request.staff.username) if cursor else None
    with run_alongside(_read_rows, sources[0], _position(after), ROWS) as reading:
        names = _read_names(page, owner)
    found, linked = reading.result()
    context |= {
        "name": describe_number(link, query.owners, names.projects),
        "amount": found.amount,
        "rows": [row_of(fact, parts, names) for fact, parts in linked],
        "what": SHOWN[page.kind].name,
        "columns": SHOWN[page.kind].columns,
        "csv_url": reverse("insight-behind-csv", args=[slug], query=request.GET),
        "in_parts": found.in_parts,
        "reached": found.reached,
        "next_url": _next_url(request, seal_cursor(list(found.next), *binding, request.staff.username))
        if found.next
        else "",
        "restarted": bool(cursor) and after is None,
    }
    return render(request, "insight/behind.html", context)


@requires(Permission.INSIGHT_READ)
@require_safe
def behind_csv(request: StaffRequest, slug: str) -> HttpResponseBase:
    """Stream what is behind a number of one owner as CSV, newest first (GET as for `behind`)."""
    page = page_named(slug)
    with run_alongside(table_ready, "INSIGHT") as is_ready:
        form, query = form_and_query(request, page, names_projects=False)
    link = _link_in(request, page)
    if not is_ready.result() or len(query.owners) != 1:
        raise NotFound
    (source,), (owner,) = _sources(page, query, link), query.owners
    first, last = source.first, source.last
    company = form.owners.get(owner, "")
    names = _read_names(page, owner)

    def pieces() -> Iterator[list[SimpleNamespace]]:
        after: Position | None = None
        while True:
            found, linked = _read_rows(source, after, FILE_ROWS)
            yield [SimpleNamespace(**file_row_of(*each, names, company)) for each in linked]
            if (after := found.next) is None:
                return

    shown = SHOWN[page.kind]
    made = Csv((shown.name, "Began", "Company", *shown.columns))
    bounds = ExportBounds(settings.CONVERSATION_EXPORT_LIMIT, FILE_PIECES, "rows", "Older rows", MOST_SECONDS)
    name = f"insight-{slug}-{link.pattern[0].replace(' ', '-')}-{first}-{last}.csv"
    return Export(send(made, pieces(), bounds), made.media_type, name).response()


def _sources(page: ReportPage, query: InsightQuery, link: NumberLink) -> list[CountedNumber]:
    period = link.period or query.period
    return [
        CountedNumber(page.kind, owner, link.topic, query.where, link.pattern, period.first, period.last)
        for owner in query.owners
    ]


def _position(after: list[str] | None) -> Position | None:
    """Return where to go on; None for the beginning, as for a position of an earlier version."""
    return (after[0], after[1], after[2], after[3]) if after is not None and len(after) == 4 else None


def _read_names(page: ReportPage, owner: str) -> RowNames:
    """Return the names of a company's projects and colleagues, both cached. Raises the store's errors."""
    if not owner or page.kind is not FactKind.CONVERSATIONS:
        return RowNames()
    projects: Any = parallel(partial(project_names, owner), *colleagues.reads())[0]
    return RowNames(projects, names_by_pseudonym([owner]))


def _read_rows(
    source: CountedNumber, after: Position | None, rows: int
) -> tuple[FactPage, list[tuple[InsightFact, Parts | None]]]:
    """Return a page of facts, and each with the parts that lead to its source: None if it is gone.

    Raises the store's errors.
    """
    found = read_drill_down(source, after, rows)
    links = links_of({each.id.partition("#")[0] for each in found.facts})
    return found, [(each, links.get(each.id.partition("#")[0])) for each in found.facts]


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
    sources: list[CountedNumber], form: InsightForm, page: ReportPage, link: NumberLink
) -> Iterator[tuple[str, int, str]]:
    """Yield the name, amount and URL of each company that contributes to a number."""
    base = NumberUrls(page, form).of(link)
    asked = sources[:MOST_OWNERS]
    reads = (partial(read_sums, each.kind, each.owner, each.topic, each.where, each.first, each.last) for each in asked)
    for source, sums in zip(asked, parallel(*reads), strict=True):
        if amount := sum(source.amount(each.counts) for each in sums):
            yield form.owners.get(source.owner) or "No company is known", amount, _of_owner(base, form, source)


def _of_owner(base: str, form: InsightForm, source: CountedNumber) -> str:
    """Return the URL of what is behind one owner's share of a number; "" for the owner without an id."""
    return f"{base}&{urlencode({str(form.owned_by): source.owner})}" if source.owner else ""


def _next_url(request: StaffRequest, cursor: str) -> str:
    query = request.GET.copy()
    query["cursor"] = cursor
    return f"{request.path}?{query.urlencode()}"
