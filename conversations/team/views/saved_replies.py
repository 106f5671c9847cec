"""`/saved-replies/`: list and edit the saved replies that a person may use; pick one in a conversation."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from console.access import StaffRequest, requires
from console.answers import FAILURES, answer, describe_error
from console.context import list_crumbs, read_only_reason, wants_fragment
from console.errors import BadReference, NotFound
from console.form_pages import FORM_METHODS, EditedItem, FormPage, StoredForm, process_form
from console.permissions import FOR_ALL, Owner, OwnerKind, Permission, Staff
from console.trail.items import ItemGone
from conversations.companies import companies_for
from conversations.converting import summary_of
from conversations.finding.queries import load_row
from conversations.lists.crumbs import crumbs_below
from conversations.team.saved_replies import service
from conversations.team.saved_replies.filling import PLACEHOLDERS
from conversations.team.saved_replies.forms import SavedRepliesFilter, SavedReplyForm
from conversations.team.saved_replies.service import SavedReply, check_writer

_TABS = ((OwnerKind.ALL, "For all"), (OwnerKind.COMPANY, "By company"), (OwnerKind.STAFF, "My own"))
_FORM, _DELETE = "saved_replies/form.html", "saved_replies/delete.html"
_ABOUT = "the saved replies"


# --- The list ---------------------------------------------------------------------------------------------------------


@requires(Permission.HAND_OFF)
@require_safe
def index(request: StaffRequest) -> HttpResponse:
    """List the saved replies of one tab by name. GET filters: tab, company, q. One Query, and one for the companies."""
    staff = request.staff
    known = companies_for(staff) if request.GET.get("tab") == OwnerKind.COMPANY else ()
    form = SavedRepliesFilter(request.GET, known)
    tab = OwnerKind(form.chosen("tab", OwnerKind.ALL))
    company_id = form.chosen("company") or (known[0].company_id if len(known) == 1 and not form.errors else "")
    owner = Owner(tab, _id_of(tab, company_id, staff))
    is_chosen = tab is not OwnerKind.COMPANY or bool(company_id)
    wanted = form.chosen("q")
    may_write = is_chosen and service.may_write(owner, staff) and not read_only_reason()
    context = {
        "form": form,
        "tabs": [{"label": label, "url": _list_url(Owner(each)), "current": each is tab} for each, label in _TABS],
        "rows": service.listed(owner, staff, wanted) if is_chosen else (),
        "is_chosen": is_chosen,
        "wanted": wanted,
        "may_write": may_write,
        "new_url": _new_url(owner) if may_write else "",
        "all_url": _list_url(owner),
        "start_url": _list_url(Owner(tab)),
        "clear_url": _list_url(Owner(tab)) if wanted or form.errors else "",
    }
    return render(request, "saved_replies/index.html", context)


# --- Writing ----------------------------------------------------------------------------------------------------------


@requires(Permission.HAND_OFF)
@require_http_methods(FORM_METHODS)
def new(request: StaffRequest) -> HttpResponse:
    """Add a saved reply: a person's own, or with GET `tab` (and `company`) one for all or for a company."""
    owner = _owner_asked_for(request)
    check_writer(owner, request.staff)
    token = request.POST.get("token") or service.new_token(owner)
    if service.owner_of(token) != owner:
        raise BadReference
    form = SavedReplyForm(request.POST if request.method == "POST" else None)

    def act() -> str:
        service.add(token, form.cleaned_data["name"], form.cleaned_data["text"], request.staff)
        return "Saved reply added."

    context = _context(owner, request.staff, "New saved reply") | {"token": token}
    return process_form(request, FormPage(_FORM, form, _ABOUT, _list_url(owner), context), act)


@requires(Permission.HAND_OFF)
@require_http_methods(FORM_METHODS)
def change(request: StaffRequest, ref: str) -> HttpResponse:
    """Change a saved reply. If somebody else changed or deleted it meanwhile, the form keeps what was typed."""
    owner = service.owner_of(ref)
    check_writer(owner, request.staff)
    is_posted = request.method == "POST"
    seen = None if is_posted else _stored_form(ref, request.staff)
    if seen is None and not is_posted:
        raise ItemGone(service.GONE)
    form = SavedReplyForm(request.POST if is_posted else None, initial=seen.values if seen else {})

    def act() -> str:
        typed, version = form.cleaned_data, request.POST.get("version", "")
        changed = service.change(ref, typed["name"], typed["text"], version, request.staff)
        return "Saved reply changed." if changed else "Nothing to change."

    def add_anew() -> dict[str, Any]:
        return {"token": service.new_token(owner), "action": _new_url(owner)}

    context = _context(owner, request.staff, "Change a saved reply")
    edits = EditedItem("this saved reply", seen, lambda: _stored_form(ref, request.staff), add_anew)
    return process_form(request, FormPage(_FORM, form, _ABOUT, _list_url(owner), context, edits), act)


def _stored_form(ref: str, staff: Staff) -> StoredForm | None:
    """Return a saved reply as the form shows it; None if it was deleted. Raises `NotFound`."""
    try:
        saved = service.load(ref, staff)
    except ItemGone:
        return None
    return StoredForm.of(saved, {"name": saved.name, "text": saved.text})


@requires(Permission.HAND_OFF)
@require_http_methods(FORM_METHODS)
def delete(request: StaffRequest, ref: str) -> HttpResponse:
    """Ask for confirmation, then delete the saved reply if it is unchanged. A form sent twice acts once."""
    owner, error, problem = service.owner_of(ref), None, ""
    check_writer(owner, request.staff)
    try:
        if request.method == "POST":
            try:
                service.delete(ref, request.POST.get("seen", ""), request.staff)
                messages.success(request, "Saved reply deleted.")
                return redirect(_list_url(owner))
            except FAILURES as failed:
                error, problem = failed, describe_error(failed, _ABOUT)
        saved = service.load(ref, request.staff)
    except ItemGone as gone:
        if request.method != "POST":
            raise
        messages.info(request, str(gone))
        return redirect(_list_url(owner))
    context = _context(owner, request.staff, "Delete a saved reply", saved)
    return answer(request, _DELETE, context | {"saved": saved, "problem": problem}, error)


# --- Picking ----------------------------------------------------------------------------------------------------------


@requires(Permission.HAND_OFF)
@require_safe
def pick(request: StaffRequest, ref: str) -> HttpResponse:
    """List saved replies, filled in for a conversation: a page with a search (`q`), or for htmx only the list."""
    item = load_row(ref, request.staff)
    is_fragment = wants_fragment(request)
    wanted = "" if is_fragment else request.GET.get("q", "").strip()
    summary = summary_of(item, request.staff)
    context = {
        "reference": ref,
        "replies": service.offered(item, request.staff, wanted),
        "wanted": wanted,
        "is_page": not is_fragment,
        "summary": summary,
        "crumbs": crumbs_below(summary, ref, "Saved replies"),
    }
    return render(request, "saved_replies/_pick.html" if is_fragment else "saved_replies/pick.html", context)


# --- Shared helpers ---------------------------------------------------------------------------------------------------


def _owner_asked_for(request: StaffRequest) -> Owner:
    """Return the owner that a new saved reply is for. Raises `NotFound` for an unknown tab or company.

    For a company's, the permission is checked before anything is read.
    """
    try:
        tab = OwnerKind(request.GET.get("tab", OwnerKind.STAFF))
    except ValueError as error:
        raise NotFound from error
    company_id = request.GET.get("company", "")
    owner = Owner(tab, _id_of(tab, company_id, request.staff))
    if tab is OwnerKind.COMPANY:
        check_writer(owner, request.staff)
        if not service.company_name(company_id, request.staff):
            raise NotFound
    return owner


def _id_of(tab: OwnerKind, company_id: str, staff: Staff) -> str:
    return {OwnerKind.ALL: "", OwnerKind.COMPANY: company_id, OwnerKind.STAFF: staff.username}[tab]


def _list_url(owner: Owner) -> str:
    return reverse("saved-replies", query=_query_of(owner))


def _new_url(owner: Owner) -> str:
    return reverse("saved-reply-new", query=_query_of(owner))


def _query_of(owner: Owner) -> dict[str, str]:
    return {"tab": owner.kind.value} | ({"company": owner.id} if owner.kind is OwnerKind.COMPANY and owner.id else {})


def _context(owner: Owner, staff: Staff, title: str, saved: SavedReply | None = None) -> dict[str, Any]:
    """Return the context of a form. `saved`: the stored reply, whose version the form then carries."""
    whose = {OwnerKind.ALL: "For all", OwnerKind.STAFF: "My own"}.get(owner.kind)
    label = whose or service.company_name(owner.id, staff) or owner.id
    crumbs = list_crumbs(("Saved replies", reverse("saved-replies")), (label, _list_url(owner)), here=title)
    return {
        "title": title,
        "crumbs": crumbs,
        "whose": label,
        "is_for_all": owner == FOR_ALL,
        "is_own": owner.kind is OwnerKind.STAFF,
        "back": _list_url(owner),
        "placeholders": [("{" + name + "}", words) for name, words in PLACEHOLDERS.items()],
        "seen": saved.version if saved else "",
    }
