"""Groups of a company's agents, to which conversations are handed over: `pk = GROUPS#{company_id}`, `sk` an id.

A group grants nothing: everybody who may take the company's conversations may take those that wait for a group.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from console import caching
from console.caching import cached_for
from console.errors import Conflict, ConsoleError, Invalid
from console.permissions import Staff
from console.store.calls import TransactionRefused, table_name
from console.store.connection import call
from console.store.models import items_of, plain_item, version_of
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry, delete_version, put_version
from conversations.companies import check_team_lead

MOST, MOST_MEMBERS, LONGEST_NAME = 50, 100, 40
SECONDS = 10


@dataclass(frozen=True, slots=True)
class Group:
    """Some agents of a company. `version` is the stored version, which a change must still match."""

    id: str
    name: str
    members: tuple[str, ...]
    version: int = 0


def of_company(company_id: str) -> list[Group]:
    """Return a company's groups by name, at most `SECONDS` old. One Query. Raises the store's errors."""
    return list(_groups(company_id))


@cached_for(SECONDS)
def _groups(company_id: str) -> tuple[Group, ...]:
    found = map(_group, items_of(_partition(company_id), MOST, consistent=True))
    return tuple(sorted(found, key=lambda each: each.name.casefold()))


def find(company_id: str, group_id: str) -> Group | None:
    """Return a group, or None; one strongly consistent GetItem. Raises the store's errors."""
    key = {"pk": {"S": _partition(company_id)}, "sk": {"S": group_id}}
    answer = call("GetItem", TableName=table_name("CONSOLE"), Key=key, ConsistentRead=True)
    return _group(plain_item(answer["Item"])) if "Item" in answer else None


def name_of(company_id: str, group_id: str) -> str:
    """Return a group's name, at most `SECONDS` old; "" if it does not exist or cannot be read."""
    try:
        return next((each.name for each in _groups(company_id) if each.id == group_id), "")
    except ConsoleError:
        return ""


def save(company_id: str, name: str, members: Iterable[str], staff: Staff, group: Group | None = None) -> None:
    """Add a group, or change `group` if its stored version is unchanged, and record it in the trail.

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
        raise Conflict("A group with this name already exists.")
    if group is None and len(others) >= MOST:
        raise Invalid(f"A company has up to {MOST} groups.")
    group_id = group.id if group else _new_id(name, others)
    values = {"name": name, "members": named}
    entry = _trail_entry(company_id, name, {"members": len(named)}, staff)
    with _conflicts(company_id):
        put_version(_partition(company_id), group_id, values, group.version if group else 0, entry)


def _new_id(name: str, others: Sequence[Group]) -> str:
    """Return an id derived from the name, so that two people who add the same group concurrently add one."""
    found = _digest(name.casefold())
    # A group that was renamed since may have this id.
    return _digest(f"{name.casefold()}\n{len(others)}") if any(each.id == found for each in others) else found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def delete(company_id: str, group: Group, staff: Staff) -> None:
    """Delete a group and record it; conversations that wait for it wait for everybody. Raises as `save` does."""
    check_team_lead(company_id, staff)
    entry = _trail_entry(company_id, group.name, {"deleted": True}, staff)
    with _conflicts(company_id):
        delete_version(_partition(company_id), group.id, group.version, entry)


def _trail_entry(company_id: str, name: str, more: dict[str, Any], staff: Staff) -> TrailEntry:
    return TrailEntry(SYSTEM_TRAIL, Action.GROUP_CHANGED, Actor.of(staff), company_id, payload={"group": name} | more)


@contextmanager
def _conflicts(company_id: str) -> Iterator[None]:
    """Translate a lost race into `Conflict`; after a success, drop this worker's cached groups."""
    try:
        yield
    except TransactionRefused as refused:
        raise Conflict(
            "Somebody else has just changed this group, or added one with this name. Save again to replace theirs."
        ) from refused
    caching.invalidate(_groups, company_id)


def _partition(company_id: str) -> str:
    return f"GROUPS#{company_id}"


def _group(item: dict[str, Any]) -> Group:
    members = item.get("members")
    return Group(
        str(item["sk"]),
        str(item.get("name") or item["sk"]),
        tuple(str(each) for each in members) if isinstance(members, list) else (),
        version_of(item),
    )
