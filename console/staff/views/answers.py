"""Answers of forms that could not do what they were sent for: what went wrong, with what was typed kept."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.urls import reverse

from console.errors import Conflict, Invalid, NotAccepted, StoreUnavailable, TableMissing, Throttled
from console.staff import oidc
from console.staff.cookies import delete_session_cookie

FAILURES = (Conflict, Invalid, StoreUnavailable, Throttled)


def answer(
    request: HttpRequest, template: str, context: dict[str, Any], error: Exception | None, status: int = HTTPStatus.OK
) -> HttpResponse:
    """A page that says what went wrong, with the status of it."""
    if isinstance(error, Invalid):
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    elif error is not None:
        status = getattr(error, "status", HTTPStatus.INTERNAL_SERVER_ERROR)
    response = render(request, template, context, status=status)
    if wait := getattr(error, "retry_after", 0):
        response.headers["Retry-After"] = str(wait)
    return response


def signed_out(request: HttpRequest, method: str) -> HttpResponse:
    """After a session's end: without its cookie, to the sign-in page, or to the provider's sign-out.

    `method` is how the session had begun, as `console.staff.authentication.sign_out` says it.
    """
    rotate_token(request)
    messages.success(request, "You are signed out.")
    response = HttpResponseRedirect(oidc.sign_out_destination(method) or reverse("sign-in"))
    delete_session_cookie(response)
    return response


def in_words(error: Exception) -> str:
    """What a form says of a failure. Raises the error itself where sending it again cannot help."""
    if isinstance(error, TableMissing | NotAccepted):
        raise error
    if isinstance(error, Throttled):
        return f"{error} Nothing was changed. Wait a few seconds, then send it again."
    if isinstance(error, StoreUnavailable):
        return f"{error} Whether this was done is not known: look at the account before you send it again."
    return str(error)
