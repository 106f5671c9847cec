"""The flow of a look-up page, shared by several views."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from django.http import HttpResponse
from django.shortcuts import redirect

from console.access import StaffRequest
from console.errors import Invalid, NotFound
from console.forms import LookupForm, bind_lookup
from console.lookups.personal_searches import has_reason, personal_in, record_search

F = TypeVar("F", bound=LookupForm)


def answer_lookup(
    request: StaffRequest, kinds: Mapping[str, type[F]], lead: Callable[[F], str], show: Callable[..., HttpResponse]
) -> HttpResponse:
    """Answer a look-up page: GET shows the forms, POST redirects to the match.

    `lead` returns the URL of what a valid form finds; it raises `NotFound`, or `Invalid` if the form's text could mean
    several. `show` renders the page: `show(None)`;
    `show(form)` with the form's errors; `show(form, nothing=the error)`; `show(None, status=400)`.
    A search for personal data is recorded; people who cannot reveal it need a reason.
    """
    if request.method != "POST":
        return show(None)
    kind = kinds.get(request.POST.get("look", ""))
    if kind is None:
        return show(None, status=400)
    staff = request.staff
    form = bind_lookup(kind, request.POST, staff)
    if not form.is_valid():
        return show(form)
    typed = personal_in(form)
    if typed and not has_reason(form, staff):
        return show(form)

    def found() -> str | NotFound | Invalid:
        try:
            return lead(form)
        except (NotFound, Invalid) as error:
            return error

    where = record_search(typed, form, staff, found, lambda led: int(isinstance(led, str))) if typed else found()
    if isinstance(where, Invalid):
        form.add_error(None, str(where))
        return show(form)
    return redirect(where) if isinstance(where, str) else show(form, nothing=where)
