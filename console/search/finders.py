"""Finders search one store each. Apps register theirs at start-up, because the base app knows no stores."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from console.errors import ConsoleError
from console.permissions import Permission, Staff
from console.search.meanings import Meaning, MeaningKind, is_national, with_code

logger = logging.getLogger(__name__)

# Hits for a name in one store.
HITS = 20


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One hit: its label without personal data, its page, and a muted `note` after it."""

    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class FinderResult:
    """The hits of one store within the person's scope. `notices` say where the search was incomplete."""

    hits: tuple[SearchHit, ...] = ()
    notices: tuple[str, ...] = ()


# Searches for a recognised value in bounded reads within the person's scope. Raises the store's errors.
Find = Callable[[str, Staff], FinderResult]


@dataclass(frozen=True, slots=True)
class Finder:
    """A store, or a part of one. `title` is the heading of its hits; `find` has a search for each kind of value.

    Only people with `permission` see its hits.
    """

    title: str
    permission: Permission
    find: Mapping[MeaningKind, Find]


_finders: dict[str, Finder] = {}
_codes: Callable[[Staff], tuple[str, ...]] | None = None


def register_codes(codes: Callable[[Staff], tuple[str, ...]]) -> None:
    """Set the function that returns the country codes of a reader's numbers, likeliest first ("+44").

    Called once, at start-up. The function raises the store's errors.
    """
    global _codes
    _codes = codes


def with_country_codes(meanings: Sequence[Meaning], staff: Staff) -> tuple[tuple[str, ...], Sequence[Meaning]]:
    """Return the country codes tried for national numbers, and the meanings with those that the codes add at the end.

    If the codes cannot be read, none are tried.
    """
    national = [each for each in meanings if each.kind is MeaningKind.PHONE and is_national(each.value)]
    try:
        codes = _codes(staff) if _codes and national else ()
    except ConsoleError as error:
        logger.warning("Country codes could not be read: %s", type(error).__name__)
        codes = ()
    added = [Meaning(MeaningKind.PHONE, with_code(each.value, code)) for each in national for code in codes]
    return codes, [*meanings, *added]


def register(finder: Finder) -> None:
    """Register a finder; called once by its app, at start-up."""
    _finders[finder.title] = finder


def unregister(title: str) -> None:
    """Remove a registered finder."""
    del _finders[title]


def finders() -> tuple[Finder, ...]:
    """Return all finders in the order of registration."""
    return tuple(_finders.values())
