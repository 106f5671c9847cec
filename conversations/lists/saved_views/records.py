"""The record of a saved view (a list's filters, a name and an owner), and the reads of saved views.

Only filters with known names, listed values and ids are stored, which cannot contain personal data. Stored filters
pass the same check when they are read, so that a view that drifted has no URL.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.caching import cached_for
from console.errors import BadReference, Conflict, Forbidden, Invalid, NotFound
from console.permissions import Permission, Staff
from console.refs import seal, unseal
from console.store.calls import table_name
from console.store.connection import call
from console.store.models import items_of, plain_item, version_of
from conversations.companies import check_team_lead
from conversations.converting import CHANNELS, text_of, url_of, words
from conversations.finding.filters import FAMILY
from conversations.lists.forms import HAND_OFFS, KNOWN, ORDERS, TASKS
from conversations.queue.form import TAB_LABELS, WAITS
from conversations.queue.pages import NO_REASON
from conversations.records import Family

# --- Filters ----------------------------------------------------------------------------------------------------------

# Maximum characters of the id of a company, project or group in a filter.
LONGEST_ID = 200


class FilteredList(StrEnum):
    """The list that a view filters. The value is its name in URLs and stored items."""

    QUEUE = "queue"
    CONVERSATIONS = "conversations"


# Names that say where the filters apply. A view needs at least one other filter.
_PLACES = {FilteredList.QUEUE: ("tab",), FilteredList.CONVERSATIONS: ("company", "project")}
_NAMES = {
    FilteredList.QUEUE: ("tab", "company", "project", "channel", "reason", "group", "waited"),
    FilteredList.CONVERSATIONS: ("company", "project", "status", "channel", "hand_off", "task", "order"),
}
# Filters with listed values, and the label of each value. Other stored statuses and channels are free text.
_CHOICES: dict[str, Mapping[str, str]] = {
    "tab": TAB_LABELS,
    "channel": CHANNELS,
    "waited": {name: label.lower() for name, (label, _) in WAITS.items()},
    "status": {f"{FAMILY}{each}": each.label for each in Family} | {each: words(each) for each in KNOWN},
    "hand_off": HAND_OFFS,
    "task": TASKS,
    "order": ORDERS,
}
_SAID = {"waited": "waiting ", "hand_off": "hand-off: ", "task": "task: ", "status": "status: "}
# The digest of a reason (`mark_of_reason`).
_REASON = re.compile(rf"{NO_REASON}|[a-p]{{16}}")


def known_filters(of: FilteredList, values: Mapping[str, str]) -> dict[str, str]:
    """Return those query parameters that are filters of this list, in the list's order."""
    return {name: value for name in _NAMES[of] if (value := values.get(name, ""))}


def is_narrowed(of: FilteredList, values: Mapping[str, Any]) -> bool:
    """Return whether there is a filter other than those that say where the filters apply."""
    return bool(set(values) - set(_PLACES[of]))


def check(of: FilteredList, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the filters in order. Raises `Invalid` for the first that cannot be stored, or if there are none."""
    if not is_narrowed(of, values):
        raise Invalid("Set a filter first.")
    if of is FilteredList.CONVERSATIONS and not values.get("company"):
        raise Invalid("Choose a company first.")
    for name, value in values.items():
        if name not in _NAMES[of] or not isinstance(value, str) or not _can_be_kept(name, value):
            label = name.replace("_", "-").capitalize()
            raise Invalid(f"{label}: a view cannot keep this value. Choose another one, or clear the filter.")
    return known_filters(of, values)


def _can_be_kept(name: str, value: str) -> bool:
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name == "reason":
        return _REASON.fullmatch(value) is not None
    return 0 < len(value) <= LONGEST_ID and value.isprintable()


def address_of(of: FilteredList, filters: Mapping[str, str]) -> str:
    """Return the URL of a list with these filters, as the list itself writes it."""
    if of is FilteredList.QUEUE:
        return f"{reverse('queue')}?{urlencode(filters)}"
    query = {name: value for name, value in filters.items() if name not in _PLACES[of]}
    ids = [filters["company"], *([filters["project"]] if "project" in filters else [])]
    return url_of("project" if "project" in filters else "company", *ids, query=query)


def describe(filters: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """Describe filters in words. `names` are the names of companies by id."""
    say: dict[str, Callable[[str], str]] = {
        "company": lambda value: names.get(value, value),
        "project": lambda value: f"project {value}",
        "reason": lambda value: "no reason given" if value == NO_REASON else "one reason",
        "group": lambda value: "one group",
        "since": lambda value: f"created from {value}",
        "until": lambda value: f"created to {value}",
    }
    return [
        say[name](value) if name in say else _SAID.get(name, "") + _CHOICES[name].get(value, value)
        for name, value in filters.items()
    ]


# --- Views ------------------------------------------------------------------------------------------------------------

REFERENCE = "saved view"
_PREFIX, SHARED = "VIEWS#", "VIEWS#SHARED"
# The permission to save and see views of each list.
NEEDED = {
    FilteredList.QUEUE: Permission.HAND_OFF,
    FilteredList.CONVERSATIONS: Permission.CONVERSATION_READ,
}


class Audience(StrEnum):
    """Who a view is for."""

    STAFF = "STAFF"
    COMPANY = "COMPANY"
    ALL = "ALL"


@dataclass(frozen=True, slots=True)
class ViewOwner:
    """The owner of a view. `id` is the username or the company id; "" for all."""

    audience: Audience
    id: str = ""

    @property
    def key(self) -> str:
        """The key in references."""
        return f"{_PREFIX}{self.audience}" + (f"#{self.id}" if self.id else "")

    @property
    def partition(self) -> str:
        """The partition of its views."""
        return self.key if self.audience is Audience.STAFF else SHARED

    def is_seen_by(self, staff: Staff) -> bool:
        """Return whether a person sees its views."""
        if self.audience is Audience.COMPANY:
            return staff.scope.covers_company(self.id)
        return self.audience is Audience.ALL or self.id == staff.username

    def may_write(self, staff: Staff) -> bool:
        """Return whether a person may save, rename and delete its views."""
        if self.audience is Audience.STAFF:
            return self.is_seen_by(staff)
        is_theirs = staff.scope.everything if self.audience is Audience.ALL else self.is_seen_by(staff)
        return is_theirs and staff.can(Permission.TEAM_LEAD)

    def check_writer(self, staff: Staff) -> None:
        """Raise `NotFound` for another company or person, and `Forbidden` without the right to write."""
        if not self.is_seen_by(staff):
            raise NotFound
        if self.audience is Audience.COMPANY:
            check_team_lead(self.id, staff)
        if not self.may_write(staff):
            raise Forbidden("Only leads who see all companies can change the views for all.")


@dataclass(frozen=True, slots=True)
class SavedView:
    """A saved view. `filters` are empty if the stored ones cannot be read; `version` is the stored version."""

    owner: ViewOwner
    id: str
    name: str
    of: FilteredList
    filters: tuple[tuple[str, str], ...] = ()
    version: int = 0

    @property
    def reference(self) -> str:
        """The sealed reference for URLs."""
        return seal(REFERENCE, self.owner.key, self.id)

    @property
    def company_id(self) -> str:
        """The company of its filters, or ""."""
        return dict(self.filters).get("company", "")

    @property
    def url(self) -> str:
        """The URL of the list with its filters; "" if they cannot be read."""
        return address_of(self.of, dict(self.filters)) if self.filters else ""

    def is_for(self, staff: Staff) -> bool:
        """Return whether a person sees the view: their role has the list, and their scope includes the company."""
        is_in_scope = not self.company_id or staff.scope.covers_company(self.company_id)
        return is_in_scope and self.owner.is_seen_by(staff) and staff.can(NEEDED[self.of])


class ViewNameTaken(Conflict):
    """Raised if the owner already has a view with this name."""

    field = "name"

    def __init__(self) -> None:
        super().__init__("A view with this name already exists. Choose another name.")


class SavedViewChanged(Conflict):
    """Raised if somebody changed or deleted the view since the person saw it."""

    def __init__(self) -> None:
        super().__init__("Somebody else changed this view in the meantime. Check its name, then save again.")


class SavedViewGone(NotFound):
    """Raised if the view was renamed or deleted since the person saw it."""

    def __init__(self) -> None:
        super().__init__("This view was deleted or renamed.")


def open_reference(reference: str) -> tuple[ViewOwner, str]:
    """Return the owner and id of a view from its sealed reference. Raises `BadReference`."""
    key, view_id = unseal(REFERENCE, reference, 2)
    audience, _, owner_id = key.removeprefix(_PREFIX).partition("#")
    try:
        owner = ViewOwner(Audience(audience), owner_id)
    except ValueError as error:
        raise BadReference from error
    if owner.key != key or not view_id or bool(owner_id) is (owner.audience is Audience.ALL):
        raise BadReference
    return owner, view_id


# --- Reading ----------------------------------------------------------------------------------------------------------

# Maximum views of one owner; of a person that are read, including those out of scope; and of all shared views.
MOST, MOST_READ, MOST_SHARED = 50, 200, 500
LONGEST_NAME = 60
SECONDS = 10
# Sort key, before every digest, of the item that marks a lead's latest change of a shared view.
CHANGED = "#changed"


def views_for(staff: Staff) -> list[SavedView]:
    """Return the views that a person sees by name, own ones first. One Query; shared ones are at most `SECONDS` old.

    A person sees their own change of a shared view immediately, in every worker. Raises the store's errors.
    """
    if staff.scope.is_empty:
        return []
    own, changed = read_own(staff)
    found = [*_by_name(own), *shared_views(changed)]
    return [each for each in found if each.is_for(staff)]


def load(reference: str, staff: Staff) -> SavedView:
    """Load the view of a sealed reference for somebody who may change it, strongly consistent.

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


def read_own(staff: Staff) -> tuple[list[SavedView], str]:
    """Read a person's own views, whatever their scope, and the id of their latest change of a shared view."""
    owner = ViewOwner(Audience.STAFF, staff.username)
    items = items_of(owner.partition, MOST_READ, consistent=True)
    changed = next((str(each.get("change", ""))[:32] for each in items if each["sk"] == CHANGED), "")
    records = (_record(each, owner) for each in items if each["sk"] != CHANGED)
    return [each for each in records if each is not None], changed


@cached_for(SECONDS)
def shared_views(changed: str) -> tuple[SavedView, ...]:
    """Return every shared view by name, cached for each id of a change (`changed`) that it must include."""
    return _by_name(read_shared())


def read_shared() -> list[SavedView]:
    """Read every shared view, strongly consistent. Raises the store's errors."""
    items = items_of(SHARED, MOST_SHARED, consistent=True)
    return [found for each in items if (found := _record(each, _owner_of(each))) is not None]


def _owner_of(item: Mapping[str, Any]) -> ViewOwner:
    company_id = item.get("company_id")
    return ViewOwner(Audience.ALL) if company_id is None else ViewOwner(Audience.COMPANY, str(company_id))


def _by_name(views: Iterable[SavedView]) -> tuple[SavedView, ...]:
    return tuple(sorted(views, key=lambda each: (each.name.casefold(), each.id)))


def _record(item: Mapping[str, Any], owner: ViewOwner) -> SavedView | None:
    """Convert a stored view; None if its list is unknown or its owner has no id."""
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
