"""`/audit/events/`: idempotency records, looked up by what a person typed, one by one and by conversation."""

from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.audit.events.forms import LOOKUPS, ConversationLookup, EventLookup
from console.audit.events.keys import FORMATS
from console.audit.events.queries import NO_INDEX, check_conversation, events_of, find_event, has_index, read_event
from console.audit.links import conversation_url
from console.audit.review.forms import KEY, About
from console.audit.scoping import is_conversation_trail
from console.errors import NotFound
from console.refs import seal, unseal
from console.staff.access import StaffRequest, requires
from console.staff.permissions import Permission, Staff

Form = EventLookup | ConversationLookup


@requires(Permission.AUDIT_REVIEW)
@require_http_methods(["GET", "HEAD", "POST"])
def events(request: StaffRequest) -> HttpResponse:
    """GET: the look-ups. POST `look`: one of them, which leads to the sealed address of what was found."""
    if request.method != "POST":
        return _lookups(request, None)
    kind = LOOKUPS.get(request.POST.get("look", ""))
    if kind is None:
        return _lookups(request, None, status=400)
    form = kind(request.POST, auto_id=f"id_{kind.look}_%s")
    if not form.is_valid():
        return _lookups(request, form)
    try:
        return redirect(_found(form, request.staff))
    except NotFound:
        return _lookups(request, form, nothing=True)


def _found(form: Form, staff: Staff) -> str:
    """Where the look-up leads. Raises `NotFound`."""
    if isinstance(form, EventLookup):
        key = form.cleaned_data["event_id"]
        find_event(key, staff)
        return reverse("event", args=[seal("event", key)])
    conversation_id = form.cleaned_data["conversation_id"]
    check_conversation(conversation_id, staff)
    return reverse("events-of-conversation", args=[seal("trail", conversation_id)])


def _lookups(request: StaffRequest, bound: Form | None, *, nothing: bool = False, status: int = 200) -> HttpResponse:
    forms = {look: kind(auto_id=f"id_{look}_%s") for look, kind in LOOKUPS.items()}
    if bound is not None:
        forms[bound.look] = bound
    context = {
        "event_form": forms["event"],
        "conversation_form": forms["conversation"],
        "no_index": "" if has_index() else NO_INDEX,
        "nothing": nothing,
        "formats": FORMATS,
        "crumbs": [{"label": "Audit", "url": reverse("audit")}, {"label": "Idempotency"}],
    }
    return render(request, "audit/events.html", context, status=status)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def event(request: StaffRequest, ref: str) -> HttpResponse:
    """One record, what its key says, and the entries of the trail that bear the key."""
    (key,) = unseal("event", ref, 1)
    found = read_event(key, request.staff)
    trail = found.record.trail
    context = {
        "event": found,
        "record": found.record,
        "trail_url": reverse("trail", args=[seal("trail", trail)]) if trail else "",
        "events_url": events_url(trail, request.staff) if trail else "",
        "conversation_url": conversation_url(trail, request.staff),
        "same_key_url": f"{reverse('audit')}?{urlencode({'about': About(KEY, key).sealed})}",
        "crumbs": [*_crumbs(), {"label": "Record"}],
    }
    return render(request, "audit/events_record.html", context)


@requires(Permission.AUDIT_REVIEW)
@require_safe
def events_of_conversation(request: StaffRequest, ref: str) -> HttpResponse:
    """A conversation's records, newest first: a page, or for htmx its list."""
    (conversation_id,) = unseal("trail", ref, 1)
    page = events_of(conversation_id, request.staff, request.GET.get("page", ""))
    context = {
        "events": page,
        "trail_url": reverse("trail", args=[ref]),
        "first_url": request.path if page.back else "",
        "back_url": f"{request.path}?{urlencode({'page': page.back})}" if page.back else "",
        "next_url": f"{request.path}?{urlencode({'page': page.next})}" if page.next else "",
        "crumbs": [*_crumbs(), {"label": page.conversation}],
    }
    return render(request, "audit/events_list.html", context)


def events_url(partition: str, staff: Staff) -> str:
    """Where the records of a trail's conversation are; "" for other trails, and for people who do not review."""
    if not (staff.can(Permission.AUDIT_REVIEW) and is_conversation_trail(partition)):
        return ""
    return reverse("events-of-conversation", args=[seal("trail", partition)])


def _crumbs() -> list[dict[str, str]]:
    return [{"label": "Audit", "url": reverse("audit")}, {"label": "Idempotency", "url": reverse("events")}]
