"""Names of companies and tenants, for choosing a scope.

The base knows no companies: the apps that do register their sources at start-up.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from console.errors import ConsoleError
from console.permissions import COMPANY, TENANT, Staff
from console.store.calls import parallel

logger = logging.getLogger(__name__)

# Returns names by id, within the person's scope, in a bounded read. Raises the store's errors.
Source = Callable[[Staff], Mapping[str, str]]

# Returns whether anything is stored for a company's or tenant's id, regardless of scope. Raises the store's errors.
Exists = Callable[[str], bool]

# What an administrator can say that an id of an old entry means.
MEANINGS = {"company": (COMPANY,), "tenant": (TENANT,), "both": (COMPANY, TENANT), "neither": ()}
IDS_NAMED = 5

_sources: dict[Source, str] = {}
_exist: dict[Exists, str] = {}


@dataclass(frozen=True, slots=True)
class KnownCompanies:
    """Names by entry of a scope, sorted by name. `failed`: not all could be read, so a missing id may still exist."""

    names: Mapping[str, str] = field(default_factory=dict)
    failed: bool = False

    def of_kind(self, kind: str) -> dict[str, str]:
        """Return names by id, for `COMPANY` or `TENANT`."""
        return {each.removeprefix(kind): name for each, name in self.names.items() if each.startswith(kind)}

    def meanings_of(self, owner_id: str) -> list[str]:
        """Return the known meanings of an id without its kind, such as "company Aardvark Ltd"."""
        found = ((kind, self.names.get(kind + owner_id)) for kind in (COMPANY, TENANT))
        return [f"{kind.rstrip(':')} {name}" for kind, name in found if name and name != owner_id]


def register(source: Source, kind: str) -> None:
    """Register a source of names of `COMPANY` or `TENANT`. Apps call this once at start-up."""
    _sources[source] = kind


def register_existence(exists: Exists, kind: str = "") -> None:
    """Register a check of whether an id of `kind` ("" for any) is in use. Apps call this once at start-up."""
    _exist[exists] = kind


def unregister_existence(exists: Exists) -> None:
    """Undo `register_existence`."""
    del _exist[exists]


def is_in_use(owner_id: str, kind: str = "", *, besides: Exists | None = None) -> bool:
    """Return whether any app stores something under that id, visible to people with it in scope.

    `kind`: only what is registered as `COMPANY` or `TENANT`; `besides`: without asking this one. Raises the store's
    errors.
    """
    return any(exists(owner_id) for exists, of in _exist.items() if exists is not besides and kind in ("", of))


def kinds_of(owner_id: str) -> list[str]:
    """Return the kinds in use under an id: `COMPANY`, `TENANT`, both or neither. For commands: it reads every store."""
    of_kinds = ((kind, exists) for exists, kind in _exist.items() if kind)
    return sorted({kind for kind, exists in of_kinds if exists(owner_id)})


def listed(ids: Sequence[str]) -> str:
    """Join ids for a sentence: the first few, and the number of others."""
    return ", ".join(ids[:IDS_NAMED]) + (f" and {len(ids) - IDS_NAMED} more" if len(ids) > IDS_NAMED else "")


def known_to(staff: Staff, kind: str = "") -> KnownCompanies:
    """Return the names within a person's scope, of `COMPANY`, `TENANT` or both. Never raises the store's errors."""
    wanted = [(each, of) for each, of in _sources.items() if kind in ("", of)]
    read = parallel(*(partial(_read, each, staff) for each, _ in wanted))
    names = {
        of + owner_id: name
        for (_, of), found in zip(wanted, read, strict=True)
        for owner_id, name in (found or {}).items()
    }
    ordered = sorted(names.items(), key=lambda pair: (pair[1].casefold(), pair[0]))
    return KnownCompanies(dict(ordered), failed=None in read)


def _read(source: Source, staff: Staff) -> Mapping[str, str] | None:
    try:
        return source(staff)
    except ConsoleError as error:
        logger.warning("Companies could not be read for choosing a scope: %s", type(error).__name__)
        return None
