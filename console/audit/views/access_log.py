"""`/audit/looks/`: who opened, revealed, searched and exported, by person, by conversation and by customer."""

from functools import partial

from django import forms
from django.http import HttpResponse, QueryDict
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
    is_unknown,
    is_url_safe_username,
    person_url,
)
from console.audit.access_log.recent import recent_looks
from console.audit.access_log.standing_out import DAYS, LEAST, TIMES
from console.audit.review.forms import ACTOR_INPUT, CONVERSATION, ID_HELP, About, clean_person
from console.audit.scoping import conversation_url, trail_shown_as
from console.context import list_crumbs
from console.errors import NotFound
from console.forms import PLAIN_TEXT, FilterForm, KeyField, LookupForm, lookup_forms, lookups_by_name
from console.lookups.lookup_page import answer_lookup
from console.permissions import Permission, Staff
from console.redaction import mask_identifier, redact
from console.refs import seal, unseal
from console.staff.accounts import normal_username
from console.trail.actions import ACCESS_ACTIONS


class LooksFilter(FilterForm):
    """GET filter of the newest looks: one member of staff. An invalid one is reported and ignored."""

    person = forms.CharField(
        required=False, max_length=200, label="Person", widget=forms.TextInput(attrs={**PLAIN_TEXT, **ACTOR_INPUT})
    )

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data)
        self.is_valid()

    def clean_person(self) -> str:
        """Return the username of the person with that name or username."""
        found = clean_person(self.cleaned_data["person"])
        return normal_username(found) or found


class ConversationLooks(LookupForm):
    """The form for a conversation."""

    look = "conversation"
    conversation_id = KeyField(
        label="Conversation id", help_text=ID_HELP, error_messages={"required": "Enter a conversation id."}
    )


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


LOOKUPS: dict[str, type[LookupForm]] = lookups_by_name(ConversationLooks, RecipientLooks)


@requires(Permission.AUDIT_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def access_log(request: StaffRequest) -> HttpResponse:
    """Show the newest looks and the look-ups. POST `look` redirects to the page of one.

    GET filter: person, a name or username.
    """
    return answer_lookup(request, LOOKUPS, partial(_found, request.staff), partial(_lookups, request))


def _found(staff: Staff, form: LookupForm) -> str:
    if isinstance(form, RecipientLooks):
        typed = form.cleaned_data["recipient"]
        conversations_of(typed, staff)
        return reverse("access-log-recipient", args=[seal("recipient", typed)])
    conversation_id = trail_shown_as(form.cleaned_data["conversation_id"], staff)
    check_conversation(conversation_id, staff)
    if is_unknown(conversation_id, staff):
        raise NotFound
    return reverse("access-log-conversation", args=[seal("trail", conversation_id)])


def _lookups(
    request: StaffRequest, bound: LookupForm | None, *, nothing: NotFound | None = None, status: int = 200
) -> HttpResponse:
    staff = request.staff
    shown = lookup_forms(LOOKUPS, staff, bound)
    form = LooksFilter(request.GET)
    person, here = form.chosen("person"), reverse("access-log")
    context = {
        "form": form,
        "person": person,
        # The answer to a look-up shows its form alone.
        "looks": None if staff.scope.is_empty or request.method == "POST" else recent_looks(staff, person),
        "clear_url": here if person or form.errors else "",
        "all_url": _entries_url(**({"actor": person} if person else {})),
        "person_url": person_url(person) if person else "",
        "days": DAYS,
        "least": LEAST,
        "times": TIMES,
        "conversation_form": shown["conversation"],
        "recipient_form": shown["recipient"],
        "nothing": bound.look if bound is not None and nothing else "",
        "crumbs": list_crumbs(("Audit", reverse("audit")), here="Access log"),
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
        "crumbs": _crumbs(username),
    }
    return render(request, "audit/access_log_list.html", context)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def conversation(request: StaffRequest, ref: str) -> HttpResponse:
    """Show the people who looked at one conversation."""
    (conversation_id,) = unseal("trail", ref, 1)
    title = redact(conversation_id)
    found = access_log_of_conversation(conversation_id, request.staff)
    context = {
        "access_log": found,
        "title": title,
        "by_person": False,
        "crumbs": _crumbs(title),
    }
    if not found.is_unknown:
        context |= {
            "entries_url": _entries_url(about=About(CONVERSATION, conversation_id).sealed),
            "trail_url": reverse("trail", args=[ref]),
            "conversation_url": conversation_url(conversation_id, request.staff),
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
        "crumbs": _crumbs(title),
    }
    return render(request, "audit/access_log_list.html", context)


def _entries_url(**filters: str) -> str:
    """Return the URL of the review that lists the single entries, where dates can be chosen."""
    return reverse("audit", query={"action": ACCESS_ACTIONS, **filters})


def _crumbs(here: str) -> list[dict[str, str]]:
    return list_crumbs(("Audit", reverse("audit")), ("Access log", reverse("access-log")), here=here)
