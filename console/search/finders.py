"""Finders: what the search box asks. Each app registers its own at start-up, because the base knows no stores."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from console.errors import ConsoleError
from console.permissions import Permission, Staff
from console.search.meanings import Meaning, MeaningKind, is_national, with_code

logger = logging.getLogger(__name__)

# Of what one name finds, in one store.
HITS = 20


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Something found: its label without personal data, its page, and a muted `note` after it."""

    label: str
    url: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class SearchFound:
    """What one store has within the person's scope. `notices` say where it did not look to the end."""

    hits: tuple[SearchHit, ...] = ()
    notices: tuple[str, ...] = ()


# Looks for a recognised value in bounded reads within the person's scope. Raises the store's errors.
Find = Callable[[str, Staff], SearchFound]


@dataclass(frozen=True, slots=True)
class Finder:
    """A store, or a part of one. `title` heads its hits; `find` says how to look for each kind.

    Only people with `permission` see its hits.
    """

    title: str
    permission: Permission
    find: Mapping[MeaningKind, Find]


_finders: dict[str, Finder] = {}
_codes: Callable[[Staff], tuple[str, ...]] | None = None


def register_codes(codes: Callable[[Staff], tuple[str, ...]]) -> None:
    """Called once at start-up by the app that knows people's numbers: which country codes a reader's numbers have."""
    global _codes
    _codes = codes


def country_codes(staff: Staff) -> tuple[str, ...]:
    """The country codes to try a national number with, such as "+44", likeliest first. Raises the store's errors."""
    return _codes(staff) if _codes else ()


def with_codes(meanings: Sequence[Meaning], staff: Staff) -> tuple[tuple[str, ...], Sequence[Meaning]]:
    """The country codes to try a national number with, and all meanings, those added by the codes at the end.

    Codes that cannot be read are not tried.
    """
    national = [each for each in meanings if each.kind is MeaningKind.PHONE and is_national(each.value)]
    try:
        codes = country_codes(staff) if national else ()
    except ConsoleError as error:
        logger.warning("Country codes could not be read: %s", type(error).__name__)
        codes = ()
    added = [Meaning(MeaningKind.PHONE, with_code(each.value, code)) for each in national for code in codes]
    return codes, [*meanings, *added]


def register(finder: Finder) -> None:
    """Called once at start-up by an app that can find something."""
    _finders[finder.title] = finder


def unregister(title: str) -> None:
    """Take it away again."""
    del _finders[title]


def finders() -> tuple[Finder, ...]:
    """All of them, in the order of registration."""
    return tuple(_finders.values())
