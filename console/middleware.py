"""Middleware: request ids and log lines, headers, the DynamoDB budget, error pages, and the access guard.

The guard refuses every view that does not declare who may call it (see `console.access`). Uploaded files are dropped.
"""

import logging
import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, tzinfo
from http import HTTPStatus
from typing import IO, Any, NoReturn, cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseFileResponse

from console import health, instrumentation
from console.access import StaffRequest
from console.context import wants_fragment
from console.error_pages import render_error, render_status
from console.errors import ConsoleError, Forbidden
from console.instrumentation import STATIC, UNMATCHED, ObservedRequest, answering, current_request
from console.logs import NOTHING_TO_MASK
from console.permissions import Staff
from console.staff import sessions
from console.staff.authentication import record_denial
from console.staff.cookies import delete_session_cookie
from console.staff.destinations import safe_destination
from console.store.calls import RequestCost, budget, recent_costs
from console.telemetry import exposition

request_log = logging.getLogger("console.request")

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# Requests that a page sends by itself carry this header and do not keep a session alive.
POLL_HEADER = "X-Poll"
# Identifies a request in the log and in its response.
REQUEST_ID_HEADER = "X-Request-ID"
# The formats of proxies such as nginx and Envoy; no phone number or address looks like this.
_REQUEST_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
# Polled by machines every few seconds.
UNOBSERVED = frozenset({"/healthz", "/readyz", "/metrics"})
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


def observed(get_response: GetResponse) -> GetResponse:
    """Give each request an id, return it in a response header, and log and count the response."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info in UNOBSERVED:
            return get_response(request)
        started = time.perf_counter()
        current = ObservedRequest(_request_id(request), request)
        with answering(current):
            response = get_response(request)
            response.headers[REQUEST_ID_HEADER] = current.id
            _note_answer(current, response, time.perf_counter() - started)
        return response

    return middleware


def _request_id(request: HttpRequest) -> str:
    """Return the id that our own proxy set, or a new one: an id from anybody else must not reach the log."""
    given = request.headers.get(REQUEST_ID_HEADER, "") if settings.TRUSTED_PROXIES else ""
    return given.lower() if _REQUEST_ID.fullmatch(given) else secrets.token_hex(16)


def _note_answer(current: ObservedRequest, response: HttpResponseBase, seconds: float) -> None:
    request, status = current.request, response.status_code
    route = STATIC if isinstance(response, WhiteNoiseFileResponse) else current.route
    method = request.method or ""
    is_late = current.spent is not None and current.spent.is_missed
    instrumentation.count_request(route, method, status, seconds, is_late=is_late)
    calls = [] if current.spent is None else current.spent.calls
    units, store_ms = sum(each.units for each in calls), sum(each.ms for each in calls)
    if calls and route != UNMATCHED:
        recent_costs.append(RequestCost(f"{method} {route}", len(calls), units, store_ms, total_ms=seconds * 1000))
    if not request_log.isEnabledFor(logging.INFO):
        return
    staff = getattr(request, "staff", None)
    log_fields: dict[str, Any] = {
        "method": method if method in instrumentation.METHODS else "OTHER",
        "route": route,
        "role": staff.role.value if staff is not None else "",
        "status": status,
        "ms": round(seconds * 1000, 1),
        "dynamodb_calls": len(calls),
        "dynamodb_units": round(units, 1),
        "dynamodb_ms": round(store_ms, 1),
        "retries": sum(each.retries for each in calls),
        "throttles": sum(each.throttles for each in calls),
        "deadline_missed": is_late,
        # Not `wants_fragment`: every request is logged, also one that django-htmx has not seen.
        "htmx": bool(getattr(request, "htmx", False)),
        "poll": POLL_HEADER in request.headers,
    }
    said = (log_fields["method"], route, status, log_fields["ms"], len(calls))
    request_log.info("%s %s %d in %s ms, %d calls of DynamoDB", *said, extra=log_fields | {NOTHING_TO_MASK: True})


def probes(get_response: GetResponse) -> GetResponse:
    """Answer probes and metrics scrapes, which come by IP address, over http, with any Host header.

    This precedes every middleware that checks the Host; SECURE_REDIRECT_EXEMPT exempts them from the redirect to https.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path_info == "/healthz":
            return health.alive(request)
        if request.path_info == "/readyz":
            return health.ready(request)
        if request.path_info == "/metrics" and settings.METRICS_TOKEN:
            return exposition.answer(request)
        return get_response(request)

    return middleware


def response_headers(get_response: GetResponse) -> GetResponse:
    """Set the headers of every response: pages, refusals by inner middleware, probes and static files."""

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


class NoFiles(FileUploadHandler):
    """Drops every file of a multipart form: no form of the console takes files.

    Django's own handlers write files of any length to disk, before the CSRF check and for any sender.
    """

    def handle_raw_input(
        self,
        input_data: IO[bytes],
        META: dict[str, Any],  # noqa: N803 Django passes it by this name
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """Raise `RequestDataTooBig`, before reading anything, for a body longer than other forms may be."""
        if content_length > (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0):
            raise RequestDataTooBig

    def new_file(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Skip the file."""
        raise SkipFile

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """Discard the data."""

    def file_complete(self, file_size: int) -> None:
        """Return no file."""


class RequestBudgetMiddleware:
    """Gives each request one deadline for all its DynamoDB calls, and renders the console's errors."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Run the request inside its budget."""
        with budget(settings.REQUEST_DEADLINE_SECONDS) as spent:
            if (observed := current_request()) is not None:
                observed.spent = spent
            try:
                response = self.get_response(request)
            except ConsoleError as error:
                response = render_error(request, error)
            if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not getattr(response, "content", b""):
                allowed = response.headers.get("Allow", "")
                response = render_status(request, HTTPStatus.METHOD_NOT_ALLOWED)
                response.headers["Allow"] = allowed
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Render the console's errors; Django handles all others (a 500 page)."""
        return render_error(request, error) if isinstance(error, ConsoleError) else None


class StaffMiddleware:
    """Sets `request.staff` (None on public pages, which need no read), and refuses requests that a view forbids."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Start without a person; deactivate the time zone that `process_view` may have set."""
        cast(Any, request).staff = None
        try:
            return self.get_response(request)
        finally:
            timezone.deactivate()

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any
    ) -> HttpResponseBase | None:
        """Let the request through to the view, or refuse it."""
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
                return _redirect_to_second_factor(request)
            if permissions and not any(staff.can(permission) for permission in permissions):
                _note_denial(request, staff)
                raise Forbidden
        except ConsoleError as error:
            # Django turns an exception raised here into a bare 500; only views' exceptions reach the other middleware.
            return render_error(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Record refusals raised by a view or service; the outer middleware renders them."""
        staff: Staff | None = getattr(request, "staff", None)
        if isinstance(error, Forbidden) and staff is not None:
            _note_denial(request, staff)
        return None


def _zone(staff: Staff) -> tzinfo:
    """Return the person's time zone; UTC if this machine does not know it."""
    try:
        return ZoneInfo(staff.time_zone)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return UTC


def _note_denial(request: HttpRequest, staff: Staff) -> None:
    match = request.resolver_match
    needed = getattr(match.func, "required_permissions", ()) if match else ()
    # If the role may open the view, the view refused for a reason of its own.
    lacking = () if any(staff.can(each) for each in needed) else needed
    record_denial(staff, match.route if match else "", request.method or "", lacking)


def _ask_to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Redirect a GET to the sign-in page and back; answer any other method with a page that says you are signed out."""
    response: HttpResponse
    htmx: Any = getattr(request, "htmx", None)
    if htmx:
        response = HttpResponse(status=HTTPStatus.UNAUTHORIZED)
        response.headers["HX-Redirect"] = sign_in_url(request, _own_path(request, htmx.current_url or ""))
    elif request.method in ("GET", "HEAD"):
        response = HttpResponseRedirect(sign_in_url(request, request.get_full_path()))
    else:
        url = sign_in_url(request, _own_path(request, request.headers.get("Referer", "")))
        response = render(request, "staff/signed_out.html", {"sign_in_url": url}, status=HTTPStatus.UNAUTHORIZED)
    # A poll may be answered after the browser got the cookie of a new session: keep that cookie.
    if settings.SESSION_COOKIE_NAME in request.COOKIES and POLL_HEADER not in request.headers:
        delete_session_cookie(response)
    return response


def _redirect_to_second_factor(request: HttpRequest) -> HttpResponseBase:
    """Redirect to the page that sets up the required second factor."""
    if wants_fragment(request):
        response = HttpResponse(status=HTTPStatus.FORBIDDEN)
        response.headers["HX-Redirect"] = reverse("account-second-factor")
        return response
    return HttpResponseRedirect(reverse("account-second-factor"))


def sign_in_url(request: HttpRequest, destination: str) -> str:
    """Return the URL of the sign-in page, which continues to `destination` if that is a path of this console."""
    path = safe_destination(destination)
    return reverse("sign-in") + (f"?{urlencode({'next': path})}" if path else "")


def _own_path(request: HttpRequest, url: str) -> str:
    """Return the path and query of a URL from a header, or "" if it is not this console's; the header may be junk."""
    own = f"{request.scheme}://{request.get_host()}"
    return url.removeprefix(own) if url.startswith(f"{own}/") else ""
