"""A page with a form: show it, check what was posted, act, and say what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from console.access import StaffRequest
from console.answers import FAILURES, answer, describe_error
from console.errors import Invalid

FORM_METHODS = ["GET", "HEAD", "POST"]


@dataclass(frozen=True)
class FormPage:
    """A page with a form. `about` names what it changes, for messages; `back` is the URL to go to after success.

    `context` is the rest of the template's context.
    """

    template: str
    form: Any
    about: str
    back: str
    context: dict[str, Any]


def process_form(
    request: StaffRequest,
    page: FormPage,
    act: Callable[[], str],
    *,
    validates: bool = True,
    passing: tuple[type[Exception], ...] = (),
) -> HttpResponse:
    """Show a form page; on POST, run `act`, which returns the success message, or show why it failed.

    `validates`: `act` uses what was typed, so it only runs if that is valid. A failure is shown at the field that its
    `field` attribute names, and passed to the template as `refused`. The form keeps what was typed. Errors in `passing`
    and errors outside `FAILURES` are raised.
    """
    if request.method != "POST":
        return render(request, page.template, page.context | {"form": page.form})
    if validates and not page.form.is_valid():
        return answer(request, page.template, page.context | {"form": page.form}, Invalid())
    try:
        done = act()
    except passing:
        raise
    except FAILURES as error:
        page.form.add_error(getattr(error, "field", None), describe_error(error, page.about))
        # Build the context here: `act` may have changed it.
        return answer(request, page.template, page.context | {"form": page.form, "refused": error}, error)
    messages.success(request, done)
    return redirect(page.back)
