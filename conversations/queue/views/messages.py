"""`/system/messages/`: messages without a conversation; and putting one of a company into its conversation."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console import caching
from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.errors import Conflict, Invalid, NotFound, TableMissing
from console.permissions import Permission
from conversations.converting import conversation_url
from conversations.handoff.stored import has_inbound_source
from conversations.queue import counting
from conversations.queue.pages import ATTENTION
from conversations.receiving import not_placed, to_place


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
    except (NotFound, Conflict):
        messages.warning(request, to_place.GONE)
    except Invalid as refused:
        messages.error(request, str(refused))
    caching.invalidate(counting.not_placed_now)
    return redirect("messages-not-placed")


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def place(request: StaffRequest, ref: str) -> HttpResponse:
    """Put a message into this conversation, or say that it does not belong here, depending on the button pressed.

    Who says so on the list (`from_list`) goes on there.
    """
    token = request.POST.get("message", "")
    try:
        if request.POST.get("decision") == "put":
            to_place.put(token, ref, request.staff)
            messages.success(request, "The message is in this conversation now.")
        else:
            to_place.dismiss(token, ref, request.staff)
            messages.success(request, "Noted. The message is no longer shown here.")
            if "from_list" in request.POST:
                return redirect(f"{reverse('queue')}?tab={ATTENTION}")
    except (Conflict, Invalid) as refused:
        messages.warning(request, str(refused))
    return redirect(conversation_url(ref, request.POST.get("in", "")))
