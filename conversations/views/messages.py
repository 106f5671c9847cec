"""`/queue/to-approve/`: first messages that wait for approval. `/system/messages/`: messages without a conversation."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import caching
from console.access import StaffRequest, requires
from console.answers import FAILURES, post_only_form
from console.errors import Invalid, NotFound, TableMissing
from console.permissions import Permission, Staff
from console.trees import tree_of
from conversations.companies import names_for
from conversations.facts import redact_and_mask
from conversations.handoff.stored import has_inbound_source
from conversations.queue import counting
from conversations.queue.pages import APPROVE, Count, split_for_parallel_reads
from conversations.reading import CHANNELS, identifier_for
from conversations.receiving import approvals, not_placed
from conversations.receiving.approvals import FirstMessage
from conversations.views.queue import queue_tabs

GONE = "Somebody else has already dealt with this message."


@requires(Permission.HAND_OFF)
@require_safe
def to_approve(request: StaffRequest) -> HttpResponse:
    """List the first messages that a rule holds for approval in the companies in scope, oldest first."""
    names = names_for(request.staff)
    asked, left_out = split_for_parallel_reads(names)
    try:
        found = approvals.waiting(asked)
    except TableMissing:
        found = []
    context = {
        "tabs": queue_tabs({APPROVE: Count(len(found), more=bool(left_out))}, APPROVE),
        "rows": [_first_message(each, names, request.staff) for each in found],
        "left_out": len(left_out),
        "is_configured": bool(settings.HANDOFF_QUEUE_URL),
    }
    return render(request, "conversations/to_approve.html", context)


def _first_message(first: FirstMessage, names: dict[str, str], staff: Staff) -> dict[str, Any]:
    """Return one row of conversations/to_approve.html."""
    return {
        "message": first,
        "who": first.name,
        "recipient": identifier_for(first.recipient, staff) if first.recipient else "",
        "company": names.get(first.company_id, first.company_id),
        "channel": CHANNELS.get(first.channel, first.channel),
        "can_be_approved": first.channel in settings.CHANNEL_QUEUE_URLS,
        "content": tree_of(redact_and_mask(dict(first.content))),
    }


@requires(Permission.HAND_OFF)
@post_only_form("queue-to-approve")
def decide(request: StaffRequest, ref: str) -> HttpResponse:
    """Approve or reject one first message, depending on the button pressed. A form sent twice acts once."""
    try:
        if request.POST.get("decision") == "approve":
            company_id = approvals.approve(ref, request.staff)
            messages.success(request, "Approved. The message is on its way.")
        else:
            company_id = approvals.reject(ref, request.staff, request.POST.get("reason", ""))
            messages.success(request, "Rejected. The message will not be sent.")
        counting.forget(company_id)
    except FAILURES as failure:
        messages.error(request, str(failure))
    return redirect("queue-to-approve")


@requires(Permission.SYSTEM_READ)
@require_safe
def unplaced(request: StaffRequest) -> HttpResponse:
    """List messages from the hand-off queue that belong to no conversation, latest first, redacted."""
    cursor = request.GET.get("page", "")
    try:
        rows, following = not_placed.page(request.staff, cursor)
    except TableMissing:
        rows, following = (), ""
    url = reverse("messages-not-placed")
    context = {
        "rows": rows,
        "first_url": url if cursor else "",
        "next_url": f"{url}?page={following}" if following else "",
        "is_configured": has_inbound_source(),
    }
    return render(request, "conversations/not_placed.html", context)


@requires(Permission.SYSTEM_READ)
@post_only_form("messages-not-placed")
def resolve(request: StaffRequest, ref: str) -> HttpResponse:
    """Try to place one message again, or discard it, depending on the button pressed."""
    try:
        if request.POST.get("decision") == "retry":
            not_placed.retry(ref, request.staff)
            messages.success(request, "Placed. The message is in its conversation now.")
        else:
            not_placed.discard(ref, request.staff, request.POST.get("reason", ""))
            messages.success(request, "Discarded.")
    except NotFound:
        messages.warning(request, GONE)
    except Invalid as refused:
        messages.error(request, str(refused))
    caching.invalidate(counting.not_placed_now)
    return redirect("messages-not-placed")
