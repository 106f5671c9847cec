"""Services that save, rename and delete views: a person's own, those of a company, and those for all.

Own views are in `pk = VIEWS#STAFF#{username}`; all shared ones are in `pk = VIEWS#SHARED`, so that one Query reads
those of every company. `sk` is a digest of owner and name, so that an owner has each name once (data model, section
1). People see the shared views of the companies in their scope. Leads write these, and those for all if they see all
companies.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress

from console.errors import ConsoleError, Invalid, NotFound
from console.permissions import FOR_ALL, Owner, OwnerKind, Staff
from console.redaction import redact
from console.trail.actions import Action
from console.trail.items import ItemChanged, build_owner_entry
from console.trail.recording import TrailEntry, new_action_id
from conversations import companies, groups
from conversations.lists.saved_views.records import (
    CHANGED,
    LONGEST_NAME,
    MOST,
    MOST_READ,
    MOST_SHARED,
    NEEDED,
    FilteredList,
    LatestChange,
    SavedView,
    StoredView,
    check,
    check_writer,
    key_of,
    partition_of,
    read_own,
    read_shared,
    shared_views,
)


def save(name: str, of: FilteredList, filters: Mapping[str, str], staff: Staff, *, shared: bool) -> SavedView:
    """Save a view for oneself or, if `shared`, for everybody who sees its company. Idempotent.

    Raises `Invalid`, `ItemChanged` (the name is taken), `Forbidden`, `NotFound` (the company is not in scope), and the
    store's errors.
    """
    staff.require(NEEDED[of])
    kept = check(of, filters)
    _check_exists(kept, staff)
    name = _checked_name(name)
    company_id = kept.get("company", "")
    owner = Owner(OwnerKind.STAFF, staff.username)
    if shared:
        owner = Owner(OwnerKind.COMPANY, company_id) if company_id else FOR_ALL
    check_writer(owner, staff)
    view = SavedView(owner, _id_of(owner, name), name, of, tuple(kept.items()))
    known = read_own(staff)[0] if owner.kind is OwnerKind.STAFF else read_shared()
    if (there := next((each for each in known if each.id == view.id), None)) is not None:
        if (there.of, there.filters) != (of, view.filters):
            raise ItemChanged(StoredView.TAKEN, "name")
        return there
    _check_room(known, owner, staff)
    _stored(view).put(0, _entry(Action.SAVED_VIEW_CREATED, view, staff))
    _note_change(owner, staff)
    return view


def rename(view: SavedView, name: str, seen: int, staff: Staff) -> None:
    """Rename a view if its stored version is `seen`, and record it in the trail.

    Raises `Invalid`, `ItemChanged` (by somebody else, or the name is taken), `Forbidden`, `NotFound`, and the store's
    errors.
    """
    check_writer(view.owner, staff)
    name = _checked_name(name)
    if not view.filters:
        raise Invalid("The filters of this view cannot be read. Delete it and save it again.")
    renamed = SavedView(view.owner, _id_of(view.owner, name), name, view.of, view.filters)
    entry = _entry(Action.SAVED_VIEW_CHANGED, renamed, staff, before=view.name)
    _stored(renamed).put(seen, entry, before=view.id)
    _note_change(view.owner, staff)


def delete(view: SavedView, seen: int, staff: Staff) -> None:
    """Delete a view if its stored version is `seen`, and record it in the trail. Raises as `rename` does."""
    check_writer(view.owner, staff)
    _stored(view).discard(seen, _entry(Action.SAVED_VIEW_DELETED, view, staff))
    _note_change(view.owner, staff)


def _check_room(known: list[SavedView], owner: Owner, staff: Staff) -> None:
    """Raise `Invalid` if the owner or the partition is full. `known` are all views of the partition."""
    theirs = [each for each in known if each.owner == owner and each.is_for(staff)]
    if len(theirs) >= MOST:
        raise Invalid(f"You can have up to {MOST} views here. Delete one first.")
    if len(known) >= (MOST_READ - 1 if owner.kind is OwnerKind.STAFF else MOST_SHARED):
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


def _id_of(owner: Owner, name: str) -> str:
    return hashlib.sha256(f"{key_of(owner)}\0{name.casefold()}".encode()).hexdigest()[:32]


def _stored(view: SavedView) -> StoredView:
    return StoredView(
        partition_of(view.owner),
        view.id,
        name=view.name,
        of=view.of.value,
        filters=dict(view.filters),
        company_id=view.owner.company_id or None,
    )


def _entry(action: Action, view: SavedView, staff: Staff, **more: str) -> TrailEntry:
    return build_owner_entry(view.owner, action, staff, saved_view=view.name, list=view.of.value, **more)


def _note_change(owner: Owner, staff: Staff) -> None:
    """Make the author's next read of shared views fresh in every worker; if this fails, it is some seconds late."""
    if owner.kind is OwnerKind.STAFF:
        return
    shared_views.cache_clear()
    own = partition_of(Owner(OwnerKind.STAFF, staff.username))
    with suppress(ConsoleError):
        LatestChange(own, CHANGED, change=new_action_id()).save()
