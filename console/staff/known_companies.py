"""Names of companies and tenants, for choosing a scope.

The base knows no companies: the apps that do register a source at start-up.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from console.errors import ConsoleError
from console.permissions import COMPANY, TENANT, Staff

logger = logging.getLogger(__name__)

# From who asks to the names, by id, of what lies in their scope: a bounded read. Raises the store's errors.
Source = Callable[[Staff], Mapping[str, str]]

# Whether anything is stored of the company or tenant of an id, whoever asks. Raises the store's errors.
Exists = Callable[[str], bool]

IDS_NAMED = 5

_sources: dict[Source, str] = {}
_exist: dict[Exists, str] = {}


@dataclass(frozen=True, slots=True)
class KnownCompanies:
    """Names by entry of a scope, in the order of names. `failed`: they could not (all) be read, which says nothing
    about an id."""

    names: Mapping[str, str] = field(default_factory=dict)
    failed: bool = False

    def of_kind(self, kind: str) -> dict[str, str]:
        """Names by id, of `COMPANY` or `TENANT`."""
        return {each.removeprefix(kind): name for each, name in self.names.items() if each.startswith(kind)}

    def meanings_of(self, owner_id: str) -> list[str]:
        """What an id that stands alone may mean, as far as names are known: "company Aardvark Ltd"."""
        found = ((kind, self.names.get(kind + owner_id)) for kind in (COMPANY, TENANT))
        return [f"{kind.rstrip(':')} {name}" for kind, name in found if name and name != owner_id]


def register(source: Source, kind: str) -> None:
    """Called once at start-up by an app that knows companies or tenants; `kind` is `COMPANY` or `TENANT`."""
    _sources[source] = kind


def register_existence(exists: Exists, kind: str = "") -> None:
    """Called once at start-up by an app that can tell whether an id is in use: of a `COMPANY`, a `TENANT`, or any."""
    _exist[exists] = kind


def unregister_existence(exists: Exists) -> None:
    """Forget what `register_existence` was called with."""
    del _exist[exists]


def is_in_use(owner_id: str) -> bool:
    """Whether any app has something of that id, which whoever gets it as scope would see. Raises the store's errors."""
    return any(exists(owner_id) for exists in _exist)


def kinds_of(owner_id: str) -> list[str]:
    """What is there under an id: `COMPANY`, `TENANT`, both or neither. For commands: it asks every store in turn."""
    of_kinds = ((kind, exists) for exists, kind in _exist.items() if kind)
    return sorted({kind for kind, exists in of_kinds if exists(owner_id)})


def listed(ids: Sequence[str]) -> str:
    """Ids in a sentence, the first few by name."""
    return ", ".join(ids[:IDS_NAMED]) + (f" and {len(ids) - IDS_NAMED} more" if len(ids) > IDS_NAMED else "")


def known_to(staff: Staff, kind: str = "") -> KnownCompanies:
    """What is known within a person's scope, of `COMPANY`, `TENANT` or both. Never raises: a scope can do without."""
    names: dict[str, str] = {}
    failed = False
    for source, of in ((each, of) for each, of in _sources.items() if kind in ("", of)):
        try:
            names |= {of + owner_id: name for owner_id, name in source(staff).items()}
        except ConsoleError as error:
            failed = True
            logger.warning("Companies could not be read for choosing a scope: %s", type(error).__name__)
    ordered = sorted(names.items(), key=lambda pair: (pair[1].casefold(), pair[0]))
    return KnownCompanies(dict(ordered), failed)
