"""The other stores of conversations, one adapter for each schema: what is registered here has its section."""

from collections.abc import Callable
from functools import partial

from console import context, system_sections
from console.permissions import COMPANY, Permission
from console.search import finders
from console.staff import known_companies
from conversations.stores.adapter import Adapter
from conversations.stores.finding import finder_of
from conversations.stores.readiness import section

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
    system_sections.register(adapter.title, partial(section, adapter))
    finders.register(finder_of(adapter))
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
