"""Paged lists: bounded reads, pages of an exact size, and cursors in both directions.

A page of a list without filters is one Query, which reads one row more than it shows and so knows whether there is a
next page. Filters run in Python over what was read (foreign items drift in ways that a filter expression would
silently drop), within a budget of reads. A page that spends it before it is full is *thin*: its cursor continues after
the last row looked at, and an empty page with a cursor is not the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from pynamodb.attributes import Attribute
from pynamodb.expressions.condition import Condition

from console import clock
from console.refs import seal_cursor, unseal_cursor
from console.schema.tables import TABLES
from console.store.models import ForeignModel, Key, key_names, key_of_item, query
from console.store.streams import Candidate, Chunk, read_on

M = TypeVar("M", bound=ForeignModel)

PAGE_SIZE = 50
READS_PER_PAGE = 4
FILTERED_LIMIT = 200
STEP_LIMIT = 50
# The notice of a list that was `restarted`.
RESTARTED = "That page no longer exists. This is the first page."


@dataclass(frozen=True, slots=True)
class PageSource(Generic[M]):
    """The source of a list's rows: one partition of a table or index, in one order.

    `partition` is one value, or one for each attribute of the index's partition key. `ranges` are inclusive bounds of
    the sort key from low to high, read one after the other; none: the whole partition.
    `visible` decides what the reader may see at all, `keep` is the filter (None: no filter). `binding` names what else
    a cursor belongs to, such as the filters' values. Items past their TTL are rows only `with_expired`.
    """

    model: type[M]
    partition: str | tuple[str, ...]
    attributes: tuple[str, ...]
    index: str = ""
    ranges: tuple[tuple[Any, Any], ...] = ()
    descending: bool = False
    visible: Callable[[M], bool] = field(default=lambda _: True)
    keep: Callable[[M], bool] | None = None
    binding: tuple[str, ...] = ()
    with_expired: bool = False

    @property
    def sort_attribute(self) -> str:
        """Name of the sort key of the table or index; "" if it has none."""
        spec = TABLES[self.model.Meta.table_key]
        found = spec.indexes[self.index].range if self.index else spec.range
        return found.name if found else ""

    @property
    def partition_values(self) -> dict[str, str]:
        """The value of each attribute of the partition key."""
        spec = TABLES[self.model.Meta.table_key]
        attributes = spec.indexes[self.index].hashes if self.index else (spec.hash,)
        values = (self.partition,) if isinstance(self.partition, str) else self.partition
        return {attribute.name: value for attribute, value in zip(attributes, values, strict=True)}

    @property
    def ttl_attribute(self) -> str:
        """Name of the TTL attribute; "" if the table has none or the index does not project it."""
        spec = TABLES[self.model.Meta.table_key]
        projected = spec.indexes[self.index].include if self.index else ()
        return spec.ttl if not projected or spec.ttl in projected else ""

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes to read."""
        return (*self.attributes, *key_names(self.model, self.index), self.ttl_attribute)

    def condition(self, number: int) -> Condition | None:
        """Return the condition on the sort key for the range of that number."""
        if not self.ranges:
            return None
        low, high = self.ranges[number]
        attribute: Attribute[Any] = getattr(self.model, self.sort_attribute)
        return attribute == low if low == high else attribute.between(low, high)

    def shows(self, item: M, now: datetime) -> bool:
        """Return whether the reader may see an item at all, regardless of the filter."""
        return (self.with_expired or not clock.is_expired(item.plain(self.ttl_attribute), now)) and self.visible(item)

    def bound_to(self, username: str) -> tuple[str, ...]:
        """Return the values that a cursor of this list is bound to."""
        table = self.model.Meta.table_key
        order = f"{'descending' if self.descending else 'ascending'} {self.ranges!r}"
        return (table, self.index, *self.partition_values.values(), order, *self.binding, username)


@dataclass(frozen=True, slots=True)
class PageRead(Generic[M]):
    """One page. `next` and `back` are sealed cursors ("" for none).

    `looked_at` counts the rows looked at that the reader may see; `thin`: the budget ended before the page was full.
    `from_start`: the page begins at the start of the list. `restarted`: the cursor was foreign or stale, so this is the
    first page.
    """

    items: tuple[M, ...]
    next: str
    back: str
    looked_at: int
    thin: bool
    from_start: bool
    restarted: bool


@dataclass(frozen=True, slots=True)
class _Position:
    """A place between two rows: after the row of `key` (None: before all) in range `number`, forward or `back`."""

    key: Key | None = None
    number: int = 0
    back: bool = False

    def sealed(self, binding: tuple[str, ...]) -> str:
        return seal_cursor([self.key, self.number, self.back], *binding)


def read_page(source: PageSource[M], username: str, cursor: str = "", size: int = PAGE_SIZE) -> PageRead[M]:
    """Return one page of a list; the first one for a cursor of another list or person. Raises the store's errors."""
    binding = source.bound_to(username)
    start = _unsealed(cursor, source, binding)
    restarted = bool(cursor) and start is None
    start = start or _Position()
    read, looked_at = _read(source, start, size + 1, _limit(source, size))
    if start.back and not read.candidates:
        # Nothing comes before, or no longer does: the list begins here.
        start = _Position()
        read, looked_at = _read(source, start, size + 1, _limit(source, size))
    rows, end = [each for each in read.candidates if each.item is not None], read.end
    if len(rows) > size:
        rows, end = rows[:size], rows[size - 1].place
    first = read.candidates[0].place if read.candidates else None
    near = None if start == _Position() else first or _Position(None, max(0, len(source.ranges) - 1))
    # `near` is the place after the first row looked at; without one, the list ends here, and back begins at its end.
    resume_at, behind = (near, end) if start.back else (end, near)
    return PageRead(
        items=tuple(each.item for each in (reversed(rows) if start.back else rows) if each.item is not None),
        next=_Position(resume_at.key, resume_at.number).sealed(binding) if resume_at else "",
        back=_Position(behind.key, behind.number, back=True).sealed(binding) if behind else "",
        looked_at=looked_at,
        thin=end is not None and len(rows) < size,
        from_start=behind is None if start.back else start == _Position(),
        restarted=restarted,
    )


def read_neighbour(source: PageSource[M], item: M, *, back: bool) -> M | None:
    """Return the row after an item of the list, or before it; None at the end (or beyond the budget of reads).

    Also None if the item lacks a key of the list's index, or is in another partition or in none of its ranges.
    """
    if any(item.plain(name) != value for name, value in source.partition_values.items()):
        return None
    keys = key_of_item(source.model, item.raw, source.index)
    number = _range_of(source, item)
    if number is None or set(keys) != set(key_names(source.model, source.index)):
        return None
    read, _ = _read(source, _Position(keys, number, back), 1, 1 if source.keep is None else STEP_LIMIT)
    return next(iter(read.items), None)


def _limit(source: PageSource[M], size: int) -> int:
    return size + 1 if source.keep is None else max(size + 1, FILTERED_LIMIT)


def _unsealed(cursor: str, source: PageSource[M], binding: tuple[str, ...]) -> _Position | None:
    data = unseal_cursor(cursor, *binding) if cursor else None
    match data:
        case [dict() | None as key, int() as number, bool() as back] if number < max(1, len(source.ranges)):
            return _Position(key, number, back)
    return None


def _read(source: PageSource[M], start: _Position, wanted: int, limit: int) -> tuple[Chunk[M], int]:
    """Read from a position within the budget of reads; also return how many rows looked at the reader may see."""
    now = clock.now()
    names, looked_at = source.names, 0

    def read(at: _Position) -> Chunk[M]:
        nonlocal looked_at
        found, last = query(
            source.model,
            source.partition,
            source.condition(at.number),
            limit=limit,
            index=source.index,
            forward=source.descending == at.back,
            start=at.key,
            attributes=names,
        )
        candidates: list[Candidate[M]] = []
        for raw in found:
            item = source.model.from_raw_data(raw)
            is_shown = source.shows(item, now)
            looked_at += is_shown
            is_kept = is_shown and (source.keep is None or source.keep(item))
            here = _Position(key_of_item(source.model, raw, source.index), at.number, start.back)
            candidates.append(Candidate(None, here, item if is_kept else None))
        return Chunk(candidates, _Position(last, at.number, start.back) if last else _next_range(source, at))

    return read_on(read, start, wanted, READS_PER_PAGE), looked_at


def _next_range(source: PageSource[M], at: _Position) -> _Position | None:
    number = at.number + (-1 if at.back else 1)
    return _Position(None, number, at.back) if 0 <= number < len(source.ranges) else None


def _range_of(source: PageSource[M], item: M) -> int | None:
    if not source.ranges:
        return 0
    value = item.plain(source.sort_attribute)
    for number, (low, high) in enumerate(source.ranges):
        if type(value) is type(low) and low <= value <= high:
            return number
    return None
