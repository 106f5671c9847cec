"""`/channels/resolve/`: show which tenant a webhook would find."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, requires
from console.context import list_crumbs
from console.errors import BadReference, Invalid
from console.form_pages import FORM_METHODS
from console.forms import add_reason_field
from console.lookups.personal_searches import has_reason, needs_reason, record_search
from console.permissions import Permission, Staff
from console.refs import seal_data, unseal_data
from tenants.forms import ResolveForm
from tenants.keys import Channel
from tenants.reading import redactor_for
from tenants.resolving import Resolved
from tenants.resolving import resolve as resolve_channel
from tenants.webhooks import candidates, hint_for

KIND, TYPED = "resolve", "resolve-typed"
# Characters in a URL: servers and proxies take about 4,000 in all.
MAX_SEALED = 2_500


@requires(Permission.TENANT_READ)
@require_http_methods(FORM_METHODS)
def resolve(request: StaffRequest) -> HttpResponse:
    """Ask for what a webhook sent (POST), then redirect to the answer, with the sealed channels in `asked`."""
    typed, hint = ({}, "") if request.method == "POST" else _typed_in(request)
    form = ResolveForm(request.POST if request.method == "POST" else None, initial=typed)
    add_reason_field(form, request.staff)
    if not form.is_bound:
        return render(request, "tenants/resolve.html", _context(request, form) | {"hint": hint})
    if form.is_valid() and _may_look(form, request.staff):
        try:
            channels = candidates(form.cleaned_data["carried"], form.cleaned_data["type"])
            _put_on_record(form, channels, request.staff)
            return redirect(_answer_url(channels, form.cleaned_data["carried"], form.cleaned_data["type"]))
        except Invalid as error:
            form.add_error("carried", str(error))
    return render(request, "tenants/resolve.html", _context(request, form), status=422)


def _answer_url(channels: Iterable[Channel], carried: str, kind: str) -> str:
    """Return the URL of the answer; it keeps what was typed too, unless that would make it too long."""
    values = {"asked": seal_data(KIND, [[channel.type, channel.id] for channel in channels])}
    typed = seal_data(TYPED, {"carried": carried, "type": kind})
    if len(typed) <= MAX_SEALED:
        values["typed"] = typed
    return reverse("channels-resolve", query=values)


def _may_look(form: ResolveForm, staff: Staff) -> bool:
    return not needs_reason(form.cleaned_data["carried"], staff) or has_reason(form, staff)


def _put_on_record(form: ResolveForm, channels: Iterable[Channel], staff: Staff) -> None:
    """Record a search for personal data by people who cannot reveal."""
    carried = form.cleaned_data["carried"]
    if needs_reason(carried, staff):
        resolve_all = partial(_resolved, channels, staff)
        record_search(carried, form, staff, resolve_all, lambda found: sum(bool(each.claimants) for each in found))


def _resolved(channels: Iterable[Channel], staff: Staff) -> list[Resolved]:
    found = [resolve_channel(channel, staff) for channel in channels]
    # What somebody has comes before what the text could also mean.
    return sorted(found, key=lambda each: not each.claimants)


def _context(request: StaffRequest, form: ResolveForm) -> dict[str, Any]:
    asked = _channels_in(request.GET.get("asked", "")) if request.method != "POST" else []
    crumbs = list_crumbs(("Tenants", reverse("tenants")), here="Resolve a channel")
    return {
        "form": form,
        "crumbs": crumbs,
        "answers": _resolved(asked, request.staff),
    }


def _typed_in(request: StaffRequest) -> tuple[dict[str, str], str]:
    """Return what was typed, as the person may see it, and what to know about it; nothing for an invalid URL."""
    show, sealed = redactor_for(request.staff), request.GET.get("typed", "")
    try:
        typed = {name: str(value) for name, value in unseal_data(TYPED, sealed).items()} if sealed else {}
    except (BadReference, AttributeError):
        return {}, ""
    hint = "" if typed.get("type") else show(hint_for(typed.get("carried", "")))
    # A masked text could not be looked up again, so it is left out.
    return {name: value for name, value in typed.items() if show(value) == value}, hint


def _channels_in(sealed: str) -> list[Channel]:
    """Unseal the channels in a URL; none if it is invalid."""
    if not sealed:
        return []
    try:
        return [Channel(kind, each) for kind, each in unseal_data(KIND, sealed)]
    except BadReference:
        return []
