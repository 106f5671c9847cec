"""A store in the search box: what was typed is given to its own look-ups."""

from collections.abc import Callable

from console.errors import NotFound
from console.forms import bind_lookup
from console.permissions import Permission, Staff
from console.search.finders import Finder, SearchFound, SearchHit
from conversations.stores.adapter import Adapter
from conversations.stores.addresses import address_of


def finder_of(adapter: Adapter) -> Finder:
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
