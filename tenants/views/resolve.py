"""`/channels/resolve/`: which tenant would a webhook find?"""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console.errors import BadReference, Invalid
from console.refs import seal_data, unseal_data
from console.staff.access import StaffRequest, requires
from console.staff.permissions import Permission
from tenants.forms import ResolveForm
from tenants.keys import Channel
from tenants.resolving import resolve as resolve_channel
from tenants.views.frame import ASKING
from tenants.webhooks import candidates

KIND = "resolve"


@requires(Permission.TENANT_READ)
@require_http_methods(ASKING)
def resolve(request: StaffRequest) -> HttpResponse:
    """A form for what a webhook carried, POSTed; what was asked is then sealed in the address (`asked`)."""
    if request.method != "POST":
        return render(request, "tenants/resolve.html", _context(request, ResolveForm()))
    form = ResolveForm(request.POST)
    if form.is_valid():
        try:
            channels = candidates(form.cleaned_data["carried"], form.cleaned_data["type"])
            asked = seal_data(KIND, [[channel.type, channel.id] for channel in channels])
            return redirect(f"{reverse('channels-resolve')}?asked={asked}")
        except Invalid as error:
            form.add_error("carried", str(error))
    return render(request, "tenants/resolve.html", _context(request, form), status=422)


def _context(request: StaffRequest, form: ResolveForm) -> dict[str, Any]:
    asked = _asked(request.GET.get("asked", "")) if request.method != "POST" else []
    crumbs = [{"label": "Tenants", "url": reverse("tenants")}, {"label": "Resolve a channel", "url": ""}]
    return {
        "form": form,
        "crumbs": crumbs,
        "answers": [resolve_channel(channel, request.staff) for channel in asked],
    }


def _asked(sealed: str) -> list[Channel]:
    """The channels of an address; none for one that is not ours."""
    if not sealed:
        return []
    try:
        return [Channel(kind, each) for kind, each in unseal_data(KIND, sealed)]
    except BadReference:
        return []
