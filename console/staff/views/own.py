"""A person's own account: details, password, second factor, time zone, sessions."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_safe

from console import clock
from console.access import StaffRequest, sets_up_second_factor, signed_in
from console.answers import answer, post_only_form
from console.errors import Conflict, Invalid
from console.permissions import Permission
from console.refs import seal
from console.staff import own, own_record, session_list
from console.staff.authentication import Visit
from console.staff.cookies import set_session_cookie
from console.staff.own_forms import CurrentPasswordForm, PasswordForm, SecondFactorForm, TimeZoneForm
from console.staff.passwords import TooManySignIns
from console.staff.throttling import TooManyAttempts
from console.staff.views.answers import signed_out
from console.staff.views.visits import visit_of
from console.trail.recording import staff_trail

View = Callable[[StaffRequest], HttpResponse]


class NotValid(Invalid):
    """The form itself already contains the errors."""


# Shown on the form, which keeps what was typed (except passwords).
REFUSALS = (Invalid, Conflict, TooManyAttempts, TooManySignIns)


def _own_form(view: View) -> View:
    """Decorate a view of a form about the person's own account; if not applicable, redirect to the account's page."""

    @wraps(view)
    def guarded(request: StaffRequest) -> HttpResponse:
        try:
            return view(request)
        except own.NotApplicable as not_applicable:
            messages.info(request, str(not_applicable))
            return redirect("account")

    return signed_in(sensitive_post_parameters()(require_http_methods(["GET", "HEAD", "POST"])(guarded)))


@signed_in
@require_safe
def account(request: StaffRequest) -> HttpResponse:
    """Show the person's account and everything that they may change."""
    return _account_page(request, TimeZoneForm(initial={"time_zone": request.staff.time_zone}))


@_own_form
def password(request: StaffRequest) -> HttpResponse:
    """Change the password."""
    form = PasswordForm(_sent(request), username=request.staff.username)
    if request.method != "POST":
        own.check_applicable(request.staff)
        return _page(request, "account_password", form)
    try:
        data = _valid(form)
        current, new = data["current_password"], data["new_password"]
        token = own.change_password(request.staff, current, new, visit=_visit(request))
    except REFUSALS as error:
        return _page(request, "account_password", form, error, field="new_password")
    messages.success(request, "Your password is changed. You are signed out in every other browser.")
    return _go_on(request, token, lambda: redirect("account"))


@signed_in
@post_only_form("account")
def time_zone(request: StaffRequest) -> HttpResponse:
    """Set the time zone."""
    form = TimeZoneForm(request.POST, initial={"time_zone": request.staff.time_zone})
    try:
        zone = _valid(form)["time_zone"]
        own.change_time_zone(request.staff, zone)
    except REFUSALS as error:
        return _account_page(request, form, error)
    messages.success(request, f"Times are now shown in {zone}.")
    return redirect("account")


@sets_up_second_factor
@_own_form
def second_factor(request: StaffRequest) -> HttpResponse:
    """Set up a second factor: a key to scan, a code to confirm it, and then the recovery codes, shown once."""
    form = SecondFactorForm(_sent(request))
    if request.method != "POST":
        own.check_applicable(request.staff, second_factor_on=False)
        return _set_up_page(request, form)
    try:
        data = _valid(form)
        token, codes = own.finish_set_up(
            request.staff, data["pending"], data["code"], data["current_password"], visit=_visit(request)
        )
    except REFUSALS as error:
        return _set_up_page(request, form, error)
    return _go_on(request, token, lambda: _codes_page(request, codes, is_new=True))


@_own_form
def recovery_codes(request: StaffRequest) -> HttpResponse:
    """Make new recovery codes, shown once; the old ones stop working."""
    form = CurrentPasswordForm(_sent(request))
    if request.method != "POST":
        own.check_applicable(request.staff, second_factor_on=True)
        return _page(request, "recovery_codes", form)
    try:
        current = _valid(form)["current_password"]
        codes = own.renew_recovery_codes(request.staff, current, visit=_visit(request))
    except REFUSALS as error:
        return _page(request, "recovery_codes", form, error)
    return _codes_page(request, codes)


@_own_form
def remove_second_factor(request: StaffRequest) -> HttpResponse:
    """Remove the second factor."""
    form = CurrentPasswordForm(_sent(request))
    if request.method != "POST":
        own.check_removable(request.staff)
        return _page(request, "second_factor_remove", form)
    try:
        current = _valid(form)["current_password"]
        token = own.remove_second_factor(request.staff, current, visit=_visit(request))
    except REFUSALS as error:
        return _page(request, "second_factor_remove", form, error)
    messages.success(request, "The second factor is removed: your password alone opens your account now.")
    return _go_on(request, token, lambda: redirect("account"))


@signed_in
@sensitive_post_parameters()
@post_only_form("account")
def end_sessions(request: StaffRequest) -> HttpResponse:
    """End one of the person's sessions, or all but this browser's, with the password; ending this browser's signs out.

    Without `current_password`, the answer is the page that asks for it.
    """
    staff, reference, current = request.staff, request.POST.get("session", ""), ""
    form = CurrentPasswordForm(request.POST if "current_password" in request.POST else None)
    context: dict[str, Any] = {"session": reference, "all_sessions": session_list.ALL}
    try:
        if own.needs_password_to_end(staff, reference):
            if not form.is_bound:
                return _page(request, "sessions_end", form, **context)
            current = _valid(form)["current_password"]
        if reference == session_list.ALL:
            token = own.end_other_sessions(staff, current, visit=_visit(request))
            messages.success(request, "You are signed out in every other browser.")
            return _go_on(request, token, lambda: redirect("account"))
        ended = own.end_session(staff, reference, current, visit=_visit(request))
    except own.NotApplicable as not_applicable:
        messages.info(request, str(not_applicable))
        return redirect("account")
    except REFUSALS as error:
        return _page(request, "sessions_end", form, error, **context)
    if ended.browser:
        messages.success(request, f"The session in {ended.browser} has ended.")
        return redirect("account")
    return signed_out(request, ended.method)


def _sent(request: StaffRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _visit(request: StaffRequest) -> Visit:
    return visit_of(request, request.staff.username)


def _valid(form: forms.Form) -> dict[str, Any]:
    if not form.is_valid():
        raise NotValid
    return form.cleaned_data


def _go_on(request: StaffRequest, token: str, answer: Callable[[], HttpResponse]) -> HttpResponse:
    """Return the response with the cookie of this browser's new session, and with a new CSRF token."""
    rotate_token(request)
    response = answer()
    set_session_cookie(response, token)
    return response


def _account_page(request: StaffRequest, form: TimeZoneForm, error: Exception | None = None) -> HttpResponse:
    staff = request.staff
    mine = own_record.load(staff)
    context = {
        "account": mine,
        "others_manage": staff.can(Permission.STAFF_MANAGE),
        "facts": [
            {"label": "Username", "value": staff.username, "mono": True},
            {"label": "Name", "value": staff.display_name},
            {"label": "Role", "value": staff.role_label},
            {"label": "Scope", "value": staff.scope_label, "list": mine.scope},
        ],
        "now": clock.now(),
        "trail_url": reverse("trail", args=[seal("trail", staff_trail(staff.username))]),
        "all_sessions": session_list.ALL,
    }
    return _page(request, "account", form, error, field="time_zone", **context)


def _set_up_page(request: StaffRequest, form: SecondFactorForm, error: Exception | None = None) -> HttpResponse:
    """Show the page with the same key as before, or, if that has expired, with a new one."""
    try:
        set_up = own.begin_set_up(request.staff, str(form["pending"].value() or ""))
    except own.SetUpExpired:
        set_up, error = own.begin_set_up(request.staff), own.SetUpExpired(own.SCAN_AGAIN)
    return _page(request, "second_factor", form, error, set_up=set_up)


def _codes_page(request: StaffRequest, codes: tuple[str, ...], *, is_new: bool = False) -> HttpResponse:
    return render(request, "staff/recovery_codes.html", {"codes": codes, "is_new": is_new, "now": clock.now()})


def _page(
    request: StaffRequest,
    name: str,
    form: forms.Form,
    error: Exception | None = None,
    *,
    field: str = "",
    **context: Any,
) -> HttpResponse:
    """Show a page with its form. `error` is shown at `field`, or at the field that the error names."""
    if isinstance(error, own.NotApplicable):
        raise error
    if isinstance(error, Invalid) and not isinstance(error, NotValid):
        form.add_error(getattr(error, "field", field) or None, str(error))
    elif isinstance(error, Conflict | TooManyAttempts | TooManySignIns):
        form.add_error(None, str(error))
    return answer(request, f"staff/{name}.html", {"form": form, **context}, error)
