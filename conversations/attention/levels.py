"""Service levels of a company, and of its projects where they differ: when people look, and by when they answer.

Items of the console's own table: `pk = LEVELS#{company_id}`, `sk` `COMPANY` or `PROJECT#{project_id}`. A project falls
back to its company, and a company to the defaults.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import time, timedelta
from typing import Any

from console import caching
from console.caching import cached_for
from console.errors import TableMissing
from console.permissions import Staff
from console.store.connection import batch_get
from console.store.models import (
    SORT_KEY_BYTES,
    PlainMapAttribute,
    TextListAttribute,
    WholeNumberAttribute,
    fits,
)
from console.trail.actions import Action
from console.trail.items import VersionedItem
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry
from conversations.attention.hours import WEEKDAYS, BusinessHours
from conversations.companies import check_team_lead, name_or_id, project_names
from conversations.records import STUCK_AFTER

COMPANY, PROJECT = "COMPANY", "PROJECT#"
# Maximum age of the cached levels that a process uses.
SECONDS = 20
# Projects of one company that may differ from it.
MOST_PROJECTS = 200


@dataclass(frozen=True, slots=True)
class ServiceLevels:
    """`stuck_after`: in processing for this long; `unanswered_after`: the customer's last message is this old.

    `first_answer` and `next_answer` are targets for people, in business `hours` (None: always). A holder who is silent
    for `return_after` since the customer wrote gives the conversation back. None switches a level off. `urgent_words`
    are lower case.
    """

    stuck_after: timedelta = STUCK_AFTER
    unanswered_after: timedelta = timedelta(minutes=30)
    first_answer: timedelta | None = None
    next_answer: timedelta | None = None
    return_after: timedelta | None = None
    hours: BusinessHours | None = None
    urgent_words: tuple[str, ...] = ()


DEFAULTS = ServiceLevels()
# Levels that are stored in minutes.
MINUTES = ("stuck_after", "unanswered_after", "first_answer", "next_answer", "return_after")


class StoredLevels(VersionedItem):
    """The levels that a company or project sets. An attribute that is absent is not set; one that drifted is None."""

    CHANGED = "Somebody else changed these service levels in the meantime."
    stuck_after = WholeNumberAttribute(null=True)
    unanswered_after = WholeNumberAttribute(null=True)
    first_answer = WholeNumberAttribute(null=True)
    next_answer = WholeNumberAttribute(null=True)
    return_after = WholeNumberAttribute(null=True)
    hours = PlainMapAttribute(null=True)
    urgent_words = TextListAttribute(null=True)

    @property
    def sets_any(self) -> bool:
        """Whether it sets a level: one that was put back to the others' levels stays stored, for its version."""
        return self.is_stored and any(name in self.raw for name in (*MINUTES, "hours", "urgent_words"))


def levels_of(company_id: str, project_id: str = "") -> ServiceLevels:
    """Return the service levels of a project, at most `SECONDS` old. One BatchGetItem.

    Raises the store's errors.
    """
    return _levels_of(company_id, project_id) if company_id else DEFAULTS


@cached_for(SECONDS, entries=10_000)
def _levels_of(company_id: str, project_id: str) -> ServiceLevels:
    return _read_levels([(company_id, project_id)])[company_id, project_id]


def note_levels(projects: Iterable[tuple[str, str]]) -> None:
    """Read the levels of many projects (company and project) that are not known, for `levels_of`. One BatchGetItem.

    Raises the store's errors.
    """
    unknown = [each for each in dict.fromkeys(projects) if each[0] and caching.cached_result(_levels_of, *each) is None]
    for asked, levels in _read_levels(unknown).items() if unknown else ():
        caching.remember(_levels_of, levels, *asked)


def _read_levels(projects: Collection[tuple[str, str]]) -> dict[tuple[str, str], ServiceLevels]:
    keys = [
        {"pk": partition_of(company_id), "sk": _sort_key(project_id)}
        for company_id, project_id in dict.fromkeys((each, part) for each, own in projects for part in ("", own))
        if fits(partition_of(company_id)) and fits(_sort_key(project_id), SORT_KEY_BYTES)
    ]
    try:
        items = map(StoredLevels.from_raw_data, batch_get("CONSOLE", keys))
        found = {(each.pk, each.sk): each for each in items}
    except TableMissing:
        found = {}
    levels = {}
    for company_id, project_id in projects:
        company = merge_levels(found.get((partition_of(company_id), COMPANY)), DEFAULTS)
        project = found.get((partition_of(company_id), _sort_key(project_id))) if project_id else None
        levels[company_id, project_id] = merge_levels(project, company)
    return levels


def forget() -> None:
    """Drop the levels from this process's cache, after changing them."""
    _levels_of.cache_clear()


def partition_of(company_id: str) -> str:
    """Return the partition of a company's levels."""
    return f"LEVELS#{company_id}"


def merge_levels(stored: StoredLevels | None, otherwise: ServiceLevels) -> ServiceLevels:
    """Return the levels that an item sets, the others from `otherwise`. Never raises: an invalid level is unset."""
    if stored is None:
        return otherwise
    values: dict[str, Any] = {}
    for name in MINUTES:
        minutes = getattr(stored, name) or 0
        if minutes > 0:
            values[name] = timedelta(minutes=minutes)
        elif name in stored.raw and name not in ("stuck_after", "unanswered_after"):
            values[name] = None
    if stored.hours is not None:
        values["hours"] = _hours(stored.hours)
    if stored.urgent_words is not None:
        values["urgent_words"] = tuple(each.lower() for each in stored.urgent_words if each.strip())
    return replace(otherwise, **values)


def _hours(stored: dict[str, Any]) -> BusinessHours | None:
    """Return stored business hours, None for none or invalid ones."""
    try:
        days = frozenset(day for day in range(len(WEEKDAYS)) if day in stored["days"])
        opens, closes = time.fromisoformat(stored["opens"]), time.fromisoformat(stored["closes"])
        if not days or opens == closes != time(0):
            return None
        return BusinessHours(opens, closes, days, str(stored["time_zone"]))
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class LoadedLevels:
    """What a company or project sets, the levels that apply `otherwise`, and the company's projects that set some."""

    stored: StoredLevels
    otherwise: ServiceLevels
    projects: frozenset[str]


def load(company_id: str, project_id: str, staff: Staff) -> LoadedLevels:
    """Return the levels of a company or project, strongly consistent. One Query.

    Raises `Forbidden`, `NotFound` (out of scope), and the store's errors.
    """
    check_team_lead(company_id, staff)
    partition = partition_of(company_id)
    items = {each.id: each for each in StoredLevels.list_in(partition, MOST_PROJECTS + 1)}
    otherwise = merge_levels(items.get(COMPANY), DEFAULTS) if project_id else DEFAULTS
    stored = items.get(_sort_key(project_id)) or StoredLevels(partition, _sort_key(project_id))
    own = (key.removeprefix(PROJECT) for key, each in items.items() if key != COMPANY and each.sets_any)
    return LoadedLevels(stored, otherwise, frozenset(own))


def _name_of(company_id: str, project_id: str) -> str:
    """Return the name of the company, or of one of its projects with it, for the trail."""
    if not project_id:
        return name_or_id(company_id)
    project = project_names([(company_id, project_id)]).get((company_id, project_id), project_id)
    return f"{project} of {name_or_id(company_id)}"


def save(company_id: str, project_id: str, values: dict[str, Any], seen: int, staff: Staff) -> bool:
    """Replace the levels of a company or project, with an entry in the trail; return whether it now sets any.

    `values` are plain; None unsets a level.
    Raises as `load`, and `Conflict` if the stored version is not `seen`.
    """
    check_team_lead(company_id, staff)
    kept = {name: value for name, value in values.items() if value not in (None, "", [])}
    payload = {
        "company": company_id,
        "project": project_id,
        "of": _name_of(company_id, project_id),
        "set": sorted(kept),
    }
    entry = TrailEntry(SYSTEM_TRAIL, Action.LEVELS_CHANGED, Actor.of(staff), company_id, payload=payload)
    StoredLevels(partition_of(company_id), _sort_key(project_id), **kept).put(seen, entry)
    forget()
    return bool(kept)


def _sort_key(project_id: str) -> str:
    return f"{PROJECT}{project_id}" if project_id else COMPANY
