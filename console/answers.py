"""Responses to forms that failed, and to people who open the address of a form."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from console.errors import Conflict, Invalid, NotAccepted, StoreUnavailable, TableMissing, Throttled

FAILURES = (Conflict, Invalid, StoreUnavailable, Throttled)
View = Callable[..., HttpResponse]


@contextmanager
def fresh_version(context: dict[str, Any], read: Callable[[], int]) -> Iterator[None]:
    """Give the page of a form that lost a race the version that is there now, so that it can be sent again.

    `read` gives that version.
    """
    try:
        yield
    except Conflict:
        context["version"] = read()
        raise


def form_on(page: str, *arguments: str) -> Callable[[View], View]:
    """Declare that a view takes only a form that stands on the route `page`, given these of the view's arguments.

    A GET of the form's own address (from the address bar after a lost race, or by "back") redirects to that page and
    does nothing. Other methods are not allowed.
    """

    def declare(view: View) -> View:
        @require_http_methods(["GET", "HEAD", "POST"])
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method == "POST":
                return view(request, *args, **kwargs)
            there: HttpResponse = redirect(page, **{name: kwargs[name] for name in arguments})
            return there

        return guarded

    return declare


def answer(
    request: HttpRequest, template: str, context: dict[str, Any], error: Exception | None, status: int = HTTPStatus.OK
) -> HttpResponse:
    """Render a page that says what went wrong, with the status of the error."""
    if isinstance(error, Invalid):
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    elif error is not None:
        status = getattr(error, "status", HTTPStatus.INTERNAL_SERVER_ERROR)
    response = render(request, template, context, status=status)
    if wait := getattr(error, "retry_after", 0):
        response.headers["Retry-After"] = str(wait)
    return response


def describe_error(error: Exception, about: str) -> str:
    """Describe a failure in a form; `about` is what the form would change: "the account".

    Raises the error itself if sending the form again cannot help.
    """
    if isinstance(error, TableMissing | NotAccepted):
        raise error
    if isinstance(error, Throttled):
        return f"{error} Nothing was changed. Wait a few seconds, then send it again."
    if isinstance(error, StoreUnavailable):
        return f"{error} The console does not know whether this was done. Check {about} before you send it again."
    return str(error)
