"""Error pages and fragments (what happened, whether anything was lost, what to do now), and redacted error reports."""

from dataclasses import dataclass
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.debug import ExceptionReporter

from console.context import wants_fragment
from console.errors import ConsoleError, TableMissing
from console.instrumentation import current_request
from console.logs import without_secrets
from console.schema.tables import TABLES


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """The words of an error page."""

    status: int
    title: str
    text: str
    action: str = ""


PAGES: dict[int, ErrorPage] = {
    page.status: page
    for page in (
        ErrorPage(400, "Bad request", "Something in the address or form is wrong."),
        ErrorPage(401, "You are signed out", "Sign in again and repeat what you were doing. Nothing was changed."),
        ErrorPage(
            403,
            "This is not part of your role",
            "Your account is not allowed to do this. Nothing was changed.",
            "If you need access, ask an administrator.",
        ),
        ErrorPage(
            404,
            "Page not found",
            "The page does not exist, has expired, or belongs to a company outside your scope.",
        ),
        ErrorPage(405, "This address does not work that way", "The address exists, but not for this kind of request."),
        ErrorPage(
            409,
            "Somebody else changed this first",
            "What you saw has changed, so nothing was saved.",
            "Go back, check the current state and decide again.",
        ),
        ErrorPage(
            429,
            "The database is busy",
            "It refused the request because of its rate limits.",
            "Wait a few seconds and try again.",
        ),
        ErrorPage(
            500,
            "Something went wrong",
            "The error was logged.",
            "Try again. If it keeps happening, tell an administrator the reference below.",
        ),
        ErrorPage(
            503,
            "The database did not answer",
            "This page could not be loaded in time. Your data is not lost.",
            "Try again in a moment.",
        ),
    )
}
MISSING_TABLE = "This section is not available in this environment"


def render_error(request: HttpRequest, error: ConsoleError) -> HttpResponse:
    """Render a `ConsoleError` as a page or, for htmx, a fragment."""
    missing = isinstance(error, TableMissing)
    is_state = request.method in ("GET", "HEAD") and not wants_fragment(request) and _is_optional(error)
    status = 200 if is_state else error.status
    response = render_status(request, status, str(error), title=error.title, missing_table=missing)
    if response.status_code >= 400 and error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _is_optional(error: ConsoleError) -> bool:
    """Return whether the missing table is another service's: a deployment may lack it, so its pages are no failure."""
    spec = TABLES.get(error.table_key) if isinstance(error, TableMissing) else None
    return spec is not None and not spec.ours


def render_status(
    request: HttpRequest, status: int, detail: str = "", *, title: str = "", missing_table: bool = False
) -> HttpResponse:
    """Render a status as a page or, for htmx, a fragment. `detail` is a sentence for people, without personal data."""
    page = PAGES.get(status) or ErrorPage(status, HTTPStatus(status).phrase, "")
    as_fragment = wants_fragment(request)
    failed = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    observed = current_request() if failed else None
    context = {
        "error": ErrorPage(
            page.status,
            title or (MISSING_TABLE if missing_table else page.title),
            detail or page.text,
            _action(page, missing_table, title),
        ),
        "request_id": observed.id if observed else "",
    }
    template = "errors/_error.html" if as_fragment else "errors/error.html"
    response = render(request, template, context, status=status)
    if as_fragment:
        # A 409 would otherwise replace the row or panel that sent the request.
        response.headers["HX-Retarget"] = "#problem"
        response.headers["HX-Reswap"] = "innerHTML"
    return response


def _action(page: ErrorPage, missing_table: bool, title: str) -> str:
    if missing_table:
        return "The system page shows administrators what is missing."
    # An error with its own title has a text that says what to do.
    return "" if title else page.action


class RedactingReporter(ExceptionReporter):
    """Django's error report, for developers or mailed to administrators, with secrets masked."""

    def get_traceback_text(self) -> SafeString:
        """Return the report as plain text."""
        return SafeString(without_secrets(super().get_traceback_text()))  # plain text  # nosec B308 B703

    def get_traceback_html(self) -> SafeString:
        """Return the report as a page."""
        return SafeString(without_secrets(super().get_traceback_html()))  # escaped by Django  # nosec B308 B703
