"""Shared parts of the pages of one tenant: breadcrumbs, tabs and confirmation pages."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.access import StaffRequest
from console.answers import FAILURES, answer, describe_error
from console.context import list_crumbs
from console.errors import NotFound
from console.permissions import Permission, Staff
from console.refs import unseal
from tenants.keys import partition_of
from tenants.readiness import Readiness
from tenants.records import DELETED, Tenant, TenantRow
from tenants.writing import NOT_CHANGEABLE

View = Callable[..., HttpResponse]
_TABS = (
    ("tenant", "Overview", Permission.TENANT_READ),
    ("tenant-settings", "Settings", Permission.TENANT_READ),
    ("tenant-users", "Users", Permission.TENANT_READ),
    ("tenant-channels", "Channels", Permission.TENANT_READ),
    ("tenant-conversations", "Conversations", Permission.CONVERSATION_READ),
    ("tenant-history", "History", Permission.AUDIT_READ),
)


def frame(tenant: Tenant | TenantRow, staff: Staff, current: str, here: str = "") -> dict[str, Any]:
    """Return the context of every page of a tenant. `current` is the tab's route; `here` names a page below it."""
    label = next((label for route, label, _ in _TABS if route == current), "")
    above = [("Tenants", reverse("tenants")), (tenant.name, reverse("tenant", args=[tenant.tenant_id]))]
    if current != "tenant" and label:
        above.append((label, reverse(current, args=[tenant.tenant_id])))
    titles = [here, label, tenant.name]
    may = {name: staff.can(getattr(Permission, f"{name.upper()}_WRITE")) for name in ("tenant", "user", "channel")}
    return {
        "tenant": tenant,
        "tabs": _tabs(tenant, staff, current),
        "crumbs": list_crumbs(*above, here=here),
        "may": may,
        "page_title": " · ".join(filter(None, titles)),
    }


def _tabs(tenant: Tenant | TenantRow, staff: Staff, current: str) -> list[dict[str, Any]]:
    counts = {}
    if isinstance(tenant, Tenant):
        counts = {"tenant-users": len(tenant.users), "tenant-channels": len(tenant.channels)}
    tabs = []
    for route, label, permission in _TABS:
        if not staff.can(permission):
            continue
        url = reverse(route, args=[tenant.tenant_id])
        tabs.append({"label": label, "url": url, "current": route == current, "count": counts.get(route)})
    return tabs


def refuse_deleted(request: StaffRequest, tenant_id: str, status: str) -> HttpResponse | None:
    """Redirect a person who opens a form of a deleted tenant to its page, before anything is typed; otherwise None.

    A form that is sent keeps what was typed: the write itself refuses it.
    """
    if request.method == "POST" or status != DELETED:
        return None
    messages.warning(request, NOT_CHANGEABLE)
    return redirect("tenant", tenant_id)


def unseal_part(tenant_id: str, kind: str, ref: str) -> str:
    """Return the id in a sealed reference to a part of a tenant: a user, a channel's key, a company. Reads nothing.

    Raises `BadReference` for an invalid reference, `NotFound` for a part of another tenant.
    """
    partition, part = unseal(kind, ref, 2)
    if partition != partition_of(tenant_id):
        raise NotFound
    return part


class TenantPartGone(NotFound):
    """A part of a tenant in scope was removed since the person saw it."""


def back_to(route: str, words: str) -> Callable[[View], View]:
    """If a view raises `TenantPartGone` (a form sent twice, an old tab), redirect to that route with a warning."""

    def decorate(view: View) -> View:
        @wraps(view)
        def guarded(request: StaffRequest, tenant_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
            try:
                return view(request, tenant_id, *args, **kwargs)
            except TenantPartGone:
                messages.warning(request, words)
                return redirect(route, tenant_id)

        return guarded

    return decorate


@dataclass(frozen=True)
class TenantConfirmation:
    """A confirmation page. `form` has further fields.

    `warning` is highlighted. `hindered` (a message) and `unready` say why the action is impossible; the page shows them
    instead of a button.
    """

    title: str
    points: tuple[str, ...]
    submit: str
    back: str
    danger: bool = False
    seen: str = ""
    form: Any = None
    warning: str = ""
    hindered: str = ""
    unready: Readiness | None = None


def ask_confirmation(
    request: StaffRequest,
    context: dict[str, Any],
    question: TenantConfirmation,
    act: Callable[[], str],
) -> HttpResponse:
    """Show a confirmation page; on POST, run `act`, which returns the success message, or show why it failed.

    If the error has `readiness`, the page shows it.
    """
    context = context | {"question": question}
    if request.method != "POST":
        return render(request, "tenants/confirm.html", context)
    if question.form is not None and not question.form.is_valid():
        return render(request, "tenants/confirm.html", context, status=422)
    try:
        done = act()
    except NotFound as gone:
        messages.warning(request, str(gone) or "It no longer exists.")
        return redirect(question.back)
    except FAILURES as error:
        found = replace(question, unready=getattr(error, "readiness", question.unready))
        context |= {"question": found, "problem": describe_error(error, "the tenant")}
        return answer(request, "tenants/confirm.html", context, error)
    messages.success(request, done)
    return redirect(question.back)
