"""`/conversations/recipients/<ref>/elsewhere/`: what the other stores hold of the same person."""

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.access import StaffRequest, requires
from console.permissions import Permission
from conversations import person
from conversations.views.conversation import not_for_prefetch
from conversations.views.lists import looks_url


@requires(Permission.PII_REVEAL)
@require_safe
@not_for_prefetch
def elsewhere(request: StaffRequest, ref: str) -> HttpResponse:
    """Every store that the person may read is asked at once; that it was is on record."""
    who, results = person.look_up(ref, request.staff)
    context = {
        "who": who,
        "results": results,
        "looks_url": looks_url(ref, request.staff),
        "crumbs": [
            {"label": "Conversations", "url": reverse("conversations")},
            {"label": f"Recipient {who}", "url": reverse("recipient", args=[ref])},
            {"label": "Elsewhere"},
        ],
    }
    return render(request, "conversations/elsewhere.html", context)
