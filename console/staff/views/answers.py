"""The response after the end of a person's own session."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect

from console.staff import sessions
from console.staff.cookies import delete_session_cookie


def signed_out(request: HttpRequest, method: str) -> HttpResponse:
    """Delete the session's cookie and redirect to the sign-in page, or to the provider's sign-out.

    `method` is how the session began, as returned by `console.staff.authentication.sign_out`.
    """
    rotate_token(request)
    messages.success(request, "You are signed out.")
    response = redirect("oidc-sign-out" if method == sessions.COMPANY_SIGN_IN else "sign-in")
    delete_session_cookie(response)
    # Also clear pages and drafts from the browser. Cookies stay: one marks it as a known browser.
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response
