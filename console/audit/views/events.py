"""`/audit/events/`: idempotency records, looked up by key or by conversation."""

from functools import partial
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.audit.events.keys import FORMATS
from console.audit.events.queries import NO_INDEX, check_conversation, check_key, events_of, has_index, read_event
from console.audit.events.records import UnrecordedKey
from console.audit.review.forms import ID_HELP, KEY, About
from console.audit.scoping import conversation_url, review_url, trail_shown_as
from console.context import list_crumbs
from console.errors import NotFound
from console.forms import KeyField, LookupForm, lookup_forms, lookups_by_name
from console.lookups.lookup_page import answer_lookup
from console.permissions import Permission, Staff
from console.refs import seal, unseal

# Only ever POSTed: keys and conversation ids contain phone numbers.


class EventLookup(LookupForm):
    """The form for an event id, the key of a record."""

    look = "event"
    event_id = KeyField(label="Event id", help_text="The idempotency key, such as evt:rp:conv123:msg456")


class ConversationLookup(LookupForm):
    """The form for a conversation id."""

    look = "conversation"
    conversation_id = KeyField(label="Conversation id", help_text=ID_HELP)


LOOKUPS: dict[str, type[LookupForm]] = lookups_by_name(EventLookup, ConversationLookup)


@requires(Permission.AUDIT_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def events(request: StaffRequest) -> HttpResponse:
    """Show the look-ups; POST `look` redirects to the sealed URL of what one finds."""
    return answer_lookup(request, LOOKUPS, partial(_found, request.staff), partial(_lookups, request))


def _found(staff: Staff, form: LookupForm) -> str:
    """Return the URL that a look-up leads to. Raises `NotFound`."""
    if isinstance(form, EventLookup):
        key = form.cleaned_data["event_id"]
        check_key(key, staff)
        return reverse("event", args=[seal("event", key)])
    conversation_id = trail_shown_as(form.cleaned_data["conversation_id"], staff)
    check_conversation(conversation_id, staff)
    return reverse("events-of-conversation", args=[seal("trail", conversation_id)])


def _lookups(
    request: StaffRequest, bound: LookupForm | None, *, nothing: NotFound | None = None, status: int = 200
) -> HttpResponse:
    shown = lookup_forms(LOOKUPS, request.staff, bound)
    context = {
        "event_form": shown["event"],
        "conversation_form": shown["conversation"],
        "no_index": "" if has_index() else NO_INDEX,
        "nothing": nothing is not None,
        "formats": FORMATS,
        "crumbs": list_crumbs(("Audit", reverse("audit")), here="Idempotency"),
    }
    return render(request, "audit/events.html", context, status=status)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def event(request: StaffRequest, ref: str) -> HttpResponse:
    """Show a record, what its key says, and the trail entries that name the key; without a record, the other two."""
    (key,) = unseal("event", ref, 1)
    found = read_event(key, request.staff)
    if isinstance(found, UnrecordedKey):
        context = {"event": found, "crumbs": _crumbs("Key")}
        return render(request, "audit/events_key.html", context | _leads(key, found.trail, request.staff))
    context = {"event": found, "record": found.record, "crumbs": _crumbs("Record")}
    return render(request, "audit/events_record.html", context | _leads(key, found.record.trail, request.staff))


def _leads(key: str, trail: str, staff: Staff) -> dict[str, str]:
    """Return the URLs of other pages about a key and its conversation."""
    return {
        "trail_url": reverse("trail", args=[seal("trail", trail)]) if trail else "",
        "events_url": review_url("events-of-conversation", trail, staff),
        "conversation_url": conversation_url(trail, staff),
        "same_key_url": reverse("audit", query={"about": About(KEY, key, trail).sealed}),
    }


@requires(Permission.AUDIT_REVIEW)
@require_safe
def events_of_conversation(request: StaffRequest, ref: str) -> HttpResponse:
    """Show a conversation's records, newest first: a page, or for htmx only its list."""
    (conversation_id,) = unseal("trail", ref, 1)
    page = events_of(conversation_id, request.staff, request.GET.get("page", ""))
    context = {
        "events": page,
        "trail_url": reverse("trail", args=[ref]),
        "first_url": request.path if page.back else "",
        "back_url": f"{request.path}?{urlencode({'page': page.back})}" if page.back else "",
        "next_url": f"{request.path}?{urlencode({'page': page.next})}" if page.next else "",
        "crumbs": _crumbs(page.conversation),
    }
    return render(request, "audit/events_list.html", context)


def _crumbs(here: str) -> list[dict[str, str]]:
    return list_crumbs(("Audit", reverse("audit")), ("Idempotency", reverse("events")), here=here)
