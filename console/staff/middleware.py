"""The guard of every route: nobody gets in unless the view says who may (see `console.staff.access`)."""

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

from console.error_pages import render_error
from console.errors import ConsoleError, Forbidden
from console.staff import sessions
from console.staff.access import StaffRequest
from console.staff.authentication import record_denial
from console.staff.cookies import delete_session_cookie, session_token
from console.staff.destinations import safe_destination
from console.staff.permissions import Staff

GetResponse = Callable[[HttpRequest], HttpResponseBase]
# What a page asks by itself carries this header, and does not keep a session alive.
POLL_HEADER = "X-Poll"


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
                raise Forbidden("This page is closed: it does not say who may open it.")
            staff = sessions.authenticate_request(
                session_token(request), is_activity=POLL_HEADER not in request.headers
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
