"""Saved views: a person's own, those of a company, and those for all; listed, saved, renamed and deleted.

Own ones are `pk = VIEWS#STAFF#{username}`; shared ones are all in `pk = VIEWS#SHARED`, so that a page reads those of
every company in scope at once. `sk` is a digest of owner and name: an owner has each name once (data model, section 1).
Whoever may see a company sees what is shared for it; leads write these, those for all only if they see all companies.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from console.caching import cached_for
from console.errors import ConsoleError, Invalid, NotFound
from console.permissions import Staff
from console.redaction import redact
from console.store.calls import TransactionRefused, table_name
from console.store.connection import call
from console.store.models import items_of, plain_item, version_of
from console.trail.actions import Action
from console.trail.recording import (
    SYSTEM_TRAIL,
    Actor,
    TrailEntry,
    delete_version,
    move_version,
    new_action_id,
    put_version,
    staff_trail,
)
from conversations import companies, groups
from conversations.reading import text_of
from conversations.saved_views.records import (
    NEEDED,
    SHARED,
    Audience,
    FilteredList,
    SavedView,
    SavedViewChanged,
    SavedViewGone,
    ViewNameTaken,
    ViewOwner,
    check,
    open_reference,
)

# How many an owner has; how many of one's own are read, of companies that left the scope too; how many are shared.
MOST, MOST_READ, MOST_SHARED = 50, 200, 500
LONGEST_NAME = 60
SECONDS = 10
# Beside a lead's own views: which shared one they changed last. It sorts before every digest.
_CHANGED = "#changed"


# --- Reading ----------------------------------------------------------------------------------------------------------


def views_for(staff: Staff) -> list[SavedView]:
    """Return what a person sees, own ones first, by name. One Query; shared ones are `SECONDS` old at most.

    Who changed a shared one sees that at once, in every worker. Raises the store's errors.
    """
    if staff.scope.is_empty:
        return []
    own, changed = _read_own(staff)
    found = [*_by_name(own), *_shared(changed)]
    return [each for each in found if each.is_for(staff)]


def load(reference: str, staff: Staff) -> SavedView:
    """Return the view of a sealed reference to somebody who may change it, strongly consistent.

    Raises `SavedViewGone`, `NotFound`, `Forbidden`, and the store's errors.
    """
    owner, view_id = open_reference(reference)
    owner.check_writer(staff)
    key = {"pk": {"S": owner.partition}, "sk": {"S": view_id}}
    answer = call("GetItem", TableName=table_name("CONSOLE"), Key=key, ConsistentRead=True)
    found = _record(plain_item(answer["Item"]), owner) if "Item" in answer else None
    if found is None or not found.is_for(staff):
        raise SavedViewGone
    return found


def _read_own(staff: Staff) -> tuple[list[SavedView], str]:
    """A person's own views, whatever their scope, and which shared one they changed last."""
    owner = ViewOwner(Audience.STAFF, staff.username)
    items = items_of(owner.partition, MOST_READ, consistent=True)
    changed = next((str(each.get("change", ""))[:32] for each in items if each["sk"] == _CHANGED), "")
    records = (_record(each, owner) for each in items if each["sk"] != _CHANGED)
    return [each for each in records if each is not None], changed


@cached_for(SECONDS)
def _shared(changed: str) -> tuple[SavedView, ...]:
    """Every shared view, by name; `changed`: what the reader changed last, which must be in it."""
    return _by_name(_read_shared())


def _read_shared() -> list[SavedView]:
    items = items_of(SHARED, MOST_SHARED, consistent=True)
    return [found for each in items if (found := _record(each, _owner_of(each))) is not None]


def _owner_of(item: Mapping[str, Any]) -> ViewOwner:
    company_id = item.get("company_id")
    return ViewOwner(Audience.ALL) if company_id is None else ViewOwner(Audience.COMPANY, str(company_id))


def _by_name(views: Iterable[SavedView]) -> tuple[SavedView, ...]:
    return tuple(sorted(views, key=lambda each: (each.name.casefold(), each.id)))


def _record(item: Mapping[str, Any], owner: ViewOwner) -> SavedView | None:
    """Read a stored view; None for one of no list that there is, and of nobody."""
    try:
        of = FilteredList(str(item.get("list", "")))
    except ValueError:
        return None
    if owner == ViewOwner(Audience.COMPANY):
        return None
    stored = item.get("filters")
    try:
        filters = check(of, stored if isinstance(stored, dict) else {})
    except Invalid:
        filters = {}
    if owner.audience is not Audience.STAFF and filters.get("company", "") != owner.id:
        filters = {}
    view_id = str(item["sk"])
    name = text_of(item.get("name"), LONGEST_NAME) or view_id
    return SavedView(owner, view_id, name, of, tuple(filters.items()), version_of(dict(item)))


# --- Writing ----------------------------------------------------------------------------------------------------------


def save(name: str, of: FilteredList, filters: Mapping[str, str], staff: Staff, *, shared: bool) -> SavedView:
    """Save a view, for oneself or, `shared`, for who sees its company; the same one again is no error.

    Raises `Invalid`, `ViewNameTaken`, `Forbidden`, `NotFound` (the company is not in scope), and the store's errors.
    """
    staff.require(NEEDED[of])
    kept, name = _existing(of, check(of, filters), staff), _checked_name(name)
    company_id = kept.get("company", "")
    owner = ViewOwner(Audience.STAFF, staff.username)
    if shared:
        owner = ViewOwner(Audience.COMPANY, company_id) if company_id else ViewOwner(Audience.ALL)
    owner.check_writer(staff)
    view = SavedView(owner, _id_of(owner, name), name, of, tuple(kept.items()))
    known = _read_own(staff)[0] if owner.audience is Audience.STAFF else _read_shared()
    if (there := next((each for each in known if each.id == view.id), None)) is not None:
        if (there.of, there.filters) != (of, view.filters):
            raise ViewNameTaken
        return there
    _check_room(known, owner, staff)
    try:
        put_version(owner.partition, view.id, _values(view), 0, _told(Action.SAVED_VIEW_CREATED, view, staff))
    except TransactionRefused as refused:
        raise ViewNameTaken from refused
    _note_change(owner, staff)
    return view


def rename(view: SavedView, name: str, seen: int, staff: Staff) -> None:
    """Rename a view of which version `seen` was shown, on record.

    Raises `Invalid`, `ViewNameTaken`, `SavedViewChanged`, `Forbidden`, `NotFound`, and the store's errors.
    """
    view.owner.check_writer(staff)
    name, partition = _checked_name(name), view.owner.partition
    if not view.filters:
        raise Invalid("The filters of this view cannot be read. Delete it and save it again.")
    renamed = SavedView(view.owner, _id_of(view.owner, name), name, view.of, view.filters)
    told = _told(Action.SAVED_VIEW_CHANGED, renamed, staff, before=view.name)
    try:
        if renamed.id == view.id:
            put_version(partition, view.id, _values(renamed), seen, told)
        else:
            move_version(partition, view.id, renamed.id, _values(renamed), seen, told)
    except TransactionRefused as refused:
        # The writes in their order: what was there goes, what is new comes.
        is_taken = renamed.id != view.id and refused.codes[1:2] == ("ConditionalCheckFailed",)
        raise (ViewNameTaken if is_taken else SavedViewChanged)() from refused
    _note_change(view.owner, staff)


def delete(view: SavedView, seen: int, staff: Staff) -> None:
    """Delete a view of which version `seen` was shown, on record. Raises as `rename`."""
    view.owner.check_writer(staff)
    told = _told(Action.SAVED_VIEW_DELETED, view, staff)
    try:
        delete_version(view.owner.partition, view.id, seen, told)
    except TransactionRefused as refused:
        raise SavedViewChanged from refused
    _note_change(view.owner, staff)


def _check_room(known: list[SavedView], owner: ViewOwner, staff: Staff) -> None:
    """Raise `Invalid` if an owner has all the views there can be. `known`: what is read with theirs."""
    theirs = [each for each in known if each.owner == owner and each.is_for(staff)]
    if len(theirs) >= MOST:
        raise Invalid(f"You can have up to {MOST} views here. Delete one first.")
    if len(known) >= (MOST_READ - 1 if owner.audience is Audience.STAFF else MOST_SHARED):
        raise Invalid("The console cannot keep more views. Delete some first, or ask an administrator to.")


def _existing(of: FilteredList, filters: dict[str, str], staff: Staff) -> dict[str, str]:
    """Filters whose company is in scope, and has the project and the group. Raises `NotFound` and `Invalid`."""
    company_id, project_id, group_id = (filters.get(name, "") for name in ("company", "project", "group"))
    if company_id and not staff.scope.covers_company(company_id):
        raise NotFound
    # Every company is in the scope "all", those that nobody has ever heard of too.
    if company_id and company_id not in staff.scope.company_ids and not companies.exists(company_id):
        raise NotFound
    if (project_id or group_id) and not company_id:
        raise Invalid("Choose a company too: a view keeps a project or a group only together with its company.")
    if project_id and not companies.has_project(company_id, project_id):
        raise Invalid("Project: this company has no such project. Choose another one, or clear the filter.")
    if group_id and groups.find(company_id, group_id) is None:
        raise Invalid("Group: this company has no such group. Choose another one, or clear the filter.")
    return filters


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME:
        raise Invalid(f"Give the view a name of up to {LONGEST_NAME} characters.")
    if redact(name) != name:
        raise Invalid("Choose a name without a phone number, an email address or any other customer data.")
    return name


def _id_of(owner: ViewOwner, name: str) -> str:
    return hashlib.sha256(f"{owner.key}\0{name.casefold()}".encode()).hexdigest()[:32]


def _values(view: SavedView) -> dict[str, Any]:
    company = {"company_id": view.owner.id} if view.owner.audience is Audience.COMPANY else {}
    return {"name": view.name, "list": view.of.value, "filters": dict(view.filters)} | company


def _told(action: Action, view: SavedView, staff: Staff, **more: str) -> TrailEntry:
    owner = view.owner
    return TrailEntry(
        staff_trail(owner.id) if owner.audience is Audience.STAFF else SYSTEM_TRAIL,
        action,
        Actor.of(staff),
        owner.id if owner.audience is Audience.COMPANY else "",
        payload={"saved_view": view.name, "list": view.of.value, "for": owner.audience.lower()} | more,
    )


def _note_change(owner: ViewOwner, staff: Staff) -> None:
    """After a change of what is shared, its author reads it anew in every worker; if this fails, some seconds later."""
    if owner.audience is Audience.STAFF:
        return
    _shared.cache_clear()
    key = ViewOwner(Audience.STAFF, staff.username).partition
    item = {"pk": {"S": key}, "sk": {"S": _CHANGED}, "change": {"S": new_action_id()}}
    with suppress(ConsoleError):
        call("PutItem", TableName=table_name("CONSOLE"), Item=item)
