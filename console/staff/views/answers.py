"""The answer after the end of one's own session."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import rotate_token
from django.urls import reverse

from console.staff import oidc
from console.staff.cookies import delete_session_cookie


def signed_out(request: HttpRequest, method: str) -> HttpResponse:
    """After a session's end: without its cookie, to the sign-in page, or to the provider's sign-out.

    `method` is how the session had begun, as `console.staff.authentication.sign_out` says it.
    """
    rotate_token(request)
    messages.success(request, "You are signed out.")
    response = HttpResponseRedirect(oidc.sign_out_destination(method) or reverse("sign-in"))
    delete_session_cookie(response)
    # What the browser keeps of pages and drafts goes too. Cookies stay: one tells a known browser from a guesser's.
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response
