"""`/conversations/<ref>/give/`: transfer a conversation to a colleague or group. `/notices/`: what colleagues did."""

from dataclasses import replace

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.errors import NotFound
from console.form_pages import FORM_METHODS, FormPage, process_form
from console.permissions import Permission
from console.refs import unseal
from console.staff.colleagues import away_now, set_available
from conversations.conversation.opening import load_conversation
from conversations.converting import conversation_url, hand_off_of, summary_of
from conversations.handoff import (
    HandOffAction,
    Intent,
    allowed_actions,
    intent_for,
    perform,
    seal_intent,
    unseal_intent,
)
from conversations.handoff.receivers import offered
from conversations.lists.crumbs import crumbs_below
from conversations.notices import dismiss_notices, notices_for
from conversations.queue.give_form import GiveForm

_COLLEAGUE, _GROUP = "colleague:", "group:"
_FORM = "conversations/give.html"
_DONE = {
    HandOffAction.ASSIGN: "Transferred. Your colleague can see it now.",
    HandOffAction.HAND_OVER: "Transferred. It waits for the group.",
}


@requires(Permission.HAND_OFF)
@require_http_methods(FORM_METHODS)
def give(request: StaffRequest, ref: str) -> HttpResponse:
    """Transfer a conversation to a colleague, or to a group of its company."""
    staff, item = request.staff, load_conversation(ref, request.staff)
    state, summary = hand_off_of(item), summary_of(item, request.staff)
    actions = allowed_actions(state, staff)
    colleagues, groups = offered([summary.company_id], staff, state.agent)
    form = GiveForm(request.POST if request.method == "POST" else None)
    form.offer(colleagues, groups if HandOffAction.HAND_OVER in actions else [])
    back = conversation_url(ref, request.GET.get("in", ""))
    token = request.POST.get("token") or seal_intent(intent_for(HandOffAction.ASSIGN, item, state), staff)
    context = {
        "summary": summary,
        "holder": state.agent_shown,
        "is_mine": state.agent == staff.username,
        "may_give": HandOffAction.ASSIGN in actions,
        "has_colleagues": bool(colleagues or groups),
        "crumbs": crumbs_below(summary, ref, "Transfer"),
        "token": token,
        "back": back,
    }

    def act() -> str:
        action, to = form.to
        perform(_intent_of(token, action, request, ref), staff, reason=form.cleaned_data["why"], to=to)
        return _DONE[action]

    return process_form(request, FormPage(_FORM, form, "the conversation", back, context), act)


def _intent_of(token: str, action: HandOffAction, request: StaffRequest, ref: str) -> Intent:
    """Return the form's intent with the chosen action. Raises `BadReference`, `NotFound` for another conversation."""
    intent = unseal_intent(token, request.staff)
    if unseal("conversation", ref, 2) != (intent.primary_channel, intent.conversation_id):
        raise NotFound
    return replace(intent, action=action)


@requires(Permission.HAND_OFF)
@require_http_methods(["GET", "HEAD", "POST"])
def notices(request: StaffRequest) -> HttpResponse:
    """Show the notices to a person; on POST, dismiss those with these ids."""
    if request.method == "POST":
        dismiss_notices(request.staff.username, request.POST.getlist("id"))
        return redirect("notices")
    username = request.staff.username
    return render(
        request, "conversations/notices.html", {"notices": notices_for(username), "is_away": username in away_now()}
    )


@requires(Permission.HAND_OFF)
@post_only_form("notices")
def availability(request: StaffRequest) -> HttpResponse:
    """Set oneself available or away. People who are away keep what they hold and are not offered first."""
    available = request.POST.get("available") == "yes"
    set_available(request.staff, available)
    messages.success(request, "You are available." if available else "You are away. What you hold stays with you.")
    return redirect("notices")
