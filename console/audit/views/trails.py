"""One trail, `/audit/trails/<ref>/`, one entry, `/audit/entries/<ref>/`, and `/audit/` for people who do not review."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.audit.queries import trail_page
from console.audit.records import TrailPage
from console.audit.review.entry import EntryRecord, load_entry
from console.audit.review.forms import KEY, About, group_slugs
from console.audit.review.plan import action_groups, is_action_type
from console.audit.scoping import conversation_url, name_of, review_url
from console.audit.state import read_panel
from console.context import list_crumbs, wants_fragment
from console.errors import StoreUnavailable, TableMissing, Throttled
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.templatetags.components import zone_of
from console.trail.actions import DEFAULT_ACTIONS
from console.trail.recording import TENANT_TRAIL, staff_trail

_TONES = {"success": "good", "pending": "human", "conflict": "bad", "failed": "bad", "refused": "bad"}


def overview(request: StaffRequest) -> HttpResponse:
    """Show what the person may look up and the latest entries of their own trail; the caller has checked the role."""
    own = staff_trail(request.staff.username)
    try:
        page, notice = trail_page(own, request.staff), ""
    except TableMissing:
        page, notice = TrailPage(()), "This environment has no trail table, so the console is read-only."
    except (StoreUnavailable, Throttled):
        page, notice = TrailPage(()), "Your trail could not be read. Try again in a moment."
    ref = seal("trail", own)
    context = {
        "trail": page,
        "notice": notice,
        "next_url": reverse("trail", args=[ref], query={"page": page.next}) if page.next else "",
        "conversations_url": _conversations_url(request.staff),
    }
    return render(request, "audit/overview.html", context)


@requires(Permission.AUDIT_READ)
@require_safe
def trail(request: StaffRequest, ref: str) -> HttpResponse:
    """Show a trail, newest first: a page, or for htmx only its list."""
    (partition,) = unseal("trail", ref, 1)
    page = trail_page(partition, request.staff, request.GET.get("page", ""))
    context = {
        "trail": page,
        "title": name_of(partition),
        # Paging replaces only the list.
        "state": None if wants_fragment(request) else read_panel(partition, clock.now(), page.recipient),
        "conversation_url": conversation_url(partition, request.staff),
        "events_url": review_url("events-of-conversation", partition, request.staff),
        "access_log_url": review_url("access-log-conversation", partition, request.staff),
        "first_url": reverse("trail", args=[ref]) if request.GET.get("page") else "",
        "next_url": reverse("trail", args=[ref], query={"page": page.next}) if page.next else "",
        "crumbs": list_crumbs(("Audit", reverse("audit")), here=name_of(partition)),
    }
    return render(request, "audit/trail.html", context)


def _conversations_url(staff: Staff) -> str:
    return reverse("conversations") if staff.can(Permission.CONVERSATION_READ) else ""


@requires(Permission.AUDIT_READ)
@require_safe
def entry(request: StaffRequest, ref: str) -> HttpResponse:
    """Show an entry in full, with links to its trail and conversation."""
    trail, sort_key = unseal("entry", ref, 2)
    record = load_entry(trail, sort_key, request.staff)
    trail_url = reverse("trail", args=[seal("trail", trail)])
    context = {
        "record": record,
        "title": name_of(trail),
        "facts": _facts(record, request.staff),
        "trail_url": trail_url,
        "conversation_url": conversation_url(trail, request.staff),
        **_with_key(record, request.staff),
        "crumbs": list_crumbs(("Audit", reverse("audit")), (name_of(trail), trail_url), here="Entry"),
    }
    return render(request, "audit/entry.html", context)


def _facts(record: EntryRecord, staff: Staff) -> list[dict[str, Any]]:
    """Return the entry's facts as labels and values."""
    row = record.row
    reviews = staff.can(Permission.AUDIT_REVIEW)
    facts: list[dict[str, Any]] = [
        {"label": "When", "at": row.at, "value": _exactly(record, staff)},
        {
            "label": "Action type",
            "value": row.action,
            "mono": True,
            "url": _review(action=record.action_type) if reviews and is_action_type(record.action_type) else "",
        },
        {
            "label": "Who",
            "value": row.who,
            "url": _review(actor=record.actor) if reviews and record.actor else "",
            "note": " · ".join(part for part in (record.actor if record.actor != row.who else "", row.role) if part),
        },
        {"label": "Result", "value": row.outcome, "tone": _TONES.get(row.outcome, "plain")},
    ]
    if row.note:
        facts.append({"label": "Reason", "value": row.note})
    facts += [
        {
            "label": "Tenant" if record.trail.startswith(TENANT_TRAIL) else "Company",
            "value": record.company,
            "mono": True,
            "url": _of_company(record) if reviews and record.company and "," not in record.company else "",
            "note": "" if record.names_company or not record.company else "the conversation's: the entry names none",
        },
        {"label": "Action id", "value": record.action_id, "mono": True},
    ]
    if record.previous_id:
        gone = "" if record.previous else "no longer in the trail"
        url = reverse("audit-entry", args=[record.previous]) if record.previous else ""
        facts.append({"label": "Action before", "value": record.previous_id, "mono": True, "url": url, "note": gone})
    return [*facts, _expiry(record)]


def _exactly(record: EntryRecord, staff: Staff) -> str:
    at = record.row.at
    if at is None:
        return "not readable"
    zone = zone_of(staff)
    local = at.astimezone(zone)
    return f"{local.day} {local:%b %Y, %H:%M:%S}.{local.microsecond // 1000:03} {zone.key} ({local:%z})"


def _expiry(record: EntryRecord) -> dict[str, Any]:
    at = record.expires_at
    if at is None:
        return {"label": "Kept", "value": "no expiry"}
    return {"label": "Expires", "at": at, "value": f"in {clock.format_span(at - clock.now())}", "relative": "in"}


def _with_key(record: EntryRecord, staff: Staff) -> dict[str, str]:
    """Return the URLs of the record of the entry's idempotency key, if it exists, and of all entries with that key."""
    if not (record.key and staff.can(Permission.AUDIT_REVIEW)):
        return {}
    return {
        "event_url": reverse("event", args=[seal("event", record.key)]) if record.has_record else "",
        "same_key_url": _review(about=About(KEY, record.key, record.trail).sealed),
    }


def _of_company(record: EntryRecord) -> str:
    """Return the URL of the company's review, filtered by the entry's group unless a review shows it by default."""
    if record.action_type in DEFAULT_ACTIONS:
        return _review(company=record.company)
    groups = action_groups()
    group = next((slug for slug, name in group_slugs().items() if record.action_type in groups[name]), "")
    return _review(company=record.company, **({"group": group} if group else {"action": record.action_type}))


def _review(**filters: str) -> str:
    return reverse("audit", query=filters)
