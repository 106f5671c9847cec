"""What the pages of Insight have in common: who may see which numbers, and the filters."""

from dataclasses import replace
from typing import Any

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
from conversations.insight.reading import MOST_OWNERS, InsightQuery
from conversations.insight.reports import OVERVIEW, PAGES
from conversations.insight.reports.base import OwnedBy, ReportPage
from conversations.insight.views.links import filtered_url
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
