"""Which filters a saved view keeps: known names with listed values and ids, and nothing that can hold personal data.

The same check reads what is stored, so that a view that drifted leads nowhere.
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.errors import Invalid
from conversations.forms import HAND_OFFS, KNOWN, ORDERS, TASKS
from conversations.queries import FAMILY
from conversations.queue.form import TAB_LABELS, WAITS
from conversations.queue.pages import NO_REASON
from conversations.reading import CHANNELS, url_of, words
from conversations.statuses import Family

# Characters of the id of a company, a project or a group, as the filters take them.
LONGEST_ID = 200


class FilteredList(StrEnum):
    """What a view is of. Its value is its name in addresses and in what is stored."""

    QUEUE = "queue"
    CONVERSATIONS = "conversations"


# What says where the filters apply; a view needs one more.
_PLACES = {FilteredList.QUEUE: ("tab",), FilteredList.CONVERSATIONS: ("company", "project")}
_NAMES = {
    FilteredList.QUEUE: ("tab", "company", "project", "channel", "reason", "group", "waited"),
    FilteredList.CONVERSATIONS: ("company", "project", "status", "channel", "hand_off", "task", "order"),
}
# Filters with listed values, and how each value reads. Statuses and channels of other spellings are free text.
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
# A reason is a digest of what was given as one.
_REASON = re.compile(rf"{NO_REASON}|[a-p]{{16}}")


def given(of: FilteredList, values: Mapping[str, str]) -> dict[str, str]:
    """Return those of an address' values that are filters of that list, in their order."""
    return {name: value for name in _NAMES[of] if (value := values.get(name, ""))}


def is_narrowed(of: FilteredList, values: Mapping[str, Any]) -> bool:
    """Whether values have a filter beside those that say where they apply."""
    return bool(set(values) - set(_PLACES[of]))


def check(of: FilteredList, values: Mapping[str, Any]) -> dict[str, str]:
    """Return filters that can be kept, in their order. Raises `Invalid` for the first that cannot, and for none."""
    if not is_narrowed(of, values):
        raise Invalid("Set a filter first.")
    if of is FilteredList.CONVERSATIONS and not values.get("company"):
        raise Invalid("Choose a company first.")
    for name, value in values.items():
        if name not in _NAMES[of] or not isinstance(value, str) or not _can_be_kept(name, value):
            label = name.replace("_", "-").capitalize()
            raise Invalid(f"{label}: a view cannot keep this value. Choose another one, or clear the filter.")
    return given(of, values)


def _can_be_kept(name: str, value: str) -> bool:
    if name in _CHOICES:
        return value in _CHOICES[name]
    if name == "reason":
        return _REASON.fullmatch(value) is not None
    return 0 < len(value) <= LONGEST_ID and value.isprintable()


def address_of(of: FilteredList, filters: Mapping[str, str]) -> str:
    """Return the address of a list with these filters, as the list itself spells it."""
    if of is FilteredList.QUEUE:
        return f"{reverse('queue')}?{urlencode(filters)}"
    query = {name: value for name, value in filters.items() if name not in _PLACES[of]}
    ids = [filters["company"], *([filters["project"]] if "project" in filters else [])]
    path = url_of("project" if "project" in filters else "company", *ids)
    return f"{path}?{urlencode(query)}" if query else path


def describe(filters: Mapping[str, str], names: Mapping[str, str]) -> list[str]:
    """Say in words what filters show. `names`: of companies, by id."""
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
