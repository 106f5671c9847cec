"""The company's own sign-in: to the provider, back from it, and signed out."""

from http import HTTPStatus
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.errors import ConsoleError, NotFound
from console.staff import oidc, sessions
from console.staff.access import public
from console.staff.addresses import client_address
from console.staff.authentication import Visit
from console.staff.browsers import browser_label
from console.staff.cookies import session_token, set_session_cookie
from console.staff.destinations import safe_destination
from console.staff.oidc import attempts, sign_in, sign_out
from console.staff.oidc.refusals import Refusal
from console.staff.throttling import TooManyAttempts


@public
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """To the provider; `next` is where to go on to afterwards, `again` asks there which account to use."""
    _check_configured()
    destination = safe_destination(request.GET.get("next", ""))
    try:
        url, cookie = sign_in.start(destination, redirect_uri=_return_uri(request), again="again" in request.GET)
    except Refusal as refusal:
        return _refused(request, refusal, destination)
    response = HttpResponseRedirect(url)
    response.set_cookie(
        _cookie_name(),
        cookie,
        max_age=attempts.LIFETIME,
        path="/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


@public
@require_GET
def back(request: HttpRequest) -> HttpResponse:
    """From the provider: signed in and on, or a page that says why not. Either way the attempt is over."""
    _check_configured()
    cookie = request.COOKIES.get(_cookie_name(), "")
    answer = sign_in.Answer(*(request.GET.get(name, "") for name in ("state", "code", "error", "iss")))
    try:
        signed_in, destination = sign_in.finish(answer, cookie, _visit(request), redirect_uri=_return_uri(request))
    except ConsoleError as error:
        # The store's failures too: the address of this page, with its code, is of no use any more.
        response = _refused(request, error, attempts.destination_of(cookie))
    else:
        # A token that an earlier user of this browser may have seen is not taken over into the session.
        rotate_token(request)
        response = HttpResponseRedirect(safe_destination(destination) or reverse("home"))
        set_session_cookie(response, signed_in.token)
    response.delete_cookie(_cookie_name(), path="/", samesite="Lax")
    return response


@public
@require_GET
def signed_out(request: HttpRequest) -> HttpResponse:
    """After the sign-out here: a page that goes on to the provider's, where it has one."""
    _check_configured()
    token = session_token(request)
    if token and sessions.authenticate_request(token, is_activity=False) is not None:
        return HttpResponseRedirect(reverse("home"))
    going_on_to = sign_out.destination(request.build_absolute_uri(reverse("sign-in")))
    return render(request, "staff/oidc_signed_out.html", {"going_on_to": going_on_to, "label": oidc.label()})


def _check_configured() -> None:
    if not oidc.is_configured():
        raise NotFound


def _cookie_name() -> str:
    return "__Host-company-sign-in" if settings.SESSION_COOKIE_SECURE else "company-sign-in"


def _return_uri(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("oidc-return"))


def _visit(request: HttpRequest) -> Visit:
    return Visit(
        address=client_address(request),
        label=browser_label(request.headers.get("User-Agent", "")),
        previous_token=session_token(request),
    )


def _refused(request: HttpRequest, error: ConsoleError, destination: str) -> HttpResponse:
    is_told = isinstance(error, Refusal | TooManyAttempts)
    may_repeat = not isinstance(error, Refusal) or error.may_repeat
    query = ({"next": destination} if destination else {}) | ({} if may_repeat else {"again": "1"})
    context = {
        "title": error.title or "You could not be signed in",
        "text": str(error) if is_told else f"{error} Nobody was signed in. Start again in a moment.".strip(),
        "label": oidc.label(),
        "may_repeat": may_repeat,
        "start_url": reverse("oidc-start") + (f"?{urlencode(query)}" if query else ""),
    }
    response = render(request, "staff/oidc_refused.html", context, status=HTTPStatus(error.status))
    if error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    return response
