"""Routes for the tests of the guard: sign-in beside one view of every kind."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from console.access import StaffRequest, public, requires, signed_in
from console.errors import Forbidden
from console.permissions import Permission


@signed_in
def clock(request: StaffRequest) -> HttpResponse:
    return HttpResponse(timezone.get_current_timezone_name())


@public
def public_clock(request: HttpRequest) -> HttpResponse:
    return HttpResponse(timezone.get_current_timezone_name())


@signed_in
def home(request: StaffRequest) -> HttpResponse:
    return HttpResponse(f"home of {request.staff.username}")


@requires(Permission.HAND_OFF, Permission.STAFF_MANAGE)
@require_http_methods(["GET", "POST"])
def queue(request: StaffRequest) -> HttpResponse:
    return HttpResponse(f"queue of {request.staff.username}")


@requires(Permission.SYSTEM_READ)
def system(request: StaffRequest) -> HttpResponse:
    return HttpResponse("system")


@public
def about(request: StaffRequest) -> HttpResponse:
    return HttpResponse(f"staff: {request.staff}")


def undeclared(request: HttpRequest) -> HttpResponse:
    return HttpResponse("should never be seen")


@signed_in
def refused_inside(request: StaffRequest, ref: str) -> HttpResponse:
    raise Forbidden


urlpatterns = [
    path("", home, name="home"),
    path("queue/", queue, name="queue"),
    path("system/", system, name="system"),
    path("clock/", clock, name="clock"),
    path("public-clock/", public_clock, name="public-clock"),
    path("about/", about, name="about"),
    path("undeclared/", undeclared, name="undeclared"),
    path("refused-inside/<str:ref>/", refused_inside, name="refused-inside"),
    # Every page links to the sections.
    path("", include("console.urls")),
]
