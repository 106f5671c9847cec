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
from pynamodb.attributes import UnicodeAttribute

from console.caching import cached_for
from console.errors import BadReference, Invalid
from console.permissions import FOR_ALL, Owner, OwnerKind, Permission, Staff
from console.refs import seal, unseal
from console.store.models import ConsoleItem, PlainMapAttribute
from console.trail.items import ItemGone, VersionedItem
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
    """Return the URL of a list with these filters, as the list itself writes it; of all companies without one."""
    if of is FilteredList.QUEUE:
        return f"{reverse('queue')}?{urlencode(filters)}"
    if "company" not in filters:
        return reverse("conversations")
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


def key_of(owner: Owner) -> str:
    """Return the key of an owner in references: `VIEWS#ALL`, `VIEWS#COMPANY#{id}` or `VIEWS#STAFF#{username}`."""
    return f"{_PREFIX}{owner.kind.upper()}" + (f"#{owner.id}" if owner.id else "")


def partition_of(owner: Owner) -> str:
    """Return the partition of an owner's views."""
    return key_of(owner) if owner.kind is OwnerKind.STAFF else SHARED


def may_write(owner: Owner, staff: Staff) -> bool:
    """Return whether a person may save, rename and delete an owner's views."""
    return owner.may_write(staff, Permission.TEAM_LEAD)


def check_writer(owner: Owner, staff: Staff) -> None:
    """Raise `NotFound` for another company or person, and `Forbidden` without the right to write."""
    owner.check_writer(staff, Permission.TEAM_LEAD, "Only leads who see all companies can change the views for all.")


@dataclass(frozen=True, slots=True)
class SavedView:
    """A saved view. `filters` are empty if the stored ones cannot be read; `version` and `updated_by` are stored."""

    owner: Owner
    id: str
    name: str
    of: FilteredList
    filters: tuple[tuple[str, str], ...] = ()
    version: int = 0
    updated_by: str = ""

    @property
    def reference(self) -> str:
        """The sealed reference for URLs."""
        return seal(REFERENCE, key_of(self.owner), self.id)

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


class StoredView(VersionedItem):
    """A saved view as it is stored."""

    CHANGED = "Somebody else changed this view in the meantime."
    TAKEN = "A view with this name already exists. Choose another name."
    name = UnicodeAttribute(default="")
    of = UnicodeAttribute(attr_name="list", default="")
    filters = PlainMapAttribute(default=dict)
    company_id = UnicodeAttribute(null=True)


class LatestChange(ConsoleItem):
    """The id of a lead's latest change of a shared view, in the partition of their own ones."""

    change = UnicodeAttribute()


def open_reference(reference: str) -> tuple[Owner, str]:
    """Return the owner and id of a view from its sealed reference. Raises `BadReference`."""
    key, view_id = unseal(REFERENCE, reference, 2)
    kind, separator, owner_id = key.removeprefix(_PREFIX).partition("#")
    owner = Owner.parse(f"{kind.lower()}{separator}{owner_id}")
    if key_of(owner) != key or not view_id:
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

    Raises `ItemGone`, `NotFound`, `Forbidden`, and the store's errors.
    """
    owner, view_id = open_reference(reference)
    check_writer(owner, staff)
    stored = StoredView.find(partition_of(owner), view_id)
    found = _record(stored, owner) if stored else None
    if found is None or not found.is_for(staff):
        raise ItemGone("This view was deleted or renamed.")
    return found


def read_own(staff: Staff) -> tuple[list[SavedView], str]:
    """Read a person's own views, whatever their scope, and the id of their latest change of a shared view."""
    owner = Owner(OwnerKind.STAFF, staff.username)
    items = StoredView.list_in(partition_of(owner), MOST_READ)
    changed = next((str(each.plain("change"))[:32] for each in items if each.sk == CHANGED), "")
    records = (_record(each, owner) for each in items if each.sk != CHANGED)
    return [each for each in records if each is not None], changed


@cached_for(SECONDS)
def shared_views(changed: str) -> tuple[SavedView, ...]:
    """Return every shared view by name, cached for each id of a change (`changed`) that it must include."""
    return _by_name(read_shared())


def read_shared() -> list[SavedView]:
    """Read every shared view, strongly consistent. Raises the store's errors."""
    items = StoredView.list_in(SHARED, MOST_SHARED)
    return [found for each in items if (found := _record(each, _owner_of(each))) is not None]


def _owner_of(item: StoredView) -> Owner:
    # One that is no text is of no company, but not of all either.
    company_id = item.plain("company_id")
    return FOR_ALL if company_id is None else Owner(OwnerKind.COMPANY, str(company_id))


def _by_name(views: Iterable[SavedView]) -> tuple[SavedView, ...]:
    return tuple(sorted(views, key=lambda each: (each.name.casefold(), each.id)))


def _record(item: StoredView, owner: Owner) -> SavedView | None:
    """Convert a stored view; None if its list is unknown or its owner has no id."""
    try:
        of = FilteredList(item.of)
    except ValueError:
        return None
    if owner == Owner(OwnerKind.COMPANY):
        return None
    try:
        filters = check(of, item.filters)
    except Invalid:
        filters = {}
    if owner.kind is not OwnerKind.STAFF and filters.get("company", "") != owner.id:
        filters = {}
    name = text_of(item.name, LONGEST_NAME) or item.sk
    return SavedView(owner, item.sk, name, of, tuple(filters.items()), item.version, item.updated_by)
