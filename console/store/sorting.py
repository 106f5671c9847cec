"""Lists in an order that no index has: read whole and sorted in memory, or, if too large, with the newest rows first.

A list is small if `READS_PER_PAGE` Queries read all of it: each at most `ROWS_PER_READ` items and 1 MB. Of a larger
list, an index of time that it shares with other lists gives the newest rows, and its own index the others, unsorted.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from console import clock
from console.caching import RecentKeys
from console.errors import NotAccepted, TableMissing
from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel
from console.store.models import ForeignModel, Key, query
from console.store.paging import PAGE_SIZE, READS_PER_PAGE, PageRead, PageSource, read_neighbour, read_page
from console.store.presence import index_absent, known_without

M = TypeVar("M", bound=ForeignModel)
# Sorts the rows of a list; no two are equal. Text, so that a cursor can contain it.
Order = tuple[str, ...]

ROWS_PER_READ = 500
LARGE_SECONDS = 60
# The lists that were found to be too large.
_large = RecentKeys(LARGE_SECONDS)


@dataclass(frozen=True, slots=True)
class SortedSource(Generic[M]):
    """A list whose rows are all read, from one or more partitions, and sorted by `order`."""

    parts: tuple[PageSource[M], ...]
    order: Callable[[M], Order]

    @property
    def partitions(self) -> tuple[tuple[str, ...], ...]:
        """The names of what is read, whatever the filters."""
        return tuple((part.index, *part.partition_values.values(), repr(part.ranges)) for part in self.parts)

    def bound_to(self, username: str) -> tuple[str, ...]:
        """Return the values that a cursor of this list is bound to."""
        return ("sorted", *(value for part in self.parts for value in part.bound_to(username)))


def is_known_large(source: SortedSource[M]) -> bool:
    """Return whether a read found the list too large within the last `LARGE_SECONDS`. Never reads."""
    return source.partitions in _large


def read_sorted(source: SortedSource[M]) -> "SortedRows[M] | None":
    """Read all rows; None if they are too many, which is remembered for `LARGE_SECONDS`. Raises the store's errors."""
    if is_known_large(source):
        return None
    reads = parallel(*(partial(_read_items, part, READS_PER_PAGE) for part in source.parts))
    if any(end is not None for _, end in reads):
        _large.add(source.partitions)
        return None
    pairs = [(part, raw) for part, (items, _) in zip(source.parts, reads, strict=True) for raw in items]
    return _sorted_rows(pairs, source.order)


def _read_items(part: PageSource[M], reads: int, within: tuple[str, str] | None = None) -> tuple[list[Key], Key | None]:
    """Read the items of one partition, and where the reads ended; None at its end. `within` bounds the sort key."""
    bounded = part if within is None else replace(part, ranges=(within,))
    found: list[Key] = []
    start: Key | None = None
    for _ in range(reads):
        items, start = query(
            part.model,
            part.partition,
            bounded.condition(0),
            limit=ROWS_PER_READ,
            index=part.index,
            forward=not part.descending,
            start=start,
            attributes=part.names,
        )
        found += items
        if start is None:
            break
    return found, start


@dataclass(frozen=True, slots=True)
class SortedRows(Generic[M]):
    """The rows of a list in their order, `orders`. `looked_at` counts those that no filter left out too."""

    rows: Sequence[M]
    order: Callable[[M], Order]
    orders: Sequence[Order]
    looked_at: int

    def after(self, place: Order) -> int:
        """Return the number of the first row after a place."""
        return bisect_right(self.orders, place)

    def before(self, place: Order) -> int:
        """Return the number after that of the last row before a place."""
        return bisect_left(self.orders, place)

    def beside(self, item: M, *, back: bool) -> M | None:
        """Return the row after (or before) an item, which need not be a row; None at the end."""
        place = self.order(item)
        number = self.before(place) - 1 if back else self.after(place)
        return self.rows[number] if 0 <= number < len(self.rows) else None

    def window(self, place: Order | None, size: int, *, back: bool) -> tuple[int, int]:
        """Return the numbers from and to which a page shows rows after a place (None: from the start), or before it."""
        end = self.before(place) if place is not None and back else 0
        if end:
            return max(0, end - size), end
        start = 0 if place is None or back else self.after(place)
        return start, min(start + size, len(self.rows))


# Comes after every row: a page before it ends with the last row.
_LAST: Order = ("\U0010ffff",)


def _sorted_rows(pairs: Sequence[tuple[PageSource[M], Key]], order: Callable[[M], Order]) -> SortedRows[M]:
    now, rows, looked_at = clock.now(), [], 0
    for part, raw in pairs:
        item = part.model.from_raw_data(raw)
        if part.shows(item, now):
            looked_at += 1
            if part.keep is None or part.keep(item):
                rows.append((order(item), item))
    rows.sort(key=lambda each: each[0])
    return SortedRows([item for _, item in rows], order, [each for each, _ in rows], looked_at)


def sorted_page(source: SortedSource[M], rows: SortedRows[M], username: str, cursor: str, size: int) -> PageRead[M]:
    """Return one page of the rows that were read; the first one for a cursor of another list or person."""
    binding = source.bound_to(username)
    place, back = _unsealed(cursor, binding) or (None, False)
    start, end = rows.window(place, size, back=back)
    shown = rows.rows[start:end]
    return PageRead(
        items=tuple(shown),
        next=seal_cursor([*rows.order(shown[-1]), False], *binding) if end < len(rows.rows) else "",
        back=seal_cursor([*(rows.order(shown[0]) if shown else _LAST), True], *binding) if start else "",
        looked_at=rows.looked_at,
        thin=False,
        from_start=not start,
        restarted=bool(cursor) and place is None,
    )


def _unsealed(cursor: str, binding: tuple[str, ...]) -> tuple[Order, bool] | None:
    match unseal_cursor(cursor, *binding) if cursor else None:
        case [*place, bool() as back] if all(isinstance(each, str) for each in place):
            return tuple(place), back
    return None


# --- Lists that are too large -----------------------------------------------------------------------------------------

# The newest rows are those above the first and up to the second sort key of the index of time.
Span = tuple[str, str]
_NO_SPAN: Span = ("", "")


@dataclass(frozen=True, slots=True)
class PartlySortedSource(Generic[M]):
    """A list that is too large to sort. `newest` is an index of time whose `keep` selects the list's rows; `rest` has
    all rows. Each row is shown once: `rest` leaves out the span of time that `newest` showed.
    """

    newest: PageSource[M]
    rest: PageSource[M]
    order: Callable[[M], Order]

    def beyond(self, span: Span) -> PageSource[M]:
        """Return `rest` without the rows of a span."""
        name, (low, high) = self.newest.sort_attribute, span

        def is_beyond(item: M) -> bool:
            at = item.plain(name)
            return self.rest.visible(item) and not (isinstance(at, str) and low < at <= high)

        return replace(self.rest, visible=is_beyond, binding=(*self.rest.binding, *span))

    def bound_to(self, username: str) -> tuple[str, ...]:
        """Return the values that a cursor of this list is bound to."""
        return ("partly sorted", *self.newest.bound_to(username), *self.rest.bound_to(username))


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in such a list: a cursor of `beyond(span)` ("" for its start), or among the newest rows."""

    span: Span
    cursor: str | None = None
    order: Order | None = None
    back: bool = False

    def sealed(self, binding: tuple[str, ...]) -> str:
        return seal_cursor([*self.span, self.cursor, list(self.order or ()), self.back], *binding)

    @classmethod
    def unsealed(cls, cursor: str, binding: tuple[str, ...]) -> "_Place | None":
        match unseal_cursor(cursor, *binding) if cursor else None:
            case [str() as low, str() as high, str() | None as inner, [*order], bool() as back]:
                return cls((low, high), inner, tuple(map(str, order)) or None, back)
        return None


def is_place_of(source: PartlySortedSource[M], username: str, cursor: str) -> bool:
    """Return whether a cursor is of this list: who began to read it goes on, though it may be small by now."""
    return _Place.unsealed(cursor, source.bound_to(username)) is not None


def read_partly_sorted(source: PartlySortedSource[M], username: str, cursor: str, size: int = PAGE_SIZE) -> PageRead[M]:
    """Return one page: the newest rows, then the others. Raises the store's errors.

    One Query of the newest rows, only on pages that show them, and the budget of `read_page`.
    """
    binding = source.bound_to(username)
    place = _Place.unsealed(cursor, binding)
    if place is not None and place.cursor:
        read = read_page(source.beyond(place.span), username, place.cursor, size)
        if not read.from_start:
            return _wrapped(read, place.span, binding, read.back and _Place(place.span, read.back).sealed(binding))
    rows, span = _read_newest(source, place.span if place else None)
    if place is None or place.cursor is None:
        start, end = rows.window(place.order if place else None, size, back=bool(place and place.back))
    else:
        # The page where the newest rows end, when their pages are counted from the first.
        start, end = len(rows.rows) if place.cursor == "" else len(rows.rows) // size * size, len(rows.rows)
    shown = rows.rows[start:end]
    edge = rows.order(shown[0]) if shown else _LAST
    back = _Place(span, order=edge, back=True).sealed(binding) if start else ""
    restarted = bool(cursor) and place is None
    if end < len(rows.rows) or len(shown) == size:
        following = _Place(span, order=rows.order(shown[-1])) if end < len(rows.rows) else _Place(span, "")
        items = tuple(shown)
        return PageRead(items, following.sealed(binding), back, rows.looked_at, False, not start, restarted)
    read = read_page(source.beyond(span), username, size=size - len(shown))
    whole = replace(read, items=(*shown, *read.items), looked_at=rows.looked_at + read.looked_at, restarted=restarted)
    return _wrapped(whole, span, binding, back)


def _wrapped(read: PageRead[M], span: Span, binding: tuple[str, ...], back: str) -> PageRead[M]:
    following = _Place(span, read.next).sealed(binding) if read.next else ""
    return replace(read, next=following, back=back, from_start=not back)


def _read_newest(source: PartlySortedSource[M], span: Span | None) -> tuple[SortedRows[M], Span]:
    """Read the newest rows: those of a span, or of one that begins now. No rows if the index of time is missing."""
    newest, nothing = source.newest, _sorted_rows([], source.order)
    table_key = newest.model.Meta.table_key
    if span is not None and span[0] >= span[1]:
        return nothing, span
    if known_without(table_key, newest.index):
        return nothing, _NO_SPAN
    try:
        # Rows that are written with an earlier time may join a span: it takes more than one Query then.
        within = None if span is None else (f"{span[0]}\0", span[1])
        items, end = _read_items(newest, 1 if span is None else READS_PER_PAGE, within)
    except (NotAccepted, TableMissing):
        if not index_absent(table_key, newest.index):
            raise
        return nothing, _NO_SPAN
    name = newest.sort_attribute
    if span is None:
        # Rows of the same instant as the last one may be unread, so it is left to the rest.
        span = (items[-1][name]["S"] if end else "", items[0][name]["S"]) if items else _NO_SPAN
    pairs = [(newest, raw) for raw in items if raw[name]["S"] > span[0]]
    return _sorted_rows(pairs, source.order), span


def read_partly_sorted_neighbour(source: PartlySortedSource[M], item: M, *, back: bool) -> M | None:
    """Return the row after (or before) an item; None at the end, or if the reads of a page do not find it."""
    rows, span = _read_newest(source, None)
    rest = source.beyond(span)
    rest = replace(rest, keep=rest.keep or (lambda _: True))
    at: Any = item.plain(source.newest.sort_attribute)
    if rows.rows and isinstance(at, str) and at > span[0]:
        found = rows.beside(item, back=back)
        return found if found is not None or back else next(iter(read_page(rest, "", size=1).items), None)
    found = read_neighbour(rest, item, back=back)
    return rows.rows[-1] if found is None and back and rows.rows else found
