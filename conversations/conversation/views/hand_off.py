"""`POST /conversations/<ref>/hand-off/`: perform one action of the hand-off panel."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from console import clock
from console.access import StaffRequest, requires
from console.answers import post_only_form, posted_text
from console.errors import Invalid, NotAccepted, NotFound, StoreUnavailable, TableMissing, Throttled
from console.permissions import Permission
from console.redaction import mask_identifier
from console.refs import unseal
from conversations.handoff import HandOffAction, LostRace, perform, unseal_intent
from conversations.handoff.actions import TO_AI
from conversations.panel import panel_for
from conversations.reading import (
    conversation_url,
    hand_off_of,
    known_list_context,
    list_link,
    open_list_context,
    summary_of,
)
from conversations.receiving.leaving import leave_to_ai
from conversations.services import load_conversation

_DONE = {
    HandOffAction.REQUEST: "You asked for a human.",
    HandOffAction.TAKE_OVER: "You took over. The conversation is yours until you hand it back or release it.",
    HandOffAction.TAKE: "You have this conversation.",
    HandOffAction.TAKE_FROM_COLLEAGUE: "You have this conversation now.",
    HandOffAction.RELEASE: "Released. It waits for a human again, and the waiting time continues.",
    HandOffAction.HAND_BACK: "Handed back to the AI.",
    HandOffAction.ACKNOWLEDGE: "Left with the AI.",
    HandOffAction.LEAVE_TO_AI: "Left to the AI. It answers what the customer wrote.",
    HandOffAction.MARK_URGENT: "Marked as urgent.",
    HandOffAction.MARK_NOT_URGENT: "No longer urgent.",
    HandOffAction.LEAVE: "Left with the AI. It comes back if something changes.",
    HandOffAction.ASSIGN: "Assigned. Your colleague can see it now.",
    HandOffAction.HAND_OVER: "Handed over. It waits for the group, and the waiting time continues.",
}
_ROUTING_LEFT = "In the meantime, somebody else changed where this customer's messages go. Their change was kept."
# After giving up a conversation from a row of a list (`stay`), the agent returns to the list.
_GIVEN_UP = frozenset({HandOffAction.RELEASE, HandOffAction.LEAVE, *TO_AI})


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def hand_off(request: StaffRequest, ref: str) -> HttpResponse:
    """Perform the action that the form's sealed intent names. A form sent twice acts once."""
    intent = unseal_intent(request.POST.get("intent", ""), request.staff)
    if unseal("conversation", ref, 2) != (intent.primary_channel, intent.conversation_id):
        raise NotFound
    reason, note = posted_text(request, "reason"), posted_text(request, "note")
    try:
        if intent.action is HandOffAction.LEAVE_TO_AI:
            outcome = leave_to_ai(intent, request.staff)
        else:
            outcome = perform(intent, request.staff, reason=reason, note=note)
    except LostRace as error:
        return _render_again(request, ref, "conversations/lost_race.html", 409, error)
    except Invalid as error:
        return _render_again(request, ref, "conversations/hand_off_refused.html", 400, error)
    except (TableMissing, NotAccepted):
        # Nothing was written, and a retry would not help.
        raise
    except (StoreUnavailable, Throttled) as error:
        # The intent's id makes a retry safe, so the page offers the form again with what was typed.
        context = {
            "reference": ref,
            "detail": str(error),
            "intent": request.POST["intent"],
            "reason": reason,
            "note": note,
            "back": _back(request, ref),
        }
        response = render(request, "conversations/hand_off_unknown.html", context, status=error.status)
        response.headers["Retry-After"] = "5"
        return response
    listed = open_list_context(request.POST.get("in", "")) if "stay" in request.POST else None
    to_list = list_link(listed).url if listed and intent.action in _GIVEN_UP else ""
    who = f"{mask_identifier(intent.primary_channel)}: " if to_list else ""
    messages.success(request, f"{who}{_DONE[intent.action]}")
    if outcome.routing_left:
        messages.warning(request, f"{who}{_ROUTING_LEFT}")
    return redirect(to_list or _back(request, ref))


def _back(request: StaffRequest, reference: str) -> str:
    return conversation_url(reference, request.POST.get("in", ""))


def _render_again(request: StaffRequest, reference: str, template: str, status: int, error: Exception) -> HttpResponse:
    """Show the current state with fresh forms that keep what was typed."""
    item = load_conversation(reference, request.staff)
    state = hand_off_of(item)
    context = {
        "reference": reference,
        "summary": summary_of(item, request.staff),
        "error": error,
        "panel": panel_for(item, state, request.staff, clock.now()),
        "typed_note": posted_text(request, "note"),
        "typed_reason": posted_text(request, "reason"),
        "list_context": known_list_context(request.POST.get("in", "")),
        "back": _back(request, reference),
    }
    return render(request, template, context, status=status)
