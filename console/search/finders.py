"""Who is asked for what: each app registers its finders at start-up, as the base knows none of the stores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from console.permissions import Permission, Staff
from console.search.meanings import MeaningKind

# Of what one name finds, in one store.
HITS = 20


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Something found: what it is called, without personal data, and its page. `note` are muted words after it."""

    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class SearchFound:
    """What one store has of it within the person's scope. `notices` say how far it looked, where not to the end."""

    hits: tuple[SearchHit, ...] = ()
    notices: tuple[str, ...] = ()


# From the value as it was recognised and who asks: bounded reads within the person's scope. Raises the store's errors.
Find = Callable[[str, Staff], SearchFound]


@dataclass(frozen=True, slots=True)
class Finder:
    """A store, or a part of one. `title` heads what it finds; `find` says of each kind how it is looked for.

    Only people with the permission are shown anything of it.
    """

    title: str
    permission: Permission
    find: Mapping[MeaningKind, Find] = field(default_factory=dict)


# From who asks to the country codes with which a national number may be meant, such as "+44": likeliest first.
Codes = Callable[[Staff], tuple[str, ...]]

_finders: dict[str, Finder] = {}
_codes: list[Codes] = []


def register_codes(codes: Codes) -> None:
    """Called once at start-up by an app that knows where people's numbers are."""
    if codes not in _codes:
        _codes.append(codes)


def country_codes(staff: Staff) -> tuple[str, ...]:
    """The country codes to try. Raises the store's errors."""
    return tuple(dict.fromkeys(code for codes in _codes for code in codes(staff)))


def register(finder: Finder) -> None:
    """Called once at start-up by an app that can find something."""
    _finders[finder.title] = finder


def unregister(title: str) -> None:
    """Take it away again."""
    del _finders[title]


def finders() -> tuple[Finder, ...]:
    """All of them, in the order of registration."""
    return tuple(_finders.values())
