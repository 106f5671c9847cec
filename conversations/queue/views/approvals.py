"""`/queue/to-approve/`: first messages that wait for approval."""

from collections.abc import Collection
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.answers import FAILURES, post_only_form
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.store.calls import parallel
from console.trees import Fact, tree_of
from conversations.companies import names_for
from conversations.converting import CHANNELS, identifier_for, words
from conversations.messages.content import SHOWN
from conversations.messages.facts import redact_and_mask
from conversations.providers import Template
from conversations.providers.templates import CHANNEL as TEMPLATES_CHANNEL
from conversations.providers.templates import read_template
from conversations.queue import counting
from conversations.queue.pages import APPROVE
from conversations.queue.views.queue import queue_tabs
from conversations.receiving import approvals
from conversations.receiving.first_messages import FirstMessage
from conversations.records import name_shown

PAGE = "page to approve"
# A larger body is shown if the person asks for it, and one that is larger still never is, only its details.
LONGEST_SHOWN = 50_000


@requires(Permission.HAND_OFF)
@require_safe
def to_approve(request: StaffRequest) -> HttpResponse:
    """List the first messages that a rule holds for approval in the companies in scope, oldest first.

    GET: `page`, `all` (the reference of a message whose data is shown, though it is long).
    """
    staff, url = request.staff, reverse("queue-to-approve")
    names, after = names_for(staff), request.GET.get("page", "")
    count, found = counting.first_messages(staff, unseal(PAGE, after, 1)[0] if after else "")
    templates = _templates({each.credentials for each in found.rows if each.channel == TEMPLATES_CHANNEL} - {""})
    context = {
        "tabs": queue_tabs(counting.count_tabs(staff) | {APPROVE: count}, APPROVE),
        "count": count,
        "rows": [
            _first_message(
                each, names, staff, templates.get(each.credentials), whole=each.reference == request.GET.get("all")
            )
            for each in found.rows
        ],
        "page": after,
        "first_url": url if after else "",
        "next_url": f"{url}?{urlencode({'page': seal(PAGE, found.until)})}" if found.until else "",
        "is_configured": bool(settings.HANDOFF_QUEUE_URL),
    }
    return render(request, "conversations/to_approve.html", context)


def _templates(credentials: Collection[str]) -> dict[str, Template | None]:
    """Return the templates that the sender fetched for these credentials. One GetItem each."""
    found = parallel(*(partial(read_template, each) for each in credentials))
    return {name: each.template for name, each in zip(credentials, found, strict=True)}


def _first_message(
    first: FirstMessage, names: dict[str, str], staff: Staff, template: Template | None, *, whole: bool
) -> dict[str, Any]:
    """Return one row of conversations/to_approve.html."""
    details = redact_and_mask(first.details)
    return {
        "message": first,
        "who": first.name,
        "recipient": identifier_for(first.recipient, staff) if first.recipient else "",
        "company": names.get(first.company_id, first.company_id),
        "channel": CHANNELS.get(first.channel, first.channel),
        "can_be_approved": first.channel in settings.CHANNEL_QUEUE_URLS,
        "template": template.body if template else "",
        "has_template": first.channel == TEMPLATES_CHANNEL,
        "approved_by": name_shown(first.approved_by) if first.approved_by else "",
        "details": [Fact(words(name), value) for name, value in details.items()],
        "content": tree_of(redact_and_mask(dict(first.content)))
        if first.size <= (LONGEST_SHOWN if whole else SHOWN)
        else None,
        "is_whole": whole,
        "can_be_shown": first.size <= LONGEST_SHOWN,
        "kilobytes": round(first.size / 1_000),
    }


@requires(Permission.HAND_OFF)
@post_only_form("queue-to-approve")
def decide(request: StaffRequest, ref: str) -> HttpResponse:
    """Approve or reject one first message, or undo its approval, by the button pressed. A form sent twice acts once."""
    try:
        match request.POST.get("decision"):
            case "approve":
                approvals.approve(ref, request.staff)
                messages.success(request, "Approved. The message goes out within a minute.")
            case "undo":
                approvals.undo(ref, request.staff)
                messages.success(request, "Undone. The message waits for approval again.")
            case _:
                approvals.reject(ref, request.staff, request.POST.get("reason", ""))
                messages.success(request, "Rejected. The message will not be sent.")
        counting.forget()
    except FAILURES as failure:
        messages.error(request, str(failure))
    return redirect("queue-to-approve")
