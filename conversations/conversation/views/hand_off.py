"""`POST /conversations/<ref>/hand-off/`: perform one action of the hand-off panel."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from console import caching, clock
from console.access import StaffRequest, requires
from console.answers import post_only_form, posted_text
from console.errors import (
    Conflict,
    ConsoleError,
    Invalid,
    ItemFull,
    NotAccepted,
    NotFound,
    StoreUnavailable,
    TableMissing,
    Throttled,
)
from console.permissions import Permission
from console.redaction import mask_identifier
from console.refs import unseal
from conversations.attention.panel import panel_for, wait_after_return
from conversations.conversation.opening import load_with_messages
from conversations.conversation.views.conversation import conversation_page
from conversations.converting import (
    conversation_url,
    hand_off_of,
    known_list_context,
    list_link,
    open_list_context,
    summary_of,
)
from conversations.handoff import HandOffAction, LostRace, perform, unseal_intent
from conversations.handoff.actions import TO_AI
from conversations.outbox.making_room import make_room
from conversations.queue import counting
from conversations.receiving.leaving import ProviderNotAsked, UnansweredLeft, return_to_ai

_DONE = {
    HandOffAction.REQUEST: "You asked for a human.",
    HandOffAction.TAKE_OVER: "You took over. The conversation is yours until you return it.",
    HandOffAction.TAKE: "You have this conversation.",
    HandOffAction.TAKE_FROM_COLLEAGUE: "You have this conversation now.",
    HandOffAction.RELEASE: "Returned to the queue.",
    HandOffAction.HAND_BACK: "Returned to the AI.",
    HandOffAction.ACKNOWLEDGE: "Returned to the AI.",
    HandOffAction.LEAVE_TO_AI: "The AI has been asked to answer the customer.",
    HandOffAction.MARK_URGENT: "Marked as urgent.",
    HandOffAction.MARK_NOT_URGENT: "No longer urgent.",
    HandOffAction.LEAVE: "Dismissed. It comes back if something changes.",
    HandOffAction.ASSIGN: "Transferred. Your colleague can see it now.",
    HandOffAction.HAND_OVER: "Transferred. It waits for the group.",
}
_ROUTING_LEFT = "In the meantime, somebody else changed where this customer's messages go. Their change was kept."
# After giving up a conversation from a row of a list (`stay`), the agent returns to the list.
_GIVEN_UP = frozenset({HandOffAction.RELEASE, HandOffAction.LEAVE, *TO_AI})
_TO_QUEUE = frozenset({HandOffAction.RELEASE, HandOffAction.HAND_OVER})
_TAKES = frozenset({HandOffAction.TAKE, HandOffAction.TAKE_OVER, HandOffAction.TAKE_FROM_COLLEAGUE})


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def hand_off(request: StaffRequest, ref: str) -> HttpResponse:
    """Perform the action that the form's sealed intent names. A form sent twice acts once."""
    intent = unseal_intent(request.POST.get("intent", ""), request.staff)
    if unseal("conversation", ref, 2) != (intent.primary_channel, intent.conversation_id):
        raise NotFound
    reason, note = posted_text(request, "reason"), posted_text(request, "note")
    try:
        if intent.action in TO_AI:
            unasked, shown = "unasked" in request.POST, request.POST.get("shown", "")
            outcome = return_to_ai(intent, request.staff, shown=shown, note=note, unasked=unasked)
        else:
            outcome = perform(intent, request.staff, reason=reason, note=note)
    except LostRace as error:
        messages.warning(request, str(error))
        return conversation_page(request, ref, status=error.status, typed_note=note, typed_reason=reason)
    except (Invalid, UnansweredLeft, ItemFull) as error:
        return _refused(request, ref, error)
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
            "shown": request.POST.get("shown", ""),
            "is_unasked": "unasked" in request.POST,
            "back": _back(request, ref),
        }
        response = render(request, "conversations/hand_off_unknown.html", context, status=error.status)
        response.headers["Retry-After"] = "5"
        return response
    counting.count_again({intent.company_id})
    listed = open_list_context(request.POST.get("in", "")) if "stay" in request.POST else None
    to_list = list_link(listed).url if listed and intent.action in _GIVEN_UP else ""
    who = f"{mask_identifier(intent.primary_channel)}: " if to_list else ""
    waits = f" {wait_after_return(outcome.item)}" if intent.action in _TO_QUEUE else ""
    messages.success(request, f"{who}{_DONE[intent.action]}{waits}")
    if outcome.routing_left:
        messages.warning(request, f"{who}{_ROUTING_LEFT}")
    return redirect(to_list or _back(request, ref, others=intent.action in _TAKES))


@requires(Permission.HAND_OFF)
@post_only_form("conversation", "ref")
def room(request: StaffRequest, ref: str) -> HttpResponse:
    """Move a full conversation's oldest messages to the console's own table."""
    primary_channel, conversation_id = unseal("conversation", ref, 2)
    try:
        moved = make_room(primary_channel, conversation_id, request.staff)
    except (Invalid, Conflict) as error:
        return _refused(request, ref, error)
    caching.invalidate(counting.full_keys_now)
    if moved:
        which = "message is" if moved == 1 else f"{moved:,} messages are"
        messages.success(request, f"There is room again. The oldest {which} kept by the console now.")
    else:
        messages.info(request, "There is enough room already.")
    return redirect(_back(request, ref))


def _back(request: StaffRequest, reference: str, *, others: bool = False) -> str:
    return conversation_url(reference, request.POST.get("in", ""), others=others)


def _refused(request: StaffRequest, reference: str, error: ConsoleError) -> HttpResponse:
    """Show the current state with fresh forms that keep what was typed."""
    item, stored = load_with_messages(reference, request.staff)
    state = hand_off_of(item)
    context = {
        "reference": reference,
        "summary": summary_of(item, request.staff),
        "error": error,
        # The button of a row shows no messages, so this page asks who answers them.
        "asks": type(error) is UnansweredLeft and not request.POST.get("shown"),
        "panel": panel_for(item, state, request.staff, clock.now(), stored=stored),
        "is_return_open": True,
        "is_full": isinstance(error, ItemFull),
        "is_unasked": isinstance(error, ProviderNotAsked) or "unasked" in request.POST,
        "typed_note": posted_text(request, "note"),
        "typed_reason": posted_text(request, "reason"),
        "list_context": known_list_context(request.POST.get("in", "")),
        "back": _back(request, reference),
    }
    return render(request, "conversations/hand_off_refused.html", context, status=error.status)
