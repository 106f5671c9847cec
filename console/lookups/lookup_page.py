"""The flow of a look-up page, shared by several views."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from django.http import HttpResponse
from django.shortcuts import redirect

from console.access import StaffRequest
from console.errors import NotFound
from console.forms import LookupForm, bind_lookup
from console.personal_searches import has_reason, personal_in, record_search

F = TypeVar("F", bound=LookupForm)


def answer_lookup(
    request: StaffRequest, kinds: Mapping[str, type[F]], lead: Callable[[F], str], show: Callable[..., HttpResponse]
) -> HttpResponse:
    """Answer a look-up page: GET shows the forms, POST redirects to the match.

    `lead` returns the URL of what a valid form finds, or raises `NotFound`. `show` renders the page: `show(None)`;
    `show(form)` with the form's errors; `show(form, nothing=the error)`; `show(None, status=400)`.
    People who cannot reveal personal data need a reason to search for it, and the search is recorded.
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
    typed = personal_in(form, staff)
    if typed and not has_reason(form):
        return show(form)

    def found() -> str | NotFound:
        try:
            return lead(form)
        except NotFound as nothing:
            return nothing

    where = record_search(typed, form, staff, found, lambda led: int(isinstance(led, str))) if typed else found()
    return redirect(where) if isinstance(where, str) else show(form, nothing=where)
