"""A page with a form: show it, check what was posted, act, and say what came of it.

A form that changes a stored item (`EditedItem`) carries the version it was opened with and a digest of each value. If
the item changed meanwhile, the fields that the person did not touch take what is stored, and the page lists the rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render

from console.access import StaffRequest
from console.answers import FAILURES, answer, describe_error
from console.errors import Conflict, Invalid
from console.refs import is_digest_of, keyed_digest
from console.staff.colleagues import name_of
from console.trail.items import ItemChanged, ItemGone, VersionedItem

FORM_METHODS = ["GET", "HEAD", "POST"]
_DIGEST = 12
_OWN = "you, in another window"


@dataclass(frozen=True)
class StoredForm:
    """What is stored of the item that a form changes: the `values` of its fields, and the username of who stored it."""

    version: int
    values: dict[str, Any]
    by: str = ""

    @classmethod
    def of(cls, item: VersionedItem, values: dict[str, Any]) -> "StoredForm":
        """Return what is stored of an item."""
        return cls(item.version, values, item.updated_by)


@dataclass(frozen=True)
class EditedItem:
    """The item that a form changes, as this request read it (`seen`; None if it was deleted, or not read).

    `what` names it ("this group"); `read` returns it as it is stored now. `add_anew` returns what the template needs
    for a form that adds the item again after somebody deleted it.
    """

    what: str
    seen: StoredForm | None
    read: Callable[[], StoredForm | None]
    add_anew: Callable[[], dict[str, Any]] = dict


@dataclass(frozen=True)
class FormPage:
    """A page with a form. `about` names what it changes, for messages; `back` is the URL to go to after success.

    `context` is the rest of the template's context; `edits` the stored item that the form changes, if any.
    """

    template: str
    form: Any
    about: str
    back: str
    context: dict[str, Any]
    edits: EditedItem | None = None


@dataclass(frozen=True)
class FormDifference:
    """A field that differs from what is stored now. `by` says who changed it, "" if unknown.

    `is_taken`: the person had not changed it, so the form took what is stored.
    """

    label: str
    stored: str
    typed: str
    by: str = ""
    is_taken: bool = False


@dataclass(frozen=True)
class StaleForm:
    """Why a form was not saved: the item changed since it was opened."""

    title: str
    text: str
    differences: list[FormDifference] = field(default_factory=list)


def process_form(
    request: StaffRequest,
    page: FormPage,
    act: Callable[[], str],
    *,
    validates: bool = True,
    passing: tuple[type[Exception], ...] = (),
) -> HttpResponse:
    """Show a form page; on POST, run `act`, which returns the success message, or show why it failed.

    `validates`: `act` uses what was typed, so it only runs if that is valid; without, it deletes the item. A failure is
    shown at the field that its `field` attribute names, and passed to the template as `refused`. The form keeps what
    was typed. Errors in `passing` and errors outside `FAILURES` are raised.
    """
    context = page.context | {"form": page.form} | _version_context(request, page)
    if request.method != "POST":
        return render(request, page.template, context)
    if validates and not page.form.is_valid():
        return answer(request, page.template, context, Invalid())
    try:
        done = act()
    except passing:
        raise
    except (ItemChanged, ItemGone) as error:
        if page.edits is None or getattr(error, "field", None):
            return _refuse(request, page, context, error)
        return _answer_stale(request, page, context, error, deletes=not validates)
    except FAILURES as error:
        return _refuse(request, page, context, error)
    messages.success(request, done)
    return redirect(page.back)


def _refuse(request: StaffRequest, page: FormPage, context: dict[str, Any], error: Exception) -> HttpResponse:
    if isinstance(error, ItemGone):
        raise error
    page.form.add_error(getattr(error, "field", None), describe_error(error, page.about))
    # `act` may have changed the page's context.
    return answer(request, page.template, context | page.context | {"refused": error}, error)


# --- An item that changed meanwhile -----------------------------------------------------------------------------------


def _version_context(request: StaffRequest, page: FormPage) -> dict[str, Any]:
    """Return what the form carries (components/_version.html): as it was posted, else as it is opened now."""
    if page.edits is None:
        return {}
    if request.method == "POST":
        return {name: request.POST.get(name, "") for name in ("version", "opened")}
    return _carry(page.form, page.edits.seen)


def _carry(form: forms.BaseForm, seen: StoredForm | None) -> dict[str, Any]:
    if seen is None:
        return {}
    digests = (
        f"{name}:{keyed_digest(_plain(each, seen.values.get(name)))[:_DIGEST]}" for name, each in form.fields.items()
    )
    return {"version": seen.version, "opened": " ".join(digests)}


def _answer_stale(
    request: StaffRequest, page: FormPage, context: dict[str, Any], error: Exception, *, deletes: bool
) -> HttpResponse:
    """Show the form next to what is stored now; if the item was deleted, as a form that adds it anew."""
    assert page.edits is not None  # nosec B101: for the type checker
    what, now = page.edits.what, page.edits.read()
    if now is None:
        title = f"Somebody deleted {what} in the meantime."
        stale = StaleForm(title, "The form still holds what you typed: add it as a new one, or cancel.")
        return answer(
            request, page.template, context | {"stale": stale, "is_gone": True} | page.edits.add_anew(), Conflict()
        )
    is_own = now.by == request.staff.username
    title = f"{name_of(now.by) or 'Somebody else'} changed {what} in the meantime."
    if is_own:
        title = f"You changed {what} in another window."
    if deletes:
        page.form.data = _fill(QueryDict(mutable=True), page.form, now.values)
        stale = StaleForm(title, "Nothing was changed. The form shows what is stored now: check it, then do it again.")
    else:
        is_only_change = request.POST.get("version", "") == str(now.version - 1)
        other = _OWN if is_own else (is_only_change and name_of(now.by)) or "someone else"
        stale = StaleForm(title, *_merge(page.form, request.POST.get("opened", ""), now, other))
    page.form.full_clean()
    return answer(request, page.template, context | _carry(page.form, now) | {"stale": stale}, error)


def list_differences(form: Any, stored: Mapping[str, Any]) -> list[FormDifference]:
    """Return the fields of a posted form that differ from what is stored, in order. Nobody knows who changed them."""
    return _merge(form, "", StoredForm(0, dict(stored)), "")[1]


def _merge(form: Any, opened: str, now: StoredForm, other: str) -> tuple[str, list[FormDifference]]:
    """Let untouched fields take what is stored; return what to do, and the fields that differ, in order.

    `other` names who changed what is stored.
    """
    was = dict(each.split(":", 1) for each in opened.split() if ":" in each)
    both = "you, in both windows" if other == _OWN else f"{other} and you"
    found, taken = [], {}
    for name, each in form.fields.items():
        stored, typed = now.values.get(name), form[name].value()
        texts = _plain(each, stored), _plain(each, typed)
        if texts[0] == texts[1]:
            continue
        by_other, by_you = (name in was and not is_digest_of(was[name], text) for text in texts)
        by = both if by_other and by_you else other if by_other else "you" if by_you else ""
        is_taken = by_other and not by_you
        if is_taken:
            taken[name] = typed = stored
        label = str(form[name].label)
        found.append(FormDifference(label, _in_words(each, stored), _in_words(each, typed), by, is_taken))
    form.data = _fill(form.data.copy(), form, taken)
    kept = "Fields you had not changed now hold what is stored. " if taken else ""
    return f"Your changes were not saved yet. {kept}Check the form, then save it, or cancel.", found


def _fill(data: QueryDict, form: Any, values: Mapping[str, Any]) -> QueryDict:
    """Put values into a form's data, as a browser sends them."""
    for name, value in values.items():
        if value is False:
            data.pop(name, None)
        else:
            texts = value if isinstance(value, list) else ["on" if value is True else "" if value is None else value]
            data.setlist(name, list(map(str, texts)))
    return data


def _plain(of: forms.Field, value: Any) -> str:
    """Return a field's value as text that is the same however it was typed."""
    try:
        value = of.to_python(value)
    except ValidationError:
        value = str(value)
    if isinstance(value, list):
        return repr(sorted(map(str, value)))
    if isinstance(value, Decimal):
        value = value.normalize()
    return "" if value is None or value is False else str(value).replace("\r\n", "\n")


def _in_words(of: forms.Field, value: Any) -> str:
    """Return a field's value as the comparison shows it; "" for none."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    labels = {str(key): str(label) for key, label in getattr(of, "choices", ())}
    values = value if isinstance(value, list) else [value]
    return ", ".join(labels.get(str(each), str(each)) for each in values if each not in (None, ""))
