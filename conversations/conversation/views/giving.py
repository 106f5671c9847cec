"""`/conversations/<ref>/give/`: give a conversation to a colleague or group. `/told/`: messages from colleagues."""

from collections.abc import Iterable
from dataclasses import replace

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.answers import post_only_form
from console.errors import NotFound
from console.permissions import Permission
from console.refs import unseal
from console.staff.colleagues import Colleague, away_now, set_available
from conversations.groups import Group
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
from conversations.handoff.service import MAX_TEXT
from conversations.notices import dismiss_notices, notices_for
from conversations.reading import conversation_url, hand_off_of, summary_of
from conversations.services import load_conversation
from conversations.views.conversation import crumbs_below
from tenants.views.frame import FORM_METHODS, FormPage, process_form

_COLLEAGUE, _GROUP = "colleague:", "group:"
_FORM = "conversations/give.html"
_DONE = {
    HandOffAction.ASSIGN: "Assigned. Your colleague can see it now.",
    HandOffAction.HAND_OVER: "Handed over. It waits for the group.",
}


class GiveForm(forms.Form):
    """Who gets a conversation, and why."""

    receiver = forms.ChoiceField(
        label="Who gets it",
        widget=forms.Select,
        error_messages={
            "required": "Choose a colleague or a group.",
            "invalid_choice": "Choose one of the listed colleagues.",
        },
    )
    why = forms.CharField(
        label="Why",
        max_length=min(MAX_TEXT, 300),
        help_text="Your colleagues see it, and it is recorded.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
        error_messages={"required": "Say why you are giving it to somebody else."},
    )

    def offer(self, colleagues: Iterable[Colleague], groups: Iterable[Group]) -> None:
        """Set the choices of the receiver."""
        self.fields["receiver"].choices = [  # type: ignore[attr-defined]
            ("", "Choose"),
            ("Colleagues", [(_COLLEAGUE + each.username, _named(each)) for each in colleagues]),
            ("Groups", [(_GROUP + each.id, each.name) for each in groups]),
        ]

    @property
    def to(self) -> tuple[HandOffAction, str]:
        """The action, and the username or group id of the receiver."""
        chosen: str = self.cleaned_data["receiver"]
        if chosen.startswith(_GROUP):
            return HandOffAction.HAND_OVER, chosen.removeprefix(_GROUP)
        return HandOffAction.ASSIGN, chosen.removeprefix(_COLLEAGUE)


@requires(Permission.HAND_OFF)
@require_http_methods(FORM_METHODS)
def give(request: StaffRequest, ref: str) -> HttpResponse:
    """Assign a conversation to a colleague, or hand it over to a group of its company."""
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
        "may_give": HandOffAction.ASSIGN in actions,
        "has_colleagues": bool(colleagues or groups),
        "crumbs": crumbs_below(summary, ref, "Give it to a colleague"),
        "token": token,
        "back": back,
    }

    def act() -> str:
        action, to = form.to
        perform(_intent_of(token, action, request, ref), staff, reason=form.cleaned_data["why"], to=to)
        return _DONE[action]

    return process_form(request, FormPage(_FORM, form, "the conversation", back, context), act)


def _named(colleague: Colleague) -> str:
    return f"{colleague.name} (away)" if colleague.is_away else colleague.name


def _intent_of(token: str, action: HandOffAction, request: StaffRequest, ref: str) -> Intent:
    """Return the form's intent with the chosen action. Raises `BadReference`, `NotFound` for another conversation."""
    intent = unseal_intent(token, request.staff)
    if unseal("conversation", ref, 2) != (intent.primary_channel, intent.conversation_id):
        raise NotFound
    return replace(intent, action=action)


@requires(Permission.HAND_OFF)
@require_http_methods(["GET", "HEAD", "POST"])
def notices(request: StaffRequest) -> HttpResponse:
    """Show what colleagues told a person; on POST, dismiss the messages with these ids."""
    if request.method == "POST":
        dismiss_notices(request.staff.username, request.POST.getlist("id"))
        return redirect("told")
    username = request.staff.username
    return render(
        request, "conversations/told.html", {"told": notices_for(username), "is_away": username in away_now()}
    )


@requires(Permission.HAND_OFF)
@post_only_form("told")
def availability(request: StaffRequest) -> HttpResponse:
    """Set oneself available or away. People who are away keep what they hold and are not offered first."""
    available = request.POST.get("available") == "yes"
    set_available(request.staff, available)
    messages.success(request, "You are available." if available else "You are away. What you hold stays with you.")
    return redirect("told")
