"""Lists of conversations: by company and project, by recipient, and between our number and a recipient."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, not_for_prefetch, requires
from console.context import list_crumbs, wants_fragment
from console.errors import NotFound
from console.forms import lookup_forms
from console.permissions import Permission, Staff
from console.redaction import mask_identifier
from console.refs import unseal
from console.store.calls import submit
from console.templatetags.components import zone_of
from console.trail.recording import NoTrail
from conversations.companies import Company, companies_for, company_named, projects_of
from conversations.converting import CHANNELS, export_url, identifier_for, seal_list_context, state_shown, url_of, words
from conversations.finding.filters import ConversationFilters, family_shown
from conversations.finding.listing import first_visible_row, read_list
from conversations.finding.queries import of_company, of_project, of_project_unsorted, of_recipient, of_reply
from conversations.lists.forms import LOOKUPS, CompanyFilter, CompanyListFilter, ConversationFilter, RecipientFilter
from conversations.lists.looking_up import CONVERSATIONS, look_up, record_lookup
from conversations.lists.saved_views.records import FilteredList
from conversations.lists.views.saved_views import menu_of
from conversations.queue.counting import waits_in
from conversations.records import ConversationSummary, Page

COMPANIES_SHOWN = 100
_CHANNEL_ICONS = {"whatsapp": "whatsapp", "sms": "sms", "email": "mail", "web": "web", "teams": "team", "slack": "team"}


def rows_of(summaries: tuple[ConversationSummary, ...], context: dict[str, Any], staff: Staff) -> list[dict[str, Any]]:
    """Return the rows of conversations/_rows.html, each linked with the list's context.

    The customer is `name`, which may wrap, and `identifier`, which does not. A URL of "" means that there is no page.
    """
    query = "?" + urlencode({"in": seal_list_context(context)})
    rows = []
    for summary in summaries:
        name, dot, identifier = summary.who.rpartition(" · ")
        project = summary.project_id
        state, tone, icon = state_shown(summary.hand_off, staff)
        rows.append(
            {
                "url": reverse("conversation", args=[summary.reference]) + query,
                "last_message_url": reverse("conversation-last-message", args=[summary.reference]) + query,
                "name": name + dot,
                "identifier": identifier,
                "short_id": summary.short_id,
                "channel": CHANNELS.get(summary.channel, summary.channel),
                "channel_icon": _CHANNEL_ICONS.get(summary.channel.lower(), "conversations"),
                "project_name": summary.project_name,
                "project_url": url_of("project", summary.company_id, project) if project else "",
                **_status(summary),
                "state": state,
                "state_tone": tone,
                "state_icon": icon,
                "reason": summary.hand_off.reason if summary.hand_off.flag else "",
                "updated_at": summary.updated_at,
                "flaws": "; ".join(summary.drift),
            }
        )
    return rows


def _status(summary: ConversationSummary) -> dict[str, str]:
    """Return the label of the status family and the stored status; an unknown status is shown as stored."""
    family, stored = family_shown(summary), words(summary.status)
    return {
        "status": family.label if family else stored,
        "status_tone": family.tone if family else "",
        "stored": stored,
    }


@requires(Permission.CONVERSATION_READ)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """Show the companies in scope, the projects of the open one (GET `company`), and the look-up forms.

    One Query for the companies. Projects are read only for the open company, or if a person has just one; with
    scripts, htmx loads each company's projects as a fragment when it scrolls into view.
    """
    companies = companies_for(request.staff)
    opened = request.GET.get("company", companies[0].company_id if len(companies) == 1 else "")
    company = next((each for each in companies if each.company_id == opened), None)
    if opened and company is None:
        raise NotFound
    projects = _projects(company) if company else {}
    if wants_fragment(request) and company:
        return render(request, "conversations/_projects.html", {"company": company, "projects": projects})
    form = CompanyFilter(request.GET)
    wanted = form.cleaned_data.get("name", "").casefold() if form.is_valid() else ""
    found = [each for each in companies if wanted in each.name.casefold() or wanted in each.company_id.casefold()]
    context = {
        "companies": [(each, url_of("company", each.company_id)) for each in found[:COMPANIES_SHOWN]],
        "count": len(companies),
        "more": max(0, len(found) - COMPANIES_SHOWN),
        "form": form,
        "opened": company,
        "projects": projects,
        "lookups": lookup_forms(LOOKUPS, request.staff),
        "saved_views": menu_of(
            request.staff, FilteredList.CONVERSATIONS, {each.company_id: each.name for each in companies}, {}
        ),
    }
    return render(request, "conversations/index.html", context)


def _projects(company: Company) -> dict[str, Any]:
    """Return a company's projects and how many conversations wait in each, read in parallel."""
    reading, counting = submit(projects_of, company.company_id), submit(waits_in, company.company_id)
    read, waiting = reading.result(), counting.result()
    links = [
        (each, url_of("project", company.company_id, each.project_id), waiting.waiting_in(each.project_id))
        for each in sorted(read.projects, key=lambda each: each.name.casefold())
    ]
    return {"links": links, "more": read.more, "waiting": waiting}


@requires(Permission.CONVERSATION_READ)
@require_safe
def company(request: StaffRequest, company_id: str, project_id: str = "") -> HttpResponse:
    """List conversations of a company or project.

    GET: status, channel, hand_off, task, and of a company order; `page` is a cursor.
    """
    staff = request.staff
    if not staff.scope.covers_company(company_id):
        raise NotFound
    form: ConversationFilter
    if project_id:
        form = ConversationFilter(request.GET)
        listed = of_project(company_id, project_id, form.filters(zone_of(staff)), staff)
        everything = of_project_unsorted(company_id, project_id, ConversationFilters(), staff)
    else:
        form = CompanyListFilter(request.GET)
        listed = of_company(company_id, form.filters(zone_of(staff)), staff, in_time=form.in_time)
        everything = of_company(company_id, ConversationFilters(), staff, in_time=False)
    page = read_list(listed, staff, request.GET.get("page", ""))
    unfiltered = page if page.rows else read_list(everything, staff)
    shown = unfiltered.rows[0] if unfiltered.rows else None
    named = None
    if shown is None and not unfiltered.next:
        # A project exists if it has conversations; so does a company, unless the registry names it. If there is more
        # to search, it exists: every item searched so far may be past its TTL.
        named = None if project_id else company_named(company_id)
        if project_id or (named is None and company_id not in staff.scope.company_ids):
            raise NotFound
    company_name = shown.company_name if shown else (named.name if named else company_id)
    place = {"list": "project" if project_id else "company"}
    context: dict[str, Any] = {
        "company_id": company_id,
        "company_name": company_name,
        "company_url": url_of("company", company_id),
        "project_id": project_id,
        "project_name": (shown.project_name if shown else project_id) if project_id else "",
        "list_title": "Conversations of this project" if project_id else "Conversations of this company",
    }
    where = {"company": company_id} | ({"project": project_id} if project_id else {})
    here = where | form.values()
    context["saved_views"] = menu_of(staff, FilteredList.CONVERSATIONS, {company_id: company_name}, here, company_id)
    return _list(request, "company", form, page, place | where, context)


@requires(Permission.CONVERSATION_READ)
@require_safe
@not_for_prefetch
def recipient(request: StaffRequest, ref: str) -> HttpResponse:
    """List a recipient's conversations and record the look-up.

    GET: since, until, status, channel, hand_off, task; `page` is a cursor.
    """
    staff = request.staff
    (primary_channel,) = unseal("recipient", ref, 1)
    form = RecipientFilter(request.GET)
    filters = form.filters(zone_of(staff))
    page = read_list(of_recipient(primary_channel, filters, staff), staff, request.GET.get("page", ""))
    if not page.rows and first_visible_row(of_recipient(primary_channel, ConversationFilters(), staff), staff) is None:
        raise NotFound
    # If the trail cannot be written, the list is still shown, masked.
    with suppress(NoTrail):
        record_lookup(primary_channel, staff, CONVERSATIONS)
    context = {
        "who": identifier_for(primary_channel, staff),
        "list_title": "Conversations of this recipient",
        "elsewhere_url": reverse("recipient-elsewhere", args=[ref]) if staff.can(Permission.PII_REVEAL) else "",
        "access_log_url": access_log_url(ref, staff),
    }
    return _list(request, "recipient", form, page, {"list": "recipient", "reference": ref}, context)


def access_log_url(ref: str, staff: Staff) -> str:
    """Return the URL of the list of who looked this recipient up; "" without the permission to review."""
    return reverse("access-log-recipient", args=[ref]) if staff.can(Permission.AUDIT_REVIEW) else ""


@requires(Permission.CONVERSATION_READ)
@require_safe
def replies(request: StaffRequest, ref: str) -> HttpResponse:
    """List the conversations between our number or address and a recipient. `page` is a cursor."""
    staff = request.staff
    channel, ours, theirs = unseal("replies", ref, 3)
    if channel not in CHANNELS:
        raise NotFound
    page = read_list(of_reply(channel, ours, theirs, staff), staff, request.GET.get("page", ""))
    if not page.rows and first_visible_row(of_reply(channel, ours, theirs, staff), staff) is None:
        raise NotFound
    context = {
        "who": identifier_for(theirs, staff),
        "ours": mask_identifier(ours),
        "channel": CHANNELS[channel],
        "list_title": "Conversations with this recipient",
    }
    return _list(request, "replies", None, page, {"list": "replies", "reference": ref}, context)


def _list(
    request: StaffRequest,
    name: str,
    form: ConversationFilter | None,
    page: Page,
    place: dict[str, Any],
    context: dict[str, Any],
) -> HttpResponse:
    """Render the page of a list, or for htmx only the list."""
    values = form.values() if form else {}
    if form:
        form.offer(page.rows)
    started = bool(page.back)
    here = place | {"filters": values}
    context |= {
        "form": form,
        "rows": rows_of(page.rows, here, request.staff),
        "export_url": export_url(seal_list_context(here), request.staff),
        "notice": page.notice,
        "filtered": bool(values),
        "problems": form.problems if form and wants_fragment(request) else [],
        "path": request.path,
        "clear_url": request.path if values or (form and form.errors) else "",
        "first_url": _url(request.path, values) if started else "",
        "back_url": _url(request.path, values, page.back) if page.back else "",
        "next_url": _url(request.path, values, page.next) if page.next else "",
    }
    template = "conversations/_list.html" if wants_fragment(request) else f"conversations/{name}.html"
    return render(request, template, context)


def _url(path: str, values: dict[str, str], cursor: str = "") -> str:
    query = values | ({"page": cursor} if cursor else {})
    return f"{path}?{urlencode(query)}" if query else path


@requires(Permission.PII_REVEAL)
@require_safe
@not_for_prefetch
def elsewhere(request: StaffRequest, ref: str) -> HttpResponse:
    """Search every store that the person may read for the recipient, and record the search."""
    who, results = look_up(ref, request.staff)
    context = {
        "who": who,
        "results": results,
        "access_log_url": access_log_url(ref, request.staff),
        "crumbs": list_crumbs(
            ("Conversations", reverse("conversations")),
            (f"Recipient {who}", reverse("recipient", args=[ref])),
            here="Elsewhere",
        ),
    }
    return render(request, "conversations/elsewhere.html", context)
