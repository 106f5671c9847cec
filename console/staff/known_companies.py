"""Names of companies and tenants, for choosing a scope.

The base knows no companies: the apps that do register a source at start-up.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from console.errors import ConsoleError
from console.staff.permissions import Staff

logger = logging.getLogger(__name__)

# From who asks to the names, by id, of what lies in their scope: a bounded read. Raises the store's errors.
Source = Callable[[Staff], Mapping[str, str]]

IDS_NAMED = 5

_sources: list[Source] = []


@dataclass(frozen=True, slots=True)
class KnownCompanies:
    """Names by id, in the order of names. `failed`: they could not (all) be read, which says nothing about an id."""

    names: Mapping[str, str] = field(default_factory=dict)
    failed: bool = False


def register(source: Source) -> None:
    """Called once at start-up by an app that knows companies or tenants."""
    if source not in _sources:
        _sources.append(source)


def listed(ids: Sequence[str]) -> str:
    """Ids in a sentence, the first few by name."""
    return ", ".join(ids[:IDS_NAMED]) + (f" and {len(ids) - IDS_NAMED} more" if len(ids) > IDS_NAMED else "")


def known_to(staff: Staff) -> KnownCompanies:
    """What is known within a person's scope. Never raises: a scope can be given without."""
    names: dict[str, str] = {}
    failed = False
    for source in _sources:
        try:
            names |= source(staff)
        except ConsoleError as error:
            failed = True
            logger.warning("Companies could not be read for choosing a scope: %s", type(error).__name__)
    ordered = sorted(names.items(), key=lambda pair: (pair[1].casefold(), pair[0]))
    return KnownCompanies(dict(ordered), failed)
