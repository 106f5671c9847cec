"""What a posted form carries; responses to failed forms, and to a GET of an address that only takes forms."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_http_methods

from console.errors import BadReference, Conflict, Invalid, NotAccepted, StoreUnavailable, TableMissing, Throttled

FAILURES = (Conflict, Invalid, StoreUnavailable, Throttled)
View = Callable[..., HttpResponseBase]


def posted_version(request: HttpRequest) -> int:
    """Return the stored version that the form was made from. Raises `BadReference` if the form carries none."""
    try:
        return int(request.POST.get("version", ""))
    except ValueError as error:
        raise BadReference from error


def posted_text(request: HttpRequest, name: str) -> str:
    """Return a text field with CRLF as LF, as the limits count it."""
    return request.POST.get(name, "").replace("\r\n", "\n").strip()


def post_only_form(page: str, *arguments: str) -> Callable[[View], View]:
    """Accept only POST of the form shown on the route `page`, whose `arguments` are taken from the view's own.

    A GET of the form's own address (typed after a conflict, or by "back") redirects to that page and changes nothing.
    Other methods are not allowed.
    """

    def declare(view: View) -> View:
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST":
                return view(request, *args, **kwargs)
            there: HttpResponseBase = redirect(page, **{name: kwargs[name] for name in arguments})
            return there

        return guarded

    return declare


def answer(
    request: HttpRequest, template: str, context: dict[str, Any], error: Exception | None, status: int = HTTPStatus.OK
) -> HttpResponse:
    """Render a page; with an `error`, use that error's status and `Retry-After`."""
    if isinstance(error, Invalid):
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    elif error is not None:
        status = getattr(error, "status", HTTPStatus.INTERNAL_SERVER_ERROR)
    response = render(request, template, context, status=status)
    if wait := getattr(error, "retry_after", 0):
        response.headers["Retry-After"] = str(wait)
    return response


def describe_error(error: Exception, about: str) -> str:
    """Return the message for a form that failed; `about` names what the form changes, such as "the account".

    Raises the error again if sending the form again cannot help.
    """
    if isinstance(error, TableMissing | NotAccepted):
        raise error
    if isinstance(error, Throttled):
        return f"{error} Nothing was changed. Wait a few seconds, then send it again."
    if isinstance(error, StoreUnavailable):
        return f"{error} The console does not know whether this was done. Check {about} before you send it again."
    return str(error)


def url_or_empty(name: str, *args: str) -> str:
    """Return a URL, or "" for ids that no URL can carry (foreign writers may use any character)."""
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return ""
