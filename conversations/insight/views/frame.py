"""What the pages of Insight have in common: who may see which numbers, the filters, and URLs that keep them."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console import clock
from console.access import StaffRequest
from console.answers import url_or_empty as address_of
from console.caching import cached_for
from console.errors import NotFound
from console.permissions import Staff
from conversations.companies import names_for, projects_of
from conversations.insight.facts import FactKind
from conversations.insight.form import ALL_OF, InsightForm
from conversations.insight.measures import Measure, Topic
from conversations.insight.reports import PAGES
from conversations.insight.reports.conversations import OVERVIEW
from conversations.insight.reports.parts import NumberLink, OwnedBy, ReportPage
from conversations.insight.sums import MOST_OWNERS, InsightQuery
from tenants.queries import tenant_names


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
