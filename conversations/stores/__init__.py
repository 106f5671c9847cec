"""The other stores of conversations, with one adapter for each schema; each registered store has its section."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from console import context, system_sections
from console.errors import NotFound
from console.forms import bind_lookup
from console.permissions import COMPANY, Permission, Staff
from console.schema.tables import TABLES
from console.search import finders
from console.search.finders import Finder, FinderResult, SearchHit
from console.staff import known_companies
from console.store.presence import has_known_key, index_ready, table_ready
from console.system_sections import SystemSection
from console.trees import Fact
from conversations.stores.adapter import Adapter
from conversations.stores.records import address_of

_adapters: dict[str, Adapter] = {}


def register(adapter: Adapter) -> Callable[[], None]:
    """Register a store's pages, navigation, search and system page; return a function that unregisters them.

    Also register it to confirm that an id is in use before the id becomes part of a scope. Called once at start-up for
    each store.
    """
    _adapters[adapter.name] = adapter
    address = partial(context.address_of, "store", adapter.name)
    context.register_section(
        adapter.title, adapter.icon, Permission.CONVERSATION_READ, address, for_everything=bool(adapter.unsearched)
    )
    system_sections.register(adapter.title, partial(section_of, adapter))
    finders.register(_finder(adapter))
    known_companies.register_existence(adapter.is_in_use, COMPANY)

    def take_back() -> None:
        del _adapters[adapter.name]
        context.unregister_section(adapter.title)
        system_sections.unregister(adapter.title)
        finders.unregister(adapter.title)
        known_companies.unregister_existence(adapter.is_in_use)

    return take_back


# --- The search box: passes its input to the store's own look-ups ---------------------------------------------------


def _finder(adapter: Adapter) -> Finder:
    """Return a finder that runs the store's look-ups for each kind of identifier."""
    return Finder(
        adapter.title,
        Permission.CONVERSATION_READ,
        {kind: _by(adapter, pairs) for kind, pairs in adapter.found_by.items()},
    )


def _by(adapter: Adapter, pairs: tuple[tuple[str, str], ...]) -> Callable[[str, Staff], FinderResult]:
    """Return a function that runs these look-ups one after the other."""

    def find(value: str, staff: Staff) -> FinderResult:
        if adapter.unsearched and not staff.scope.everything:
            return FinderResult(notices=(adapter.unsearched,))
        return FinderResult(tuple(hit for look, field in pairs for hit in _hits(adapter, look, field, value, staff)))

    return find


def _hits(adapter: Adapter, look: str, field: str, value: str, staff: Staff) -> tuple[SearchHit, ...]:
    kind = adapter.lookups[look]
    form = bind_lookup(kind, {field: value})
    if not form.is_valid():
        return ()
    try:
        place = form.find(staff)
    except NotFound:
        return ()
    return (SearchHit(kind.found, address_of(adapter.name, place)),)


# --- The system page ------------------------------------------------------------------------------------------------


def _missing(adapter: Adapter) -> tuple[str, ...]:
    """Return the missing parts of the store as text: tables, then indexes of the tables that exist."""
    absent = [key for key in adapter.tables if not table_ready(key)]
    there = [TABLES[key] for key in adapter.tables if key not in absent]
    return (
        *(f"the table {TABLES[key].base}" for key in absent),
        *(f"a known key of the table {spec.base}" for spec in there if not has_known_key(spec.key)),
        *(
            f"the index {index.name}"
            for spec in there
            for index in (*spec.gsis, *spec.lsis)
            if not index_ready(spec.key, index.name)
        ),
    )


def section_of(adapter: Adapter, now: datetime) -> SystemSection:
    """Return the store's section of the system page."""
    title = adapter.title
    if not table_ready(adapter.tables[0]):
        return SystemSection(title, "absent", "This environment has no tables for it.", "")
    lacking = _missing(adapter)
    facts = (Fact("Tables", list=tuple(TABLES[key].base for key in adapter.tables)),)
    if lacking:
        words = "Its pages say what does not work without the missing tables and indexes."
        return SystemSection(title, "partly", words, "human", (*facts, Fact("Not there", list=lacking)))
    return SystemSection(title, "ready", "Every table and index is there.", "good", facts)


class StoreConverter:
    """A URL converter from the name of a registered store to its adapter."""

    regex = "[a-z][a-z-]*"

    def to_python(self, value: str) -> Adapter:
        """Return the adapter of a store. Raises `ValueError` for an unknown name, so that other routes are tried."""
        try:
            return _adapters[value]
        except KeyError:
            raise ValueError("no store of that name") from None

    def to_url(self, value: Adapter | str) -> str:
        """Return the name of a store for a URL."""
        return value if isinstance(value, str) else value.name
