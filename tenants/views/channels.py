"""Channels of a tenant: list, add, complete, move and release them."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import FAILURES, describe_error, post_only_form
from console.errors import ConsoleError, Invalid, NotFound
from console.form_pages import FORM_METHODS, FormPage, process_form
from console.permissions import Permission, Staff
from tenants import channels
from tenants.channels import GONE, NotMapped
from tenants.forms import ChannelForm, TenantIdForm
from tenants.keys import TYPES, Channel
from tenants.queries import list_first_tenants, load_tenant, read_guards, unfound_channels
from tenants.records import ACTIVE, DELETED, Tenant, TenantChannel, TenantRow
from tenants.views.frame import (
    TenantConfirmation,
    TenantPartGone,
    ask_confirmation,
    back_to,
    frame,
    refuse_deleted,
    unseal_part,
)


@requires(Permission.TENANT_READ)
@require_safe
def index(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """List the channels by type and id with their flaws. One BatchGetItem for their guards."""
    tenant = load_tenant(tenant_id, request.staff)
    guards = read_guards(each.channel for each in tenant.channels)
    rows = [(each, _guard(guards.get(each.channel, ""), tenant_id)) for each in tenant.channels]
    context = frame(tenant, request.staff, "tenant-channels") | {"rows": rows, "absent": unfound_channels()}
    return render(request, "tenants/channels.html", context)


def _guard(named: str, tenant_id: str) -> str:
    return "ours" if named == tenant_id else "other" if named else "none"


@requires(Permission.CHANNEL_WRITE)
@require_http_methods(FORM_METHODS)
def new(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Add a channel. Refuse one that another tenant has, and name that tenant if it is in scope."""
    tenant = load_tenant(tenant_id, request.staff)
    if refused := refuse_deleted(request, tenant_id, tenant.status):
        return refused
    form = ChannelForm(request.POST if request.method == "POST" else None)
    page = FormPage(
        template="tenants/channel_new.html",
        form=form,
        about="the channels",
        back=reverse("tenant-channels", args=[tenant_id]),
        context=frame(tenant, request.staff, "tenant-channels", "New channel") | {"types": TYPES.values()},
    )

    def act() -> str:
        channels.claim(tenant_id, form.channel, request.staff)
        return "Channel added. Webhooks now find the tenant by it."

    return process_form(request, page, act)


@requires(Permission.CHANNEL_WRITE)
@post_only_form("tenant-channels", "tenant_id")
@back_to("tenant-channels", GONE)
def complete(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Make another writer's mapping findable by webhooks, and guard it."""
    channel = _channel(tenant_id, ref)
    try:
        channels.complete(tenant_id, channel, request.staff)
    except NotMapped as gone:
        raise TenantPartGone from gone
    except FAILURES as error:
        messages.error(request, describe_error(error, "the channels"))
    else:
        messages.success(request, "Webhooks find the tenant by this channel, and no other tenant can claim it.")
    return redirect("tenant-channels", tenant_id)


@requires(Permission.CHANNEL_WRITE)
@require_http_methods(FORM_METHODS)
@back_to("tenant-channels", GONE)
def move(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Give a channel to another tenant."""
    tenant, mine = _load(request, tenant_id, ref)
    others = _others(tenant_id, request.staff)
    form = TenantIdForm(request.POST if request.method == "POST" else None, others)
    question = TenantConfirmation(
        title="Move this channel?",
        points=(f"{mine.type_label} {mine.shown} goes to another tenant in one step, so no webhook is lost.",),
        submit="Move the channel",
        back=reverse("tenant-channels", args=[tenant_id]),
        form=form,
        warning=_warning(tenant),
    )

    def act() -> str:
        to = form.cleaned_data["to"].strip()
        try:
            channels.move(tenant_id, mine.channel, to, request.staff)
        except NotMapped:
            raise
        except NotFound as error:
            raise Invalid("No tenant in your scope has that id.") from error
        row = next((each for each in others if each.tenant_id == to), None)
        if row is None or row.status == ACTIVE:
            return "The channel is moved."
        return (
            f"The channel is moved. The platform does not serve {row.name}, whose status is {row.status or 'not set'}."
        )

    return ask_confirmation(request, frame(tenant, request.staff, "tenant-channels", "Move"), question, act)


def _others(tenant_id: str, staff: Staff) -> list[TenantRow]:
    """Return the tenants that can get a channel, by name; none if they cannot be read, so that the id is typed."""
    try:
        rows, _ = list_first_tenants(staff)
    except ConsoleError:
        return []
    others = [row for row in rows if row.tenant_id != tenant_id and row.status != DELETED]
    return sorted(others, key=lambda row: (row.name.casefold(), row.tenant_id))


@requires(Permission.CHANNEL_WRITE)
@require_http_methods(FORM_METHODS)
@back_to("tenant-channels", GONE)
def release(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Take a channel from the tenant."""
    tenant, mine = _load(request, tenant_id, ref)
    question = TenantConfirmation(
        title="Release this channel?",
        points=(
            f"Webhooks of {mine.type_label} {mine.shown} will find no tenant.",
            "Any tenant can claim it.",
        ),
        submit="Release the channel",
        back=reverse("tenant-channels", args=[tenant_id]),
        danger=True,
        warning=_warning(tenant),
    )

    def act() -> str:
        channels.release(tenant_id, mine.channel, request.staff)
        return "The channel is released."

    return ask_confirmation(request, frame(tenant, request.staff, "tenant-channels", "Release"), question, act)


def _warning(tenant: Tenant) -> str:
    """Return a warning if this is the tenant's last channel, otherwise ""."""
    if len(tenant.channels) > 1 or tenant.more:
        return ""
    served = ", though it is active" if tenant.status == ACTIVE else ""
    return f"This is the last channel of {tenant.name}. Without it no webhook finds the tenant{served}."


def _channel(tenant_id: str, ref: str) -> Channel:
    channel = Channel.of(unseal_part(tenant_id, "channel", ref))
    if channel is None:
        raise NotFound
    return channel


def _load(request: StaffRequest, tenant_id: str, ref: str) -> tuple[Tenant, TenantChannel]:
    """Return a tenant and the channel of a reference. Raises `NotFound`, `TenantPartGone` if it was released."""
    channel = _channel(tenant_id, ref)
    tenant = load_tenant(tenant_id, request.staff)
    found = next((each for each in tenant.channels if each.channel == channel), None)
    if found is None:
        raise TenantPartGone
    return tenant, found
