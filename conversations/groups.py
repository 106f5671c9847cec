"""Groups of a company's agents, to which conversations are handed over: `pk = GROUPS#{company_id}`, `sk` an id.

A group grants nothing: everybody who may take the company's conversations may take those that wait for a group.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from pynamodb.attributes import UnicodeAttribute

from console import caching
from console.caching import cached_for
from console.errors import ConsoleError, Invalid
from console.permissions import Staff
from console.store.models import TextListAttribute
from console.trail.actions import Action
from console.trail.items import ItemChanged, VersionedItem
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry
from conversations.companies import check_team_lead

MOST, MOST_MEMBERS, LONGEST_NAME = 50, 100, 40
SECONDS = 10


class Group(VersionedItem):
    """Some agents of a company. Those that are read are shared by all requests of a process: never change one."""

    CHANGED = "Somebody else changed this group in the meantime."
    TAKEN = "A group with this name already exists."
    NAME_FIELD = "title"
    stored_name = UnicodeAttribute(attr_name="name", default="")
    members = TextListAttribute(default=list)

    @property
    def name(self) -> str:
        """The name, or the id if the stored name cannot be read."""
        return self.stored_name or self.sk


def of_company(company_id: str) -> list[Group]:
    """Return a company's groups by name, at most `SECONDS` old. One Query. Raises the store's errors."""
    return list(_groups(company_id))


@cached_for(SECONDS)
def _groups(company_id: str) -> tuple[Group, ...]:
    return tuple(sorted(Group.list_in(_partition(company_id), MOST), key=lambda each: each.name.casefold()))


def find(company_id: str, group_id: str) -> Group | None:
    """Return a group, or None; one strongly consistent GetItem. Raises the store's errors."""
    return Group.find(_partition(company_id), group_id)


def name_of(company_id: str, group_id: str) -> str:
    """Return a group's name, at most `SECONDS` old; "" if it does not exist or cannot be read."""
    try:
        return next((each.name for each in _groups(company_id) if each.id == group_id), "")
    except ConsoleError:
        return ""


def save(
    company_id: str, name: str, members: Iterable[str], staff: Staff, group: Group | None = None, seen: int = 0
) -> None:
    """Add a group, or change `group` if its stored version is still `seen`, and record it in the trail.

    Raises `Forbidden`, `NotFound` (the company is not in scope), `Invalid`, `Conflict`, and the store's errors.
    """
    check_team_lead(company_id, staff)
    name, named = " ".join(name.split()), list(dict.fromkeys(members))
    if not name or len(name) > LONGEST_NAME:
        raise Invalid(f"Give the group a name of up to {LONGEST_NAME} characters.")
    if len(named) > MOST_MEMBERS:
        raise Invalid(f"A group has up to {MOST_MEMBERS} members.")
    others = [each for each in _groups(company_id) if group is None or each.id != group.id]
    if any(each.name.casefold() == name.casefold() for each in others):
        raise ItemChanged(Group.TAKEN, Group.NAME_FIELD)
    if group is None and len(others) >= MOST:
        raise Invalid(f"A company has up to {MOST} groups.")
    group_id = group.id if group else _new_id(name, others)
    more = {"members": len(named)} if group else {"members": len(named), "added": True}
    entry = _trail_entry(company_id, name, more, staff)
    Group(_partition(company_id), group_id, stored_name=name, members=named).put(seen, entry)
    caching.invalidate(_groups, company_id)


def _new_id(name: str, others: Sequence[Group]) -> str:
    """Return an id derived from the name, so that two people who add the same group concurrently add one."""
    found = _digest(name.casefold())
    # A group that was renamed since may have this id.
    return _digest(f"{name.casefold()}\n{len(others)}") if any(each.id == found for each in others) else found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def delete(company_id: str, group: Group, seen: int, staff: Staff) -> None:
    """Delete a group and record it; conversations that wait for it wait for everybody. Raises as `save` does."""
    check_team_lead(company_id, staff)
    group.discard(seen, _trail_entry(company_id, group.name, {"deleted": True}, staff))
    caching.invalidate(_groups, company_id)


def _trail_entry(company_id: str, name: str, more: dict[str, Any], staff: Staff) -> TrailEntry:
    return TrailEntry(SYSTEM_TRAIL, Action.GROUP_CHANGED, Actor.of(staff), company_id, payload={"group": name} | more)


def _partition(company_id: str) -> str:
    return f"GROUPS#{company_id}"
