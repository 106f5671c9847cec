"""Decorators that declare who may call a view; `console.middleware` refuses a route that declares nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse

from console.permissions import Permission, Staff

View = TypeVar("View", bound=Callable[..., Any])


class StaffRequest(HttpRequest):
    """A request that passed the access guard; `staff` is the person who sent it."""

    staff: Staff


def requires(*permissions: Permission) -> Callable[[View], View]:
    """Declare that a view needs a signed-in member of staff whose role has at least one of these permissions."""

    def declare(view: View) -> View:
        view.required_permissions = frozenset(permissions)  # type: ignore[attr-defined]
        return view

    return declare


def signed_in(view: View) -> View:
    """Declare that a view is for every signed-in member of staff."""
    view.required_permissions = frozenset()  # type: ignore[attr-defined]
    return view


def sets_up_second_factor(view: View) -> View:
    """Declare that a view is available before a required second factor is set up, as no other view is."""
    view.sets_up_second_factor = True  # type: ignore[attr-defined]
    return view


def public(view: View) -> View:
    """Declare that a view is for everyone, signed in or not."""
    view.is_public = True  # type: ignore[attr-defined]
    return view


def not_for_prefetch(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Refuse prefetches: opening a conversation is recorded, so it must be a person's own action."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        purpose = request.headers.get("Sec-Purpose", "") + request.headers.get("Purpose", "")
        if "prefetch" in purpose.lower() or "prerender" in purpose.lower():
            # An error, because a browser would show an empty success once the person follows the link.
            return HttpResponse(status=503)
        return view(request, *args, **kwargs)

    return guarded
