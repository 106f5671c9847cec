"""`/tenants/<id>/conversations/`: a tenant's conversations with its assistant, one of them, and clearing it."""

from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console import clock
from console.access import StaffRequest, not_for_prefetch, requires
from console.answers import answer
from console.context import list_crumbs, read_only_reason, wants_fragment
from console.errors import Conflict, NotAccepted, NotFound, StoreUnavailable, TableMissing, Throttled
from console.form_pages import FORM_METHODS
from console.forms import PLAIN_TEXT
from console.permissions import Permission, Staff
from console.refs import seal
from console.trail.recording import tenant_trail
from conversations.messages.message import message_number
from conversations.stores.records import MessageList
from conversations.stores.tenant_conversations import clearing, services
from conversations.stores.tenant_conversations.reading import (
    StoredTenantConversation,
    TenantConversation,
    as_stored,
    row_of,
    summary_of,
    window,
)
from tenants.queries import load_tenant, row_for
from tenants.records import Tenant, TenantRow
from tenants.views.frame import frame

CHANGED = "This conversation changed in the meantime, so nothing was cleared. This is how it is now."
UNKNOWN = "The console does not know whether it was cleared. Send it again to be sure. It will not be cleared twice."
BUSY = "Nothing was cleared. Wait a few seconds, then send it again."


class ClearForm(forms.Form):
    """A form that asks for the id of the conversation, as the page shows it."""

    typed = forms.CharField(
        label="Type the conversation's id to confirm",
        widget=forms.TextInput(attrs=dict(PLAIN_TEXT)),
        error_messages={"required": "Type the id to confirm."},
    )

    def __init__(self, *args: Any, name: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name

    def clean_typed(self) -> str:
        """Check the typed id, ignoring the number of spaces, which HTML collapses."""
        typed: str = self.cleaned_data["typed"]
        if typed.split() != self.name.split():
            raise forms.ValidationError("That is not the id of this conversation. Nothing was cleared.")
        return typed


@requires(Permission.TENANT_READ)
@require_safe
def index(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """List a tenant's conversations, ordered by id. `page` is a cursor."""
    page = services.list_conversations(tenant_id, request.staff, request.GET.get("page", ""))
    context = frame(_tenant(tenant_id, request.staff), request.staff, "tenant-conversations") | {
        "rows": [row_of(item, clock.now()) for item in page.items],
        "first_url": request.path if page.back else "",
        "back_url": f"?{urlencode({'page': page.back})}" if page.back else "",
        "next_url": f"?{urlencode({'page': page.next})}" if page.next else "",
    }
    return render(request, "tenants/conversations.html", context)


@requires(Permission.TENANT_READ)
@require_safe
@not_for_prefetch
def conversation(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Show one conversation; for htmx with `?before=N`, only the messages before that one."""
    staff, before, at = request.staff, message_number(request.GET.get("before", "")), request.GET.get("at", "")[:40]
    item, is_raw = services.open_conversation(tenant_id, ref, staff)
    stored = StoredTenantConversation.of(item)
    shown = window(stored, raw=is_raw, before=before, at=at)
    context: dict[str, Any] = {"transcript": shown, "at": at, **_window_links(request.path, shown)}
    if before is not None and wants_fragment(request):
        return render(request, "conversations/_transcript.html", context)
    summary, name = summary_of(item, stored, clock.now()), _name(tenant_id, staff)
    text, left_out = as_stored(stored, raw=is_raw)
    context |= {
        "tenant_name": name,
        "summary": summary,
        "notice": stored.notice,
        "as_stored": text,
        "left_out": left_out,
        "is_redacted": not is_raw,
        "crumbs": list_crumbs(*_above(tenant_id, name), here=summary.title),
        "clear_url": reverse("tenant-conversation-clear", args=[tenant_id, ref])
        if staff.can(Permission.TENANT_CONVERSATION_CLEAR) and not read_only_reason()
        else "",
        "trail_url": reverse("trail", args=[seal("trail", tenant_trail(tenant_id))]),
    }
    return render(request, "tenants/conversation.html", context)


@requires(Permission.TENANT_CONVERSATION_CLEAR)
@require_http_methods(FORM_METHODS)
def clear(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Ask for the conversation's id, then clear it if it is unchanged. A form sent twice acts once."""
    try:
        item = clearing.load_to_clear(tenant_id, ref, request.staff)
        return _clear(request, item, ref) if request.method == "POST" else _ask(request, item, ref)
    except clearing.ConversationGone as error:
        if request.method != "POST":
            raise NotFound from error
        messages.info(request, "It is already gone. There is nothing left to clear.")
        return redirect("tenant-conversations", tenant_id)


def _clear(request: StaffRequest, item: TenantConversation, ref: str) -> HttpResponse:
    summary = summary_of(item, StoredTenantConversation.of(item), clock.now())
    form = ClearForm(request.POST, name=summary.title)
    seen = request.POST.get("seen", "")
    if not form.is_valid():
        return _ask(request, item, ref, form, seen=seen, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        clearing.clear(item, seen, request.staff)
    except Conflict as error:
        fresh = clearing.load_to_clear(item.pk, ref, request.staff)
        return _ask(request, fresh, ref, error=error, problem=CHANGED)
    except (TableMissing, NotAccepted):
        # Nothing was written, and a retry would not help.
        raise
    except (StoreUnavailable, Throttled) as error:
        problem = f"{error} {BUSY if isinstance(error, Throttled) else UNKNOWN}"
        return _ask(request, item, ref, form, seen=seen, error=error, problem=problem)
    messages.success(request, "The conversation is cleared.")
    return redirect("tenant-conversations", item.pk)


def _ask(
    request: StaffRequest,
    item: TenantConversation,
    ref: str,
    form: ClearForm | None = None,
    *,
    seen: str = "",
    error: Exception | None = None,
    problem: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Render the confirmation page. `seen` is the version the person saw; by default the one shown now."""
    tenant_id, summary = item.pk, summary_of(item, StoredTenantConversation.of(item), clock.now())
    url, name = reverse("tenant-conversation", args=[tenant_id, ref]), _name(tenant_id, request.staff)
    context = {
        "tenant_name": name,
        "summary": summary,
        "form": form or ClearForm(name=summary.title),
        "seen": seen or clearing.seen_of(item),
        "problem": problem,
        "blocked": read_only_reason(),
        "url": url,
        "crumbs": list_crumbs(*_above(tenant_id, name), (summary.title, url), here="Clear"),
    }
    return answer(request, "tenants/conversation_clear.html", context, error, status)


def _tenant(tenant_id: str, staff: Staff) -> Tenant | TenantRow:
    """Return the tenant, or only its id if it cannot be read: conversations outlive their tenant."""
    try:
        return load_tenant(tenant_id, staff)
    except (NotFound, StoreUnavailable, Throttled):
        return TenantRow(tenant_id, tenant_id, "", None)


def _name(tenant_id: str, staff: Staff) -> str:
    """Return the name of a tenant, or its id if it cannot be read."""
    try:
        row = row_for(tenant_id, staff)
    except (StoreUnavailable, Throttled):
        row = None
    return row.name if row else tenant_id


def _above(tenant_id: str, name: str) -> list[tuple[str, str]]:
    return [
        ("Tenants", reverse("tenants")),
        (name, reverse("tenant", args=[tenant_id])),
        ("Conversations", reverse("tenant-conversations", args=[tenant_id])),
    ]


def _window_links(url: str, shown: MessageList) -> dict[str, Any]:
    """Return the URLs of earlier and later messages."""
    return {
        "page_url": url,
        "earlier_url": f"{url}?{urlencode({'before': shown.earlier})}" if shown.earlier else "",
        "earlier_text": shown.earlier_text,
        "later_url": f"{url}?{urlencode({'before': shown.later})}" if shown.later else "",
    }
