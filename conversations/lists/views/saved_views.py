"""`/views/`: saved views of the queue and of lists of conversations, and the menu that those pages show."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import posted_version
from console.context import list_crumbs, read_only_reason
from console.errors import ConsoleError, NotFound
from console.form_pages import FORM_METHODS, EditedItem, FormPage, StoredForm, process_form
from console.permissions import FOR_ALL, Owner, OwnerKind, Permission, Staff
from console.trail.items import ItemGone
from console.trees import isolated
from conversations.companies import names_for
from conversations.lists.saved_views import records, service
from conversations.lists.saved_views.records import (
    NEEDED,
    FilteredList,
    SavedView,
    address_of,
    describe,
    is_narrowed,
    known_filters,
    may_write,
)
from conversations.queue.form import QueueForm

# Views that are shown as links next to the menu of all.
AT_HAND = 3
_ABOUT = "the views"
_LABELS = {FilteredList.QUEUE: "Queue", FilteredList.CONVERSATIONS: "Conversations"}


class ViewNameForm(forms.Form):
    """The name of a view."""

    name = forms.CharField(
        max_length=records.LONGEST_NAME,
        error_messages={"required": "Enter a name."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )


class SaveViewForm(ViewNameForm):
    """A view's name and, for leads, its audience. `others` describes who it can be shared with; "" for nobody."""

    audience = forms.ChoiceField(label="For", widget=forms.RadioSelect, required=False, initial="me")

    def __init__(self, data: Any, others: str) -> None:
        super().__init__(data, auto_id="view_%s")
        if others:
            self.fields["audience"].choices = [("me", "Only me"), ("others", others)]  # type: ignore[attr-defined]
        else:
            del self.fields["audience"]

    @property
    def is_shared(self) -> bool:
        """Whether the view is shared with others."""
        return self.cleaned_data.get("audience") == "others"


# --- Next to a list ---------------------------------------------------------------------------------------------------


def menu_of(
    staff: Staff, of: FilteredList, names: Mapping[str, str], here: Mapping[str, str], company_id: str = ""
) -> dict[str, Any]:
    """Return the context of saved_views/_menu.html: the views a person can open, own ones first, and a form to save
    the filters `here`.

    `names`: companies in scope by id; `company_id`: only views of that company. At most two Queries, one of them
    cached. If reading fails, the links are missing.
    """
    here = known_filters(of, here)
    kept = _with_only_company(of, here, names, staff)
    try:
        found = [each for each in records.views_for(staff) if each.of is of and each.url]
    except ConsoleError:
        found = []
    rows = [
        _row(each, names, is_current=dict(each.filters) in (here, kept))
        for each in found
        if company_id in ("", each.company_id)
    ]
    can_save = is_narrowed(of, here) and not read_only_reason()
    return {
        "views": rows,
        "at_hand": _at_hand(rows),
        "form": SaveViewForm(None, _others(kept, names, staff)) if can_save else None,
        "save_url": reverse("saved-view-new", query={"list": of.value} | here) if can_save else "",
    }


def _at_hand(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first rows, and the current one if it is not among them."""
    first, others = rows[:AT_HAND], rows[AT_HAND:]
    if any(row["is_current"] for row in first):
        return first
    return [*first, *[row for row in others if row["is_current"]][:1]]


def queue_menu(form: QueueForm, names: Mapping[str, str], staff: Staff) -> dict[str, Any]:
    """Return the menu of the queue for a form's filters; see `menu_of`."""
    return menu_of(staff, FilteredList.QUEUE, names, {"tab": form.chosen_tab} | form.values())


def _row(view: SavedView, names: Mapping[str, str], *, is_current: bool = False) -> dict[str, Any]:
    owner, company = view.owner, names.get(view.owner.id, view.owner.id)
    whose = {OwnerKind.STAFF: "", OwnerKind.ALL: "everybody"}.get(owner.kind, company)
    shows = [_LABELS[view.of], *describe(dict(view.filters), names), *([f"for {whose}"] if whose else [])]
    return {
        "view": view,
        "url": view.url,
        "name": view.name,
        "whose": whose,
        "shows": shows,
        "is_current": is_current,
    }


def _with_only_company(
    of: FilteredList, filters: dict[str, str], names: Mapping[str, str], staff: Staff
) -> dict[str, str]:
    """Add the company to filters without one if it is the only company in scope."""
    if "company" in filters or staff.scope.everything or len(names) != 1:
        return filters
    return known_filters(of, filters | {"company": next(iter(names))})


def _others(filters: Mapping[str, str], names: Mapping[str, str], staff: Staff) -> str:
    """Describe who a person can share a view with these filters with; "" for nobody."""
    company_id = filters.get("company", "")
    owner = Owner(OwnerKind.COMPANY, company_id) if company_id else FOR_ALL
    if not may_write(owner, staff):
        return ""
    return f"Everybody who sees {isolated(names.get(company_id, company_id))}" if company_id else "Everybody"


# --- Pages ------------------------------------------------------------------------------------------------------------


@requires(Permission.CONVERSATION_READ)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List the views a person sees, with what each shows. At most two Queries, and the names of companies."""
    staff, names = request.staff, names_for(request.staff)
    can_write = not read_only_reason()
    rows = []
    for each in records.views_for(staff):
        may_change = can_write and may_write(each.owner, staff)
        change_url = reverse("saved-view-change", args=[each.reference]) if may_change else ""
        rows.append(_row(each, names) | {"change_url": change_url})
    return render(request, "saved_views/index.html", {"rows": rows, "lists": _lists(staff)})


def _lists(staff: Staff) -> list[tuple[str, str]]:
    """Return label and URL of each list that the person can save views of."""
    return [(_LABELS[of], reverse(of.value)) for of, needed in NEEDED.items() if staff.can(needed)]


@requires(Permission.CONVERSATION_READ)
@require_http_methods(FORM_METHODS)
def new(request: StaffRequest) -> HttpResponse:
    """Save the filters of a URL as a view. GET: `list`, and the filters in that list's own parameters."""
    staff = request.staff
    try:
        of = FilteredList(request.GET.get("list", ""))
    except ValueError as error:
        raise NotFound from error
    staff.require(NEEDED[of])
    names = names_for(staff)
    filters = _with_only_company(of, known_filters(of, request.GET), names, staff)
    company_id = filters.get("company", "")
    if company_id and not staff.scope.covers_company(company_id):
        raise NotFound
    form = SaveViewForm(request.POST if request.method == "POST" else None, _others(filters, names, staff))
    back = address_of(of, filters)

    def act() -> str:
        name = form.cleaned_data["name"]
        service.save(name, of, filters, staff, shared=form.is_shared)
        return "The view is saved for everybody who may see it." if form.is_shared else "The view is saved."

    context = {
        "back": back,
        "save_url": request.get_full_path(),
        "shows": [_LABELS[of], *describe(filters, names)],
        "crumbs": _crumbs("Save this view"),
    }
    return process_form(request, FormPage("saved_views/new.html", form, _ABOUT, back, context), act)


@requires(Permission.CONVERSATION_READ)
@require_http_methods(FORM_METHODS)
def change(request: StaffRequest, ref: str) -> HttpResponse:
    """Rename or delete a view. A form sent twice acts once; after a lost race the form keeps what was typed."""
    staff, back = request.staff, reverse("saved-views")
    try:
        view = records.load(ref, staff)
    except ItemGone as gone:
        if request.method != "POST":
            raise
        messages.info(request, str(gone))
        return redirect(back)
    names = names_for(staff)
    form = ViewNameForm(request.POST if request.method == "POST" else None, initial={"name": view.name})
    deletes = "delete" in request.POST
    context = _row(view, names) | {"back": back, "crumbs": _crumbs("Change a view")}

    def act() -> str:
        if deletes:
            service.delete(view, posted_version(request), staff)
            return "The view is deleted."
        service.rename(view, form.cleaned_data["name"], posted_version(request), staff)
        return "The view is renamed."

    edits = EditedItem("this view", _stored_form(view), lambda: _stored_form(records.load(ref, staff)))
    page = FormPage("saved_views/change.html", form, _ABOUT, back, context, edits)
    return process_form(request, page, act, validates=not deletes)


def _stored_form(view: SavedView) -> StoredForm:
    return StoredForm(view.version, {"name": view.name}, view.updated_by)


def _crumbs(here: str) -> list[dict[str, str]]:
    return list_crumbs(("Views", reverse("saved-views")), here=here)
