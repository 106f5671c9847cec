"""The flow of a page of look-ups, which several views have."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from console.errors import NotFound
from console.forms import LookupForm, bind_lookup

F = TypeVar("F", bound=LookupForm)


def answer_lookup(
    request: HttpRequest, kinds: Mapping[str, type[F]], lead: Callable[[F], str], show: Callable[..., HttpResponse]
) -> HttpResponse:
    """A page of look-ups: GET shows them, POST leads to what was found.

    `lead` gives the address of what a valid form finds, and raises `NotFound` for nothing. `show` makes the page:
    `show(None)`; `show(form)` with what is wrong; `show(form, nothing=the error)`; `show(None, status=400)`.
    """
    if request.method != "POST":
        return show(None)
    kind = kinds.get(request.POST.get("look", ""))
    if kind is None:
        return show(None, status=400)
    form = bind_lookup(kind, request.POST)
    if not form.is_valid():
        return show(form)
    try:
        return redirect(lead(form))
    except NotFound as nothing:
        return show(form, nothing=nothing)
