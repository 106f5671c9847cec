"""Users of a tenant: list, add, change and remove them."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import answer
from console.form_pages import FORM_METHODS, FormPage, process_form
from console.permissions import Permission
from tenants import users
from tenants.keys import TYPES
from tenants.queries import load_invitations, load_tenant
from tenants.records import Tenant, User
from tenants.user_form import UserForm
from tenants.users import UserChanged, UserValues
from tenants.views.frame import (
    TenantConfirmation,
    TenantPartGone,
    ask_confirmation,
    back_to,
    frame,
    refuse_deleted,
    unseal_part,
)

_TEMPLATE = "tenants/user.html"


@requires(Permission.TENANT_READ)
@require_safe
def index(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """List the users by id, and the platform's invitations."""
    tenant = load_tenant(tenant_id, request.staff)
    context = frame(tenant, request.staff, "tenant-users") | {"invitations": load_invitations(tenant_id, request.staff)}
    return render(request, "tenants/users.html", context)


@requires(Permission.USER_WRITE)
@require_http_methods(FORM_METHODS)
def new(request: StaffRequest, tenant_id: str) -> HttpResponse:
    """Add a user."""
    tenant = load_tenant(tenant_id, request.staff)
    if refused := refuse_deleted(request, tenant_id, tenant.status):
        return refused
    form = UserForm(request.POST if request.method == "POST" else None)
    back = reverse("tenant-users", args=[tenant_id])
    page = FormPage(_TEMPLATE, form, "the users", back, _context(request, tenant))

    def act() -> str:
        users.add(tenant_id, form.values, request.staff)
        return "User added."

    return process_form(request, page, act)


@requires(Permission.USER_WRITE)
@require_http_methods(FORM_METHODS)
@back_to("tenant-users", "This user no longer exists.")
def change(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Change a user. If somebody else changed it meanwhile, show what is stored next to what was typed."""
    tenant, user = _load(request, tenant_id, ref)
    if refused := refuse_deleted(request, tenant_id, tenant.status):
        return refused
    form = UserForm(request.POST if request.method == "POST" else None, user=_values(user), is_new=False)
    seen = request.POST.get("seen", "")
    back = reverse("tenant-users", args=[tenant_id])
    page = FormPage(_TEMPLATE, form, "the user", back, _context(request, tenant, user, seen))

    def act() -> str:
        changed = users.change(tenant_id, form.values, seen, request.staff)
        return "The user was changed." if changed else "Nothing to change."

    try:
        return process_form(request, page, act, passing=(UserChanged,))
    except UserChanged as error:
        tenant, user = _load(request, tenant_id, ref)
        return answer(request, _TEMPLATE, _context(request, tenant, user) | {"form": form, "stale": True}, error)


@requires(Permission.USER_WRITE)
@require_http_methods(FORM_METHODS)
@back_to("tenant-users", "This user no longer exists.")
def remove(request: StaffRequest, tenant_id: str, ref: str) -> HttpResponse:
    """Remove a user."""
    tenant, user = _load(request, tenant_id, ref)
    points = [f"{user.user_id} ({user.email or 'no email'}) will no longer be a user of {tenant.name}."]
    if user.future:
        points.append("The preferences, properties and memories that the platform keeps with the user are deleted too.")
    # If the tenant was not read completely, there may be other administrators.
    is_last = [each.user_id for each in tenant.admins] == [user.user_id] and not tenant.more
    question = TenantConfirmation(
        title="Remove this user?",
        points=tuple(points),
        submit="Remove the user",
        back=reverse("tenant-users", args=[tenant_id]),
        danger=True,
        seen=user.seen,
        hindered=users.LAST_ADMIN if is_last else "",
    )

    def act() -> str:
        users.remove(tenant_id, user.user_id, request.POST.get("seen", ""), request.staff)
        return "The user is removed."

    return ask_confirmation(request, frame(tenant, request.staff, "tenant-users", "Remove"), question, act)


def _load(request: StaffRequest, tenant_id: str, ref: str) -> tuple[Tenant, User]:
    """Return a tenant and the user of a reference. Raises `NotFound`, `TenantPartGone` if the user was removed."""
    user_id = unseal_part(tenant_id, "user", ref)
    tenant = load_tenant(tenant_id, request.staff)
    found = next((user for user in tenant.users if user.user_id == user_id), None)
    if found is None:
        raise TenantPartGone
    return tenant, found


def _values(user: User) -> UserValues:
    return UserValues(user.user_id, user.email, user.name, user.role, user.identities)


def _context(request: StaffRequest, tenant: Tenant, user: User | None = None, seen: str = "") -> dict[str, Any]:
    """Return the context of a user's form. `seen`: the digest that the form carries, by default the stored one."""
    return frame(tenant, request.staff, "tenant-users", "Change" if user else "New user") | {
        "user": user,
        "seen": seen or (user.seen if user else ""),
        "types": TYPES.values(),
    }
