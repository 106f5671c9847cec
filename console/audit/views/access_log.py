"""`/audit/looks/`: who opened, revealed, searched and exported, by person, by conversation and by customer."""

from functools import partial
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.audit.access_log.reading import (
    access_log_of_conversation,
    access_log_of_person,
    access_log_of_recipient,
    check_conversation,
    conversations_of,
    is_url_safe_username,
    person_url,
)
from console.audit.review.forms import CONVERSATION, About
from console.audit.review.plan import ACCESS_ACTIONS
from console.audit.scoping import conversation_url
from console.errors import NotFound
from console.forms import PLAIN_TEXT, KeyField, LookupForm, lookup_forms, lookups_by_name
from console.lookup_page import answer_lookup
from console.permissions import Permission, Staff
from console.redaction import mask_identifier, redact
from console.refs import seal, unseal
from console.staff.accounts import normal_username


class PersonLooks(LookupForm):
    """The form for a member of staff."""

    look = "person"
    of_person = ()
    username = forms.CharField(
        max_length=200,
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Enter a username."},
    )

    def clean_username(self) -> str:
        """Return the username as stored."""
        username = normal_username(self.cleaned_data["username"])
        if not is_url_safe_username(username):
            raise forms.ValidationError("Enter a username, not a number or an address.")
        return username


class ConversationLooks(LookupForm):
    """The form for a conversation."""

    look = "conversation"
    conversation_id = KeyField(label="Conversation id", error_messages={"required": "Enter a conversation id."})


class RecipientLooks(LookupForm):
    """The form for a customer's number or address."""

    look = "recipient"
    of_person = ("recipient",)
    recipient = KeyField(
        label="Phone number or email address",
        most=320,
        help_text="With the country code, such as +44 7700 900123",
        error_messages={"required": "Enter a phone number or an email address."},
    )


LOOKUPS: dict[str, type[LookupForm]] = lookups_by_name(PersonLooks, ConversationLooks, RecipientLooks)


@requires(Permission.AUDIT_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def access_log(request: StaffRequest) -> HttpResponse:
    """Show the look-ups; POST `look` redirects to the page of one."""
    return answer_lookup(request, LOOKUPS, partial(_found, request.staff), partial(_lookups, request))


def _found(staff: Staff, form: LookupForm) -> str:
    if isinstance(form, PersonLooks):
        return person_url(form.cleaned_data["username"])
    if isinstance(form, RecipientLooks):
        typed = form.cleaned_data["recipient"]
        conversations_of(typed, staff)
        return reverse("access-log-recipient", args=[seal("recipient", typed)])
    conversation_id = form.cleaned_data["conversation_id"]
    check_conversation(conversation_id, staff)
    return reverse("access-log-conversation", args=[seal("trail", conversation_id)])


def _lookups(
    request: StaffRequest, bound: LookupForm | None, *, nothing: NotFound | None = None, status: int = 200
) -> HttpResponse:
    shown = lookup_forms(LOOKUPS, request.staff, bound)
    context = {
        "person_form": shown["person"],
        "conversation_form": shown["conversation"],
        "recipient_form": shown["recipient"],
        "own_url": person_url(request.staff.username),
        "nothing": nothing is not None,
        "crumbs": [{"label": "Audit", "url": reverse("audit")}, {"label": "Access log"}],
    }
    return render(request, "audit/access_log.html", context, status=status)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def person(request: StaffRequest, username: str) -> HttpResponse:
    """Show the conversations that one member of staff looked at."""
    if not is_url_safe_username(username):
        raise NotFound
    context = {
        "access_log": access_log_of_person(username, request.staff),
        "title": username,
        "by_person": True,
        "entries_url": _entries_url(actor=username),
        "crumbs": [*_crumbs(), {"label": username}],
    }
    return render(request, "audit/access_log_list.html", context)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def conversation(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the people who looked at one conversation."""
    (conversation_id,) = unseal("trail", ref, 1)
    title = redact(conversation_id)
    context = {
        "access_log": access_log_of_conversation(conversation_id, request.staff),
        "title": title,
        "by_person": False,
        "entries_url": _entries_url(about=About(CONVERSATION, conversation_id).sealed),
        "trail_url": reverse("trail", args=[ref]),
        "conversation_url": conversation_url(conversation_id, request.staff),
        "crumbs": [*_crumbs(), {"label": title}],
    }
    return render(request, "audit/access_log_list.html", context)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def recipient(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the people who looked at one customer: at any conversation of theirs, and by searching for them."""
    (typed,) = unseal("recipient", ref, 1)
    found, conversations = access_log_of_recipient(typed, request.staff)
    title = f"Recipient {mask_identifier(typed)}"
    urls = ((redact(each), reverse("access-log-conversation", args=[seal("trail", each)])) for each in conversations)
    context = {
        "access_log": found,
        "title": title,
        "by_person": False,
        "conversations": list(urls),
        "crumbs": [*_crumbs(), {"label": title}],
    }
    return render(request, "audit/access_log_list.html", context)


def _entries_url(**filters: str) -> str:
    """Return the URL of the review that lists the single entries, where dates can be chosen."""
    return reverse("audit", query={"action": ACCESS_ACTIONS, **filters})


def _crumbs() -> list[dict[str, Any]]:
    return [{"label": "Audit", "url": reverse("audit")}, {"label": "Access log", "url": reverse("access-log")}]
