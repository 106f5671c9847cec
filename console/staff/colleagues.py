"""Colleagues by name: who may be given conversations of a company, and who of them is away.

People who are away have an item in the console's own table: `pk = AWAY`, `sk` the username.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from console import caching, clock
from console.caching import cached_for
from console.errors import ConsoleError
from console.permissions import ROLE_PERMISSIONS, Permission, Role, Scope, Staff
from console.redaction import excerpt, redact
from console.staff.models import RoleIndex, StaffAccount
from console.store.models import InstantAttribute, LenientItem
from console.store.presence import index_ready
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, record, staff_trail
from console.trees import isolated

SECONDS = 10
# The most accounts of one role, and people away, that are read.
MOST = 500
# Longer names are cut.
LONGEST_NAME = 60
_AWAY = "AWAY"
_ROLES = tuple(role for role in Role if Permission.HAND_OFF in ROLE_PERMISSIONS[role])


@dataclass(frozen=True, slots=True)
class Colleague:
    """A person who may be given work. `name` is redacted; `in_sentence` is the name, isolated from the text around it.

    `is_away` is set by the person.
    """

    username: str
    name: str
    in_sentence: str
    scope: Scope
    is_away: bool = False


class Absence(LenientItem):
    """Exists while a person is away."""

    since = InstantAttribute(null=True)


class _IndexMissing(Exception):
    """Staff cannot be listed by role. An error, so that it is not cached."""


def colleagues_of(company_id: str) -> list[Colleague]:
    """Return who may answer customers of a company, available ones first, then by name. Raises the store's errors."""
    away = away_now()
    found = [
        replace(each, is_away=each.username in away)
        for each in _answering_staff().values()
        if each.scope.covers_company(company_id)
    ]
    return sorted(found, key=lambda each: (each.is_away, each.name.casefold(), each.username))


def name_of(username: str) -> str:
    """Return a person's name for use in sentences; the redacted username if the name is unknown or unreadable."""
    if not username:
        return ""
    try:
        found = _answering_staff().get(username)
    except ConsoleError:
        found = None
    return found.in_sentence if found else redact(username)


def reads() -> list[Callable[[], object]]:
    """Return the reads of `colleagues_of`, for pages that run them in parallel with others to fill the cache."""
    return [away_now, _answering_staff]


def _answering_staff() -> dict[str, Colleague]:
    try:
        return _by_username()
    except _IndexMissing:
        return {}


@cached_for(SECONDS)
def _by_username() -> dict[str, Colleague]:
    """Read the accounts of everybody who may take work, by username. Raises `_IndexMissing` and the store's errors."""
    if not index_ready("STAFF", RoleIndex.Meta.index_name):
        raise _IndexMissing
    accounts = (each for role in _ROLES for each in StaffAccount.by_role.query(role.value, limit=MOST))
    found = {}
    for each in accounts:
        if not each.disabled:
            name = excerpt(each.display_name or each.username, LONGEST_NAME)
            found[each.username] = Colleague(each.username, name, isolated(name), Scope.of(each.scope or []))
    return found


def away_key(username: str) -> dict[str, str]:
    """Return the key of the item of CONSOLE that exists while a person is away."""
    return {"pk": _AWAY, "sk": username}


@cached_for(SECONDS)
def away_now() -> frozenset[str]:
    """Return the usernames of people who are away. One Query. Raises the store's errors."""
    return frozenset(each.id for each in Absence.list_in(_AWAY, MOST, consistent=False))


def set_available(staff: Staff, available: bool) -> None:
    """Mark a person as available or away, with an entry in their own trail. Raises the store's errors."""
    action = Action.STAFF_AVAILABLE if available else Action.STAFF_AWAY
    record(TrailEntry(staff_trail(staff.username), action, Actor.of(staff)))
    absence = Absence(_AWAY, staff.username, since=clock.now())
    if available:
        absence.delete()
    else:
        absence.save()
    caching.invalidate(away_now)
