"""The other stores of conversations, one adapter for each schema: what is registered here has its section."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from console import context, system_sections
from console.errors import NotFound
from console.forms import bind_lookup
from console.permissions import COMPANY, Permission, Staff
from console.schema.tables import TABLES
from console.search import finders
from console.search.finders import Finder, SearchFound, SearchHit
from console.staff import known_companies
from console.store.presence import has_known_key, index_ready, table_ready
from console.system_sections import SystemSection
from console.trees import Fact
from conversations.stores.adapter import Adapter
from conversations.stores.records import address_of

_adapters: dict[str, Adapter] = {}


def register(adapter: Adapter) -> Callable[[], None]:
    """Give a store its pages, and its place in navigation, search and system page; returns what takes them back.

    Before an id becomes part of a scope, the store is asked whether it has anything under it. Called once at start-up
    for each.
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


def named(name: str) -> Adapter:
    """The adapter of that name. Raises `KeyError`."""
    return _adapters[name]


# --- The search box: what was typed is given to the store's own look-ups --------------------------------------------


def _finder(adapter: Adapter) -> Finder:
    """What a store finds, by kind of identifier."""
    return Finder(
        adapter.title,
        Permission.CONVERSATION_READ,
        {kind: _by(adapter, pairs) for kind, pairs in adapter.found_by.items()},
    )


def _by(adapter: Adapter, pairs: tuple[tuple[str, str], ...]) -> Callable[[str, Staff], SearchFound]:
    """By each of these look-ups, one after the other."""

    def find(value: str, staff: Staff) -> SearchFound:
        if adapter.unsearched and not staff.scope.everything:
            return SearchFound(notices=(adapter.unsearched,))
        return SearchFound(tuple(hit for look, field in pairs for hit in _hits(adapter, look, field, value, staff)))

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
    """What of the store is not there, in words: tables, then indexes of the tables that are."""
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
    """The store on the system page."""
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
    """A registered store, by its name in an address."""

    regex = "[a-z][a-z-]*"

    def to_python(self, value: str) -> Adapter:
        """The store's adapter; `ValueError`, which leads on to other routes, for a name that no store has."""
        try:
            return named(value)
        except KeyError:
            raise ValueError("no store of that name") from None

    def to_url(self, value: Adapter | str) -> str:
        """Return the name of a store as it stands in an address."""
        return value if isinstance(value, str) else value.name
