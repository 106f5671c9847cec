"""Services that save, rename and delete views: a person's own, those of a company, and those for all.

Own views are in `pk = VIEWS#STAFF#{username}`; all shared ones are in `pk = VIEWS#SHARED`, so that one Query reads
those of every company. `sk` is a digest of owner and name, so that an owner has each name once (data model, section
1). People see the shared views of the companies in their scope. Leads write these, and those for all if they see all
companies.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from console.errors import ConsoleError, Invalid, NotFound
from console.permissions import Staff
from console.redaction import redact
from console.store.calls import TransactionRefused, table_name
from console.store.connection import call
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
from conversations.lists.saved_views.records import (
    CHANGED,
    LONGEST_NAME,
    MOST,
    MOST_READ,
    MOST_SHARED,
    NEEDED,
    Audience,
    FilteredList,
    SavedView,
    SavedViewChanged,
    ViewNameTaken,
    ViewOwner,
    check,
    read_own,
    read_shared,
    shared_views,
)


def save(name: str, of: FilteredList, filters: Mapping[str, str], staff: Staff, *, shared: bool) -> SavedView:
    """Save a view for oneself or, if `shared`, for everybody who sees its company. Idempotent.

    Raises `Invalid`, `ViewNameTaken`, `Forbidden`, `NotFound` (the company is not in scope), and the store's errors.
    """
    staff.require(NEEDED[of])
    kept = check(of, filters)
    _check_exists(kept, staff)
    name = _checked_name(name)
    company_id = kept.get("company", "")
    owner = ViewOwner(Audience.STAFF, staff.username)
    if shared:
        owner = ViewOwner(Audience.COMPANY, company_id) if company_id else ViewOwner(Audience.ALL)
    owner.check_writer(staff)
    view = SavedView(owner, _id_of(owner, name), name, of, tuple(kept.items()))
    known = read_own(staff)[0] if owner.audience is Audience.STAFF else read_shared()
    if (there := next((each for each in known if each.id == view.id), None)) is not None:
        if (there.of, there.filters) != (of, view.filters):
            raise ViewNameTaken
        return there
    _check_room(known, owner, staff)
    try:
        put_version(owner.partition, view.id, _values(view), 0, _trail_entry(Action.SAVED_VIEW_CREATED, view, staff))
    except TransactionRefused as refused:
        raise ViewNameTaken from refused
    _note_change(owner, staff)
    return view


def rename(view: SavedView, name: str, seen: int, staff: Staff) -> None:
    """Rename a view if its stored version is `seen`, and record it in the trail.

    Raises `Invalid`, `ViewNameTaken`, `SavedViewChanged`, `Forbidden`, `NotFound`, and the store's errors.
    """
    view.owner.check_writer(staff)
    name, partition = _checked_name(name), view.owner.partition
    if not view.filters:
        raise Invalid("The filters of this view cannot be read. Delete it and save it again.")
    renamed = SavedView(view.owner, _id_of(view.owner, name), name, view.of, view.filters)
    entry = _trail_entry(Action.SAVED_VIEW_CHANGED, renamed, staff, before=view.name)
    try:
        if renamed.id == view.id:
            put_version(partition, view.id, _values(renamed), seen, entry)
        else:
            move_version(partition, view.id, renamed.id, _values(renamed), seen, entry)
    except TransactionRefused as refused:
        # The first code is of the delete, the second of the put under the new name.
        is_taken = renamed.id != view.id and refused.codes[1:2] == ("ConditionalCheckFailed",)
        raise (ViewNameTaken if is_taken else SavedViewChanged)() from refused
    _note_change(view.owner, staff)


def delete(view: SavedView, seen: int, staff: Staff) -> None:
    """Delete a view if its stored version is `seen`, and record it in the trail. Raises as `rename` does."""
    view.owner.check_writer(staff)
    entry = _trail_entry(Action.SAVED_VIEW_DELETED, view, staff)
    try:
        delete_version(view.owner.partition, view.id, seen, entry)
    except TransactionRefused as refused:
        raise SavedViewChanged from refused
    _note_change(view.owner, staff)


def _check_room(known: list[SavedView], owner: ViewOwner, staff: Staff) -> None:
    """Raise `Invalid` if the owner or the partition is full. `known` are all views of the partition."""
    theirs = [each for each in known if each.owner == owner and each.is_for(staff)]
    if len(theirs) >= MOST:
        raise Invalid(f"You can have up to {MOST} views here. Delete one first.")
    if len(known) >= (MOST_READ - 1 if owner.audience is Audience.STAFF else MOST_SHARED):
        raise Invalid("The console cannot keep more views. Delete some first, or ask an administrator to.")


def _check_exists(filters: dict[str, str], staff: Staff) -> None:
    """Raise `NotFound` or `Invalid` unless the company is in scope and has the project and group of the filters."""
    company_id, project_id, group_id = (filters.get(name, "") for name in ("company", "project", "group"))
    if company_id and not staff.scope.covers_company(company_id):
        raise NotFound
    # The scope "all" also covers companies that do not exist.
    if company_id and company_id not in staff.scope.company_ids and not companies.exists(company_id):
        raise NotFound
    if (project_id or group_id) and not company_id:
        raise Invalid("Choose a company too: a view keeps a project or a group only together with its company.")
    if project_id and not companies.has_project(company_id, project_id):
        raise Invalid("Project: this company has no such project. Choose another one, or clear the filter.")
    if group_id and groups.find(company_id, group_id) is None:
        raise Invalid("Group: this company has no such group. Choose another one, or clear the filter.")


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


def _trail_entry(action: Action, view: SavedView, staff: Staff, **more: str) -> TrailEntry:
    owner = view.owner
    return TrailEntry(
        staff_trail(owner.id) if owner.audience is Audience.STAFF else SYSTEM_TRAIL,
        action,
        Actor.of(staff),
        owner.id if owner.audience is Audience.COMPANY else "",
        payload={"saved_view": view.name, "list": view.of.value, "for": owner.audience.lower()} | more,
    )


def _note_change(owner: ViewOwner, staff: Staff) -> None:
    """Make the author's next read of shared views fresh in every worker; if this fails, it is some seconds late."""
    if owner.audience is Audience.STAFF:
        return
    shared_views.cache_clear()
    key = ViewOwner(Audience.STAFF, staff.username).partition
    item = {"pk": {"S": key}, "sk": {"S": CHANGED}, "change": {"S": new_action_id()}}
    with suppress(ConsoleError):
        call("PutItem", TableName=table_name("CONSOLE"), Item=item)
