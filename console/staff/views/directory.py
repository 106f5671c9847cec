"""`/staff/`: the accounts of the people who use the console, for administrators."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import FAILURES, answer, describe_error, post_only_form
from console.context import wants_fragment
from console.errors import Conflict, NotFound
from console.permissions import Permission
from console.refs import seal
from console.staff import directory, known_companies, oidc, services, session_list
from console.staff.account_record import AccountRecord, differences, record_of
from console.staff.directory import AccountAction
from console.staff.directory_forms import AccountForm, DirectoryFilter, NewAccountForm
from console.trail.recording import Actor, staff_trail

ASKING = ["GET", "HEAD", "POST"]
# Views only pass accounts on, so they do not import the model.
Account = Any


@requires(Permission.STAFF_MANAGE)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List the accounts by username: a page, or for htmx only its list.

    GET filters: name, role, state; `page` is a cursor. `open` redirects to the account with that username, in case the
    list cannot be read.
    """
    if wanted := request.GET.get("open", "").strip().lower():
        return _open(request, wanted)
    form = DirectoryFilter(request.GET)
    page = directory.read_page(request.staff, form.filters(), request.GET.get("page", ""))
    values = form.values()
    context = {
        "form": form,
        "page": page,
        "filtered": bool(values),
        "clear_url": reverse("staff") if values or form.errors else "",
        "first_url": reverse("staff", query=values) if request.GET.get("page") else "",
        "next_url": reverse("staff", query=values | {"page": page.next}) if page.next else "",
        "may_manage": True,
    }
    is_fragment = wants_fragment(request)
    return render(request, "staff/_directory.html" if is_fragment else "staff/directory.html", context)


def _open(request: StaffRequest, username: str) -> HttpResponse:
    try:
        found = directory.load(username, request.staff)
    except NotFound:
        messages.warning(request, "No account in your scope has that username.")
        return redirect("staff")
    return redirect("staff-account", found.username)


@requires(Permission.STAFF_MANAGE)
@require_safe
def account(request: StaffRequest, username: str) -> HttpResponse:
    """Show an account: its rights, its sessions, and the possible actions."""
    staff = request.staff
    found = directory.load(username, staff)
    running = session_list.load(found, staff.session_id)
    is_own = found.username == staff.username
    context = {
        "account": record_of(found, staff, known_companies.known_to(staff)),
        "sessions": running.rows,
        "sessions_notice": running.notice,
        "end_url": reverse("account-sessions-end") if is_own else reverse("staff-sessions-end", args=[username]),
        # Trails of staff belong to no company: only administrators of all companies may read others'.
        "trail_url": reverse("trail", args=[seal("trail", staff_trail(username))])
        if staff.scope.everything or is_own
        else "",
    }
    return render(request, "staff/account_of.html", context)


@requires(Permission.STAFF_MANAGE)
@require_http_methods(ASKING)
@sensitive_variables()
def new(request: StaffRequest) -> HttpResponse:
    """Create an account; the response shows the link for its password, once."""
    staff, provider = request.staff, oidc.label()
    known = known_companies.known_to(staff)
    if request.method != "POST":
        form = NewAccountForm(None, staff=staff, known=known, provider=provider)
        return render(request, "staff/new.html", {"form": form})
    form = NewAccountForm(request.POST, staff=staff, known=known, provider=provider)
    if not form.is_valid():
        return render(request, "staff/new.html", {"form": form}, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    make = services.create_for_company_sign_in if form.by_company_sign_in else services.invite
    try:
        made = make(form.cleaned_data["username"], **form.chosen(), actor=Actor.of(staff))
    except FAILURES as error:
        form.add_error("username" if isinstance(error, Conflict) else None, describe_error(error, "the account"))
        return answer(request, "staff/new.html", {"form": form}, error)
    _warn_of_unknown(request, form)
    if isinstance(made, tuple):
        return _show_link(request, *made, is_new=True)
    messages.success(request, f"The account {made.username} is ready for company sign-in.")
    return redirect("staff-account", made.username)


@requires(Permission.STAFF_MANAGE)
@require_http_methods(ASKING)
def change(request: StaffRequest, username: str) -> HttpResponse:
    """Change role, scope, name and time zone; of the person's own account, only name and time zone."""
    staff = request.staff
    found = directory.load(username, staff)
    form = AccountForm(
        request.POST if request.method == "POST" else None,
        staff=staff,
        known=known_companies.known_to(staff),
        account=found,
    )
    seen = request.POST.get("seen", "")
    if request.method != "POST":
        return _change_page(request, found, form, found.updated_at)
    if not form.is_valid():
        return _change_page(request, found, form, seen, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        directory.check_seen(found, seen)
        changed = services.change(found, **form.chosen(), actor=Actor.of(staff))
    except Conflict:
        fresh = directory.load(username, staff)
        return _change_page(request, fresh, form, fresh.updated_at, status=HTTPStatus.CONFLICT)
    except FAILURES as error:
        form.add_error(None, describe_error(error, "the account"))
        return _change_page(request, found, form, seen, error=error)
    ended = " It was signed out everywhere." if changed.epoch != found.epoch else ""
    is_same = changed.updated_at == found.updated_at
    messages.success(request, "Nothing to change." if is_same else f"The account was changed.{ended}")
    if found.password_link_hash and not changed.password_link_hash:
        messages.warning(request, "Its password link has expired. Make a new one.")
    _warn_of_unknown(request, form)
    return redirect("staff-account", username)


def _change_page(
    request: StaffRequest,
    found: Account,
    form: AccountForm,
    seen: str,
    *,
    status: int = HTTPStatus.OK,
    error: Exception | None = None,
) -> HttpResponse:
    record = record_of(found, request.staff, form.known)
    is_stale = status == HTTPStatus.CONFLICT
    context = {
        "account": record,
        "form": form,
        "seen": seen,
        "stale": is_stale,
        "differences": differences(record, form.words()) if is_stale else (),
        "claimed": _claimed(record),
    }
    return answer(request, "staff/change.html", context, error, status)


def _claimed(record: AccountRecord) -> str:
    """Return which attributes the company's own sign-in sets at each sign-in, in words; "" for none."""
    if not (record.company_sign_in and oidc.is_configured()):
        return ""
    claims = {"role": settings.OIDC_ROLE_CLAIM, "scope": settings.OIDC_SCOPE_CLAIM}
    return " and ".join(name for name, claim in claims.items() if claim)


@requires(Permission.STAFF_MANAGE)
@require_http_methods(ASKING)
def disable(request: StaffRequest, username: str) -> HttpResponse:
    """Disable an account and release what it holds; for a disabled one, release again."""

    def act(found: Account) -> HttpResponse:
        services.disable(found, actor=Actor.of(request.staff))
        messages.success(request, "The account is disabled and signed out, and what it held is back in the queue.")
        return redirect("staff-account", username)

    return _ask_first(request, username, AccountAction.DISABLE, "staff/disable.html", act)


@requires(Permission.STAFF_MANAGE)
@require_http_methods(ASKING)
def enable(request: StaffRequest, username: str) -> HttpResponse:
    """Let a disabled account sign in again."""

    def act(found: Account) -> HttpResponse:
        services.enable(found, actor=Actor.of(request.staff))
        messages.success(request, "The account is enabled.")
        return redirect("staff-account", username)

    return _ask_first(request, username, AccountAction.ENABLE, "staff/enable.html", act)


@requires(Permission.STAFF_MANAGE)
@require_http_methods(ASKING)
@sensitive_variables()
def password(request: StaffRequest, username: str) -> HttpResponse:
    """Void the password; the response shows the link to set another one, once."""

    def act(found: Account) -> HttpResponse:
        return _show_link(request, *services.issue_password_link(found, actor=Actor.of(request.staff)))

    return _ask_first(request, username, AccountAction.PASSWORD, "staff/password.html", act)


@requires(Permission.STAFF_MANAGE)
@require_http_methods(ASKING)
def remove_second_factor(request: StaffRequest, username: str) -> HttpResponse:
    """Remove the second factor, such as after a lost phone."""

    def act(found: Account) -> HttpResponse:
        services.remove_second_factor(found, actor=Actor.of(request.staff))
        messages.success(request, "The second factor is removed, and the account signed out everywhere.")
        return redirect("staff-account", username)

    return _ask_first(request, username, AccountAction.SECOND_FACTOR, "staff/remove_second_factor.html", act)


@requires(Permission.STAFF_MANAGE)
@post_only_form("staff-account", "username")
def end_sessions(request: StaffRequest, username: str) -> HttpResponse:
    """End one session of an account (`session`: its reference), or all of them (`session=all`)."""
    found = directory.load(username, request.staff)
    directory.check_action(AccountAction.END_SESSIONS, found, request.staff)
    which, actor = request.POST.get("session", ""), Actor.of(request.staff)
    if which == session_list.ALL:
        services.end_sessions(found, actor=actor)
        messages.success(request, "The account is signed out everywhere.")
        return redirect("staff-account", username)
    session_id = session_list.session_id_of(username, which)
    try:
        services.end_session(found, session_id, actor=actor)
        messages.success(request, "The session has ended.")
    except NotFound as error:
        messages.info(request, str(error))
    return redirect("staff-account", username)


def _ask_first(
    request: StaffRequest, username: str, action: AccountAction, template: str, act: Callable[[Account], HttpResponse]
) -> HttpResponse:
    """Show a page that asks for confirmation; its POST runs `act`, or shows the page again with the reason against."""
    found = directory.load(username, request.staff)
    context = _asked(request, action, found)
    if request.method != "POST":
        return render(request, template, context)
    try:
        directory.check_action(action, found, request.staff)
        # Releasing again what a disabled account holds is harmless, even if the account has changed.
        if not (action is AccountAction.DISABLE and found.disabled):
            directory.check_seen(found, request.POST.get("seen", ""))
        return act(found)
    except services.NotAllReleased as error:
        return answer(request, template, _asked(request, action, error.account) | {"partly": True}, error)
    except Conflict as error:
        context = _asked(request, action, directory.load(username, request.staff))
        return answer(request, template, context | {"problem": str(error)}, error)
    except FAILURES as error:
        return answer(request, template, context | {"problem": describe_error(error, "the account")}, error)


def _asked(request: StaffRequest, action: AccountAction, found: Account) -> dict[str, Any]:
    return {
        "account": record_of(found, request.staff),
        "reason": directory.reason_against(action, found, request.staff),
    }


@sensitive_variables()
def _show_link(request: StaffRequest, made: Account, code: str, *, is_new: bool = False) -> HttpResponse:
    """Show the link, in this response only: it is never in a redirect, a cookie or a URL."""
    context = {
        "account": record_of(made, request.staff),
        "link": f"{request.build_absolute_uri(reverse('set-password'))}#{code}",
        "hours": settings.PASSWORD_LINK_HOURS,
        "is_new": is_new,
    }
    response = render(request, "staff/password_link.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


def _warn_of_unknown(request: StaffRequest, form: AccountForm) -> None:
    if unknown := form.unknown_ids():
        named = known_companies.listed(unknown)
        messages.warning(request, f"Not known here: {named}. Check the spelling.")
