"""Signing in, in one step or two, signing out, and setting a password with a link."""

from http import HTTPStatus

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from console.access import public
from console.answers import post_only_form
from console.errors import ConsoleError, Invalid
from console.staff import authentication, devices, oidc, password_links, sessions
from console.staff.authentication import CodeNeeded, SecondStepExpired, SignedIn
from console.staff.cookies import set_session_cookie
from console.staff.destinations import safe_destination
from console.staff.forms import CODE_REFUSED, REFUSED, CodeForm, SetPasswordForm, SignInForm
from console.staff.passwords import TooManySignIns
from console.staff.second_factor import SecretUnreadable
from console.staff.throttling import TooManyAttempts
from console.staff.views.answers import signed_out
from console.staff.views.visits import visit_of

REFUSED_STATUS = HTTPStatus.UNPROCESSABLE_ENTITY


@public
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Sign in; people who already are signed in are redirected to their destination."""
    if request.method == "POST":
        return _sign_in(request)
    token = sessions.token_of(request.COOKIES)
    if token and sessions.authenticate_request(token) is not None:
        return HttpResponseRedirect(_destination(request) or reverse("home"))
    return _page(request, SignInForm())


@sensitive_variables()
def _sign_in(request: HttpRequest) -> HttpResponse:
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _page(request, form, REFUSED_STATUS)
    username, password = form.cleaned_data["username"], form.cleaned_data["password"]
    try:
        outcome = authentication.sign_in(username, password, visit_of(request, username))
    except (TooManyAttempts, TooManySignIns) as error:
        return _refuse(request, form, error)
    if outcome is None:
        form.add_error(None, REFUSED)
        return _page(request, form, REFUSED_STATUS)
    if isinstance(outcome, CodeNeeded):
        return _page(request, CodeForm(initial={"pending": outcome.pending}))
    return _lead_on(request, outcome)


@public
@sensitive_post_parameters("code", "pending")
@sensitive_variables()
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """Finish the second step, whose form the first step's response shows; GET redirects to the start."""
    if request.method != "POST":
        return redirect("sign-in")
    form = CodeForm(request.POST)
    if not form.is_valid():
        return _page(request, form, REFUSED_STATUS)
    pending, typed = form.cleaned_data["pending"], form.cleaned_data["code"]
    try:
        outcome = authentication.finish_second_step(
            pending, typed, visit_of(request, authentication.pending_username(pending))
        )
    except (TooManyAttempts, SecretUnreadable) as error:
        return _refuse(request, form, error)
    except SecondStepExpired as error:
        return _start_again(request, error)
    if outcome is None:
        form.add_error("code", CODE_REFUSED)
        return _page(request, form, REFUSED_STATUS)
    return _lead_on(request, outcome)


@public
@post_only_form("home")
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, including copies of its cookie; without a session, only delete the cookie."""
    staff = sessions.authenticate_request(sessions.token_of(request.COOKIES), is_activity=False)
    return signed_out(request, authentication.sign_out(staff) if staff is not None else "")


@public
@sensitive_post_parameters("code", "password", "repeated")
@require_http_methods(["GET", "HEAD", "POST"])
def set_password(request: HttpRequest) -> HttpResponse:
    """Set a password with a link. Opening the link does not use it up; the form submits the code."""
    if request.method != "POST":
        return _page(request, SetPasswordForm())
    form = SetPasswordForm(request.POST)
    if not form.is_valid():
        return _page(request, form, REFUSED_STATUS)
    try:
        authentication.set_password(form.cleaned_data["code"], form.cleaned_data["password"], visit_of(request))
    except (TooManyAttempts, TooManySignIns) as error:
        return _refuse(request, form, error)
    except Invalid as error:
        form.add_error(None if str(error) == password_links.REFUSED else "password", str(error))
        return _page(request, form, REFUSED_STATUS)
    messages.success(request, "Your password is set. Sign in with it.")
    return redirect("sign-in")


TEMPLATES: dict[type[Form], str] = {
    SignInForm: "staff/sign_in.html",
    CodeForm: "staff/code.html",
    SetPasswordForm: "staff/set_password.html",
}


def _page(request: HttpRequest, form: Form, status: int = HTTPStatus.OK) -> HttpResponse:
    context = {"form": form, "destination": _destination(request), "company_sign_in": oidc.label()}
    return render(request, TEMPLATES[type(form)], context, status=status)


def _refuse(request: HttpRequest, form: Form, error: ConsoleError) -> HttpResponse:
    """Show the form again, with the error's words, status and waiting time."""
    form.add_error(None, str(error))
    response = _page(request, form, error.status)
    response.headers["Retry-After"] = str(error.retry_after)
    return response


def _start_again(request: HttpRequest, error: SecondStepExpired) -> HttpResponse:
    form = SignInForm(request.POST)
    form.errors.clear()
    form.add_error(None, str(error))
    return _page(request, form, REFUSED_STATUS)


def _lead_on(request: HttpRequest, signed_in: SignedIn) -> HttpResponse:
    # An earlier user of this browser may have seen the CSRF token, so it must not carry over into the session.
    rotate_token(request)
    if signed_in.recovery_codes_left is not None:
        messages.warning(request, _words_on_recovery_codes(signed_in.recovery_codes_left))
    response = HttpResponseRedirect(_destination(request) or reverse("home"))
    set_session_cookie(response, signed_in.token)
    devices.remember(request, response, signed_in.username)
    return response


def _words_on_recovery_codes(left: int) -> str:
    if left == 0:
        return "You signed in with your last recovery code. Make new ones now: choose your name, then Recovery codes."
    are = "1 is" if left == 1 else f"{left} are"
    return f"You signed in with a recovery code. It will not work again. {are} left."


def _destination(request: HttpRequest) -> str:
    sent = request.POST if request.method == "POST" else request.GET
    return safe_destination(sent.get("next", ""))
