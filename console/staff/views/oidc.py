"""The company's own sign-in: redirect to the provider, return from it, and sign-out."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from console.access import public
from console.answers import answer
from console.errors import ConsoleError, NotFound
from console.staff import oidc, sessions
from console.staff.cookies import delete_cookie, set_cookie, set_session_cookie
from console.staff.destinations import safe_destination
from console.staff.oidc import attempts, logout, sign_in, sign_out
from console.staff.oidc.refusals import ProviderFailed, Refusal
from console.staff.throttling import TooManyAttempts
from console.staff.views.visits import visit_of


@public
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider; `next` is the destination afterwards, `again` asks which account to use."""
    _check_configured()
    destination = safe_destination(request.GET.get("next", ""))
    try:
        url, cookie = sign_in.start(destination, redirect_uri=_return_uri(request), again="again" in request.GET)
    except Refusal as refusal:
        return _refused(request, refusal, destination)
    response = HttpResponseRedirect(url)
    set_cookie(response, settings.COMPANY_SIGN_IN_COOKIE_NAME, cookie, attempts.LIFETIME)
    return response


@public
@require_GET
def back(request: HttpRequest) -> HttpResponse:
    """Finish a sign-in at the provider: redirect, or show why it failed. Either way the attempt is over."""
    _check_configured()
    cookie = request.COOKIES.get(settings.COMPANY_SIGN_IN_COOKIE_NAME, "")
    answer = sign_in.ProviderAnswer(*(request.GET.get(name, "") for name in ("state", "code", "error", "iss")))
    try:
        signed_in, destination = sign_in.finish(answer, cookie, visit_of(request), redirect_uri=_return_uri(request))
    except ConsoleError as error:
        # Includes the store's errors: this page's URL cannot be retried, as its code works only once.
        response = _refused(request, error, attempts.destination_of(cookie))
    else:
        # An earlier user of this browser may have seen the CSRF token, so it must not carry over into the session.
        rotate_token(request)
        response = HttpResponseRedirect(safe_destination(destination) or reverse("home"))
        set_session_cookie(response, signed_in.token)
    delete_cookie(response, settings.COMPANY_SIGN_IN_COOKIE_NAME)
    return response


@public
@require_GET
def signed_out(request: HttpRequest) -> HttpResponse:
    """Show a page after signing out here that leads to the provider's sign-out, if it has one."""
    _check_configured()
    token = sessions.token_of(request.COOKIES)
    if token and sessions.authenticate_request(token, is_activity=False) is not None:
        return HttpResponseRedirect(reverse("home"))
    going_on_to = sign_out.destination(request.build_absolute_uri(reverse("sign-in")))
    return render(request, "staff/oidc_signed_out.html", {"going_on_to": going_on_to, "label": oidc.label()})


@public
@csrf_exempt
@require_POST
def back_channel_logout(request: HttpRequest) -> HttpResponse:
    """End the sessions of a person who signed out at the provider, as its signed token says. No cookie is read."""
    _check_configured()
    headers = {"Cache-Control": "no-store"}
    try:
        logout.end_sessions(request.POST.get("logout_token", ""), visit_of(request).address)
    except ProviderFailed:
        return JsonResponse({"error": "invalid_request"}, status=400, headers=headers)
    return HttpResponse(status=200, headers=headers)


def _check_configured() -> None:
    if not oidc.is_configured():
        raise NotFound


def _return_uri(request: HttpRequest) -> str:
    return request.build_absolute_uri(reverse("oidc-return"))


def _refused(request: HttpRequest, error: ConsoleError, destination: str) -> HttpResponse:
    is_shown = isinstance(error, Refusal | TooManyAttempts)
    may_repeat = not isinstance(error, Refusal) or error.may_repeat
    query = ({"next": destination} if destination else {}) | ({} if may_repeat else {"again": "1"})
    context = {
        "title": error.title or "You could not be signed in",
        "text": str(error) if is_shown else f"{error} You were not signed in. Start again in a moment.".strip(),
        "label": oidc.label(),
        "may_repeat": may_repeat,
        "start_url": reverse("oidc-start", query=query),
    }
    return answer(request, "staff/oidc_refused.html", context, error)
