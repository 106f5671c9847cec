"""Template filters of the stores' pages: URLs of places and actions, and cells with their labels."""

from collections.abc import Iterable

from django import template

from conversations.stores.records import Cell, RecordPlace, action_address, address_of

register = template.Library()


@register.filter
def address(place: RecordPlace, store: str) -> str:
    """Return the URL of a place in a store."""
    return address_of(store, place)


@register.filter
def acting(act: tuple[str, tuple[str, ...]], store: str) -> str:
    """Return the URL of an action in a store. `act` is its name and the parts of the record's key."""
    return action_address(store, *act)


@register.filter
def labelled(cells: Iterable[Cell], columns: tuple[str, ...]) -> list[tuple[str, Cell]]:
    """Pair the cells of a row with the labels of their columns, except the first, which is the row's name."""
    return list(zip(columns[1:], cells, strict=False))
