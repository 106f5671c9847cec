"""Sign-in links of the demo, one for each role and a second agent. They work only here, until its key changes."""

from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import rotate_token
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from django.views.decorators.http import require_safe

from console.access import public
from console.staff import authentication
from console.staff.authentication import SignedIn
from console.staff.cookies import set_session_cookie
from console.staff.views.visits import visit_of
from demo.staff import PASSWORD, SIGN_INS

_LOOPBACK = ("127.0.0.1", "::1")


def link(role: str) -> str:
    """Return the path of a role's link. Its code prevents other web pages from signing somebody in."""
    return reverse("demo-sign-in", args=(role, _code(role)))


@public
@require_safe
def sign_in(request: HttpRequest, role: str, code: str) -> HttpResponse:
    """Sign in as the person with a role; redirect to the sign-in form if the password was changed."""
    if request.META["REMOTE_ADDR"] not in _LOOPBACK or not constant_time_compare(code, _code(role)):
        raise Http404
    username = SIGN_INS[role]
    outcome = authentication.sign_in(username, PASSWORD, visit_of(request, username))
    if not isinstance(outcome, SignedIn):
        return redirect("sign-in")
    rotate_token(request)
    response = redirect("home")
    set_session_cookie(response, outcome.token)
    return response


def _code(role: str) -> str:
    return salted_hmac("demo sign-in", role, algorithm="sha256").hexdigest()[:16]
