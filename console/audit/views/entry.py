"""`/audit/entries/<ref>/`: one entry of a trail."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import clock
from console.access import StaffRequest, requires
from console.audit.links import conversation_url
from console.audit.names import name_of
from console.audit.review.entry import EntryRecord, load_entry
from console.audit.review.filters import BEGINNING, action_groups, is_action_type
from console.audit.review.forms import KEY, About, group_slugs
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.templatetags.console import zone_of
from console.trail.actions import TENANT_TRAIL

_TONES = {"success": "good", "pending": "human", "conflict": "bad", "failed": "bad", "refused": "bad"}


@requires(Permission.AUDIT_READ)
@require_safe
def entry(request: StaffRequest, ref: str) -> HttpResponse:
    """An entry with all that it says, and what it is part of."""
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
        "crumbs": [
            {"label": "Audit", "url": reverse("audit")},
            {"label": name_of(trail), "url": trail_url},
            {"label": "Entry"},
        ],
    }
    return render(request, "audit/entry.html", context)


def _facts(record: EntryRecord, staff: Staff) -> list[dict[str, Any]]:
    """The entry's facts as label and value."""
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
    """Where to find the record of the entry's idempotency key, if it is there, and everything else that names it."""
    if not (record.key and staff.can(Permission.AUDIT_REVIEW)):
        return {}
    return {
        "event_url": reverse("event", args=[seal("event", record.key)]) if record.has_record else "",
        "same_key_url": f"{reverse('audit')}?{urlencode({'about': About(KEY, record.key, record.trail).sealed})}",
    }


def _of_company(record: EntryRecord) -> str:
    """What else is of that company, with the entry's group where a review does not begin with that."""
    if record.action_type in BEGINNING:
        return _review(company=record.company)
    groups = action_groups()
    group = next((slug for slug, name in group_slugs().items() if record.action_type in groups[name]), "")
    return _review(company=record.company, **({"group": group} if group else {"action": record.action_type}))


def _review(**filters: str) -> str:
    return f"{reverse('audit')}?{urlencode(filters)}"
