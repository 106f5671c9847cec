"""Template filters of the stores' pages: where a place is, and what a cell is called."""

from collections.abc import Iterable

from django import template

from conversations.stores.records import Cell, RecordPlace, action_address, address_of

register = template.Library()


@register.filter
def address(place: RecordPlace, store: str) -> str:
    """The address of a place of that store."""
    return address_of(store, place)


@register.filter
def acting(act: tuple[str, tuple[str, ...]], store: str) -> str:
    """The address of an action, named with the parts of what it is done to, of that store."""
    return action_address(store, *act)


@register.filter
def labelled(cells: Iterable[Cell], columns: tuple[str, ...]) -> list[tuple[str, Cell]]:
    """Each cell of a row with the words of its column; the first column is the row's name."""
    return list(zip(columns[1:], cells, strict=False))
