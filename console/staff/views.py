"""Signing in and out."""

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from console.staff import authentication, sessions
from console.staff.access import public
from console.staff.browsers import browser_label
from console.staff.cookies import delete_session_cookie, session_token, set_session_cookie
from console.staff.destinations import safe_destination
from console.staff.forms import REFUSED, SignInForm


@public
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page; who is signed in already goes on to where they were heading."""
    if request.method == "POST":
        return _sign_in(request)
    destination = safe_destination(request.GET.get("next", ""))
    token = session_token(request)
    if token and sessions.authenticate_request(token) is not None:
        return HttpResponseRedirect(destination or reverse("home"))
    return _page(request, SignInForm(), destination)


def _sign_in(request: HttpRequest) -> HttpResponse:
    destination = safe_destination(request.POST.get("next", ""))
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _page(request, form, destination, HTTPStatus.UNPROCESSABLE_ENTITY)
    token = authentication.sign_in(
        form.cleaned_data["username"],
        form.cleaned_data["password"],
        user_agent=browser_label(request.headers.get("User-Agent", "")),
        previous_token=session_token(request),
    )
    if token is None:
        form.add_error(None, REFUSED)
        return _page(request, form, destination, HTTPStatus.UNPROCESSABLE_ENTITY)
    # A token that an earlier user of this browser may have seen is not taken over into the session.
    rotate_token(request)
    response = HttpResponseRedirect(destination or reverse("home"))
    set_session_cookie(response, token)
    return response


@public
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session, wherever its cookie was copied to; without one, only the cookie goes."""
    staff = sessions.authenticate_request(session_token(request), is_activity=False)
    if staff is not None:
        authentication.sign_out(staff)
    rotate_token(request)
    messages.success(request, "You are signed out.")
    response = redirect("sign-in")
    delete_session_cookie(response)
    return response


def _page(request: HttpRequest, form: SignInForm, destination: str, status: HTTPStatus = HTTPStatus.OK) -> HttpResponse:
    return render(request, "staff/sign_in.html", {"form": form, "destination": destination}, status=status)
