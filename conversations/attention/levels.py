"""Service levels of a company, and of its projects where they differ: when people look, and by when they answer.

Items of the console's own table: `pk = LEVELS#{company_id}`, `sk` `COMPANY` or `PROJECT#{project_id}`. What an item
does not set is as the company's, and what that does not set as the defaults.
"""

from dataclasses import dataclass, replace
from datetime import time, timedelta
from typing import Any

from console import caching
from console.caching import cached_for
from console.errors import Conflict
from console.permissions import Staff
from console.store.calls import TransactionRefused
from console.store.models import items_of, version_of
from console.trail.actions import Action
from console.trail.recording import SYSTEM_TRAIL, Actor, TrailEntry, put_version
from conversations.attention.hours import WEEKDAYS, BusinessHours
from conversations.companies import check_lead
from conversations.records import STUCK_AFTER

COMPANY, PROJECT = "COMPANY", "PROJECT#"
# How old the levels may be by which a process judges.
SECONDS = 20
# Projects of one company that may differ from it.
MOST_PROJECTS = 200


@dataclass(frozen=True, slots=True)
class ServiceLevels:
    """`stuck_after`: processed for so long; `unanswered_after`: the customer spoke last so long ago.

    `first_answer` and `next_answer` are targets for people, in business `hours` (None: always). A holder who is silent
    for `return_after` since the customer wrote gives it back. None switches a thing off. `urgent_words` are lower case.
    """

    stuck_after: timedelta = STUCK_AFTER
    unanswered_after: timedelta = timedelta(minutes=30)
    first_answer: timedelta | None = None
    next_answer: timedelta | None = None
    return_after: timedelta | None = None
    hours: BusinessHours | None = None
    urgent_words: tuple[str, ...] = ()


DEFAULTS = ServiceLevels()
# What is stored in minutes.
MINUTES = ("stuck_after", "unanswered_after", "first_answer", "next_answer", "return_after")


def levels_of(company_id: str, project_id: str = "") -> ServiceLevels:
    """Return the service levels of a project, `SECONDS` old at most. One Query for each company.

    Raises the store's errors.
    """
    if not company_id:
        return DEFAULTS
    by_project = _levels_in(company_id)
    return by_project.get(project_id) or by_project.get("") or DEFAULTS


@cached_for(SECONDS)
def _levels_in(company_id: str) -> dict[str, ServiceLevels]:
    """The levels of a company under "", and of its projects that differ."""
    items = stored_in(company_id)
    company = read(items.get(COMPANY, {}), DEFAULTS)
    projects = {sk.removeprefix(PROJECT): item for sk, item in items.items() if sk.startswith(PROJECT)}
    return {"": company} | {project_id: read(item, company) for project_id, item in projects.items()}


def forget(company_id: str) -> None:
    """Read a company's levels anew: this worker has just changed them."""
    caching.forget(_levels_in, company_id)


def partition_of(company_id: str) -> str:
    """The partition of a company's levels."""
    return f"LEVELS#{company_id}"


def stored_in(company_id: str) -> dict[str, dict[str, Any]]:
    """The items of a company by their sort key, plain; nothing without the console's table.

    Raises the store's errors.
    """
    return {str(each["sk"]): each for each in items_of(partition_of(company_id), MOST_PROJECTS + 1)}


def read(item: dict[str, Any], otherwise: ServiceLevels) -> ServiceLevels:
    """Return the levels that an item sets, the others as `otherwise`. Never raises: what is no level is not set."""
    values: dict[str, Any] = {}
    for name in MINUTES:
        if name in item:
            minutes = item[name]
            is_number = isinstance(minutes, int) and not isinstance(minutes, bool)
            values[name] = timedelta(minutes=minutes) if is_number and minutes > 0 else None
    for name in ("stuck_after", "unanswered_after"):
        if values.get(name, True) is None:
            del values[name]
    if isinstance(hours := item.get("hours"), dict):
        values["hours"] = _hours(hours)
    if isinstance(words := item.get("urgent_words"), list):
        values["urgent_words"] = tuple(each.lower() for each in words if isinstance(each, str) and each.strip())
    return replace(otherwise, **values)


def _hours(stored: dict[str, Any]) -> BusinessHours | None:
    """Business hours as stored; None for no hours, or what is none."""
    try:
        days = frozenset(day for day in range(len(WEEKDAYS)) if day in stored["days"])
        opens, closes = time.fromisoformat(stored["opens"]), time.fromisoformat(stored["closes"])
        if not days or (closes <= opens and closes != time(0)):
            return None
        return BusinessHours(opens, closes, days, str(stored["time_zone"]))
    except (KeyError, TypeError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class StoredLevels:
    """What one item sets, for its form: plain values, `version` as seen by who changes it."""

    values: dict[str, Any]
    version: int = 0


def load(company_id: str, project_id: str, staff: Staff) -> tuple[StoredLevels, ServiceLevels]:
    """Return what a company or a project sets, and what holds where it sets nothing. One Query.

    Raises `Forbidden`, `NotFound` (out of scope), and the store's errors.
    """
    check_lead(company_id, staff)
    items = stored_in(company_id)
    item = items.get(_sort_key(project_id), {})
    otherwise = read(items.get(COMPANY, {}), DEFAULTS) if project_id else DEFAULTS
    return StoredLevels(item, version_of(item)), otherwise


def save(company_id: str, project_id: str, values: dict[str, Any], version: int, staff: Staff) -> None:
    """Replace what a company or a project sets, as it was seen, on record. `values` are plain; None sets nothing.

    Raises as `load`, and `Conflict` where somebody else has changed it meanwhile.
    """
    check_lead(company_id, staff)
    kept = {name: value for name, value in values.items() if value not in (None, "", [])}
    payload = {"company": company_id, "project": project_id, "set": sorted(kept)}
    told = TrailEntry(SYSTEM_TRAIL, Action.LEVELS_CHANGED, Actor.of(staff), company_id, payload=payload)
    try:
        put_version(partition_of(company_id), _sort_key(project_id), kept, version, told)
    except TransactionRefused as refused:
        raise Conflict(
            "Somebody else has just changed these service levels. Save again to replace their change with yours."
        ) from refused
    forget(company_id)


def _sort_key(project_id: str) -> str:
    return f"{PROJECT}{project_id}" if project_id else COMPANY
