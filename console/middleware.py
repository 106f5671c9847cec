"""Around every request: headers, a budget for DynamoDB, designed answers for the console's errors, and the guard of
every route, by which nobody gets in unless the view says who may (see `console.access`)."""

import time
from collections.abc import Callable
from datetime import UTC, tzinfo
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseFileResponse

from console import health
from console.access import StaffRequest
from console.error_pages import render_error, render_status
from console.errors import ConsoleError, Forbidden
from console.permissions import Staff
from console.staff import sessions
from console.staff.authentication import record_denial
from console.staff.cookies import delete_session_cookie
from console.staff.destinations import safe_destination
from console.store.calls import Budget, RequestCost, budget, recent_costs

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# What a page asks by itself carries this header, and does not keep a session alive.
POLL_HEADER = "X-Poll"
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer",
        "camera",
        "geolocation",
        "gyroscope",
        "microphone",
        "payment",
        "usb",
        "browsing-topics",
    )
)


def probes(get_response: GetResponse) -> GetResponse:
    """Liveness and readiness, for whoever asks: load balancers probe by address, over http, with any Host header.

    Stands before whatever looks at the Host; SECURE_REDIRECT_EXEMPT keeps the redirect to https from doing so.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info == "/healthz":
            return health.alive(request)
        if request.path_info == "/readyz":
            return health.ready(request)
        return get_response(request)

    return middleware


def response_headers(get_response: GetResponse) -> GetResponse:
    """Headers that every answer carries: pages, refusals of the middlewares within, probes and static files."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers["Permissions-Policy"] = PERMISSIONS_POLICY
        response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
        # SecurityMiddleware sets these too, but not on its own refusal of a Host.
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", settings.SECURE_REFERRER_POLICY)
        response.headers.setdefault("Cross-Origin-Opener-Policy", settings.SECURE_CROSS_ORIGIN_OPENER_POLICY)
        if not isinstance(response, WhiteNoiseFileResponse):
            response.headers.setdefault("Cache-Control", "no-store")
            # Signed-in pages differ by person, and the same URL serves a page and its fragment.
            patch_vary_headers(response, ["Cookie", "HX-Request"])
        return response

    return middleware


class RequestBudgetMiddleware:
    """Gives each request its deadline over all DynamoDB calls, notes what it cost, and renders the console's errors."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Run the request inside its budget."""
        started = time.perf_counter()
        with budget(settings.REQUEST_DEADLINE_SECONDS) as spent:
            try:
                response = self.get_response(request)
            except ConsoleError as error:
                response = render_error(request, error)
            if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not getattr(response, "content", b""):
                allowed = response.headers.get("Allow", "")
                response = render_status(request, HTTPStatus.METHOD_NOT_ALLOWED)
                response.headers["Allow"] = allowed
        _note_cost(request, spent, (time.perf_counter() - started) * 1000)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Errors of views; others go on to Django's own handling (a 500 page)."""
        return render_error(request, error) if isinstance(error, ConsoleError) else None


def _note_cost(request: HttpRequest, spent: Budget, total_ms: float) -> None:
    match: Any = request.resolver_match
    if match is None or not spent.calls:
        return
    recent_costs.append(
        RequestCost(
            route=f"{request.method} /{match.route}",
            calls=len(spent.calls),
            units=sum(call.units for call in spent.calls),
            store_ms=sum(call.ms for call in spent.calls),
            total_ms=total_ms,
        )
    )


class StaffMiddleware:
    """Sets `request.staff` (None on public pages, which cost no read) and answers for whoever may not go on."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Nobody is signed in until a guarded view asks; from then on times are in the person's zone."""
        cast(Any, request).staff = None
        try:
            return self.get_response(request)
        finally:
            timezone.deactivate()

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """Let the request through to the view, or answer it."""
        if getattr(view, "is_public", False):
            return None
        permissions = getattr(view, "required_permissions", None)
        try:
            if permissions is None:
                raise Forbidden("This page is closed because it does not say who may open it.")
            staff = sessions.authenticate_request(
                sessions.token_of(request.COOKIES), is_activity=POLL_HEADER not in request.headers
            )
            if staff is None:
                return _ask_to_sign_in(request)
            cast(StaffRequest, request).staff = staff
            timezone.activate(_zone(staff))
            if staff.must_add_second_factor and not getattr(view, "sets_up_second_factor", False):
                return _lead_to_set_up(request)
            if permissions and not any(staff.can(permission) for permission in permissions):
                _note_denial(request, staff)
                raise Forbidden
        except ConsoleError as error:
            # Django turns what is raised here into a bare 500; only views' exceptions reach the other middlewares.
            return render_error(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Refusals that a view or service raised are in the trail too; the middleware outside renders them."""
        staff: Staff | None = getattr(request, "staff", None)
        if isinstance(error, Forbidden) and staff is not None:
            _note_denial(request, staff)
        return None


def _zone(staff: Staff) -> tzinfo:
    """The person's time zone; UTC if this machine does not know it."""
    try:
        return ZoneInfo(staff.time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return UTC


def _note_denial(request: HttpRequest, staff: Staff) -> None:
    match = request.resolver_match
    needed = getattr(match.func, "required_permissions", ()) if match else ()
    # A view that the role may open refuses for reasons of its own.
    lacking = () if any(staff.can(each) for each in needed) else needed
    record_denial(staff, match.route if match else "", request.method or "", lacking)


def _ask_to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """To the sign-in page and back for what can be opened again; a page that says so for what was sent."""
    response: HttpResponse
    htmx: Any = getattr(request, "htmx", None)
    if htmx:
        response = HttpResponse(status=HTTPStatus.UNAUTHORIZED)
        response.headers["HX-Redirect"] = sign_in_url(request, _path_of_ours(request, htmx.current_url or ""))
    elif request.method in ("GET", "HEAD"):
        response = HttpResponseRedirect(sign_in_url(request, request.get_full_path()))
    else:
        url = sign_in_url(request, _path_of_ours(request, request.headers.get("Referer", "")))
        response = render(request, "staff/signed_out.html", {"sign_in_url": url}, status=HTTPStatus.UNAUTHORIZED)
    # What a page asked by itself may be answered after the browser got another session's cookie: it stays.
    if settings.SESSION_COOKIE_NAME in request.COOKIES and POLL_HEADER not in request.headers:
        delete_session_cookie(response)
    return response


def _lead_to_set_up(request: HttpRequest) -> HttpResponseBase:
    """To the page where the required second factor is set up; what was sent is not done."""
    if getattr(request, "htmx", None):
        response = HttpResponse(status=HTTPStatus.FORBIDDEN)
        response.headers["HX-Redirect"] = reverse("account-second-factor")
        return response
    return HttpResponseRedirect(reverse("account-second-factor"))


def sign_in_url(request: HttpRequest, destination: str) -> str:
    """The sign-in page, which leads on to `destination` where that is a path of this console."""
    path = safe_destination(destination)
    return reverse("sign-in") + (f"?{urlencode({'next': path})}" if path else "")


def _path_of_ours(request: HttpRequest, url: str) -> str:
    """Path and query of the page that a header names, if it is one of ours; the header may be any junk."""
    own = f"{request.scheme}://{request.get_host()}"
    return url.removeprefix(own) if url.startswith(f"{own}/") else ""
