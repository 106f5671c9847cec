"""From a row: the last message on demand, and from one conversation to the next of the list one came from."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.errors import NotFound
from console.permissions import Permission
from conversations.last_message import last_message
from conversations.listing import conversation_url, list_link, open_list_context
from conversations.neighbours import neighbour

DIRECTIONS = ("next", "previous")


@requires(Permission.CONVERSATION_READ)
@require_safe
def conversation_last_message(request: StaffRequest, ref: str) -> HttpResponse:
    """The last message as a fragment; without scripts the link leads to the conversation itself."""
    if not request.htmx:  # type: ignore[attr-defined]
        return redirect(conversation_url(ref, request.GET.get("in", "")))
    return render(request, "conversations/_last_message.html", {"last": last_message(ref, request.staff)})


@requires(Permission.CONVERSATION_READ)
@require_safe
def conversation_step(request: StaffRequest, ref: str, direction: str) -> HttpResponse:
    """Go to the next or previous conversation of the list that `in` names; at its end, back to the list."""
    if direction not in DIRECTIONS:
        raise NotFound
    token = request.GET.get("in", "")
    context = open_list_context(token)
    found = neighbour(context, ref, request.staff, back=direction == "previous")
    if found is not None:
        return redirect(conversation_url(found.reference, token))
    if context is not None:
        end = "the end" if direction == "next" else "the beginning"
        messages.info(request, f"That was {end} of the list.")
    return redirect(list_link(context).url)
