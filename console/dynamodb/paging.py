"""Lists page by page: bounded reads, pages of an exact size, and cursors that go on in both directions.

A page of a list without filters is one Query: it asks for one row more than it shows, and so knows whether a next
page exists without a second read. Filters run in Python over what was read (foreign items drift in ways that a filter
expression would silently drop), within a budget of reads; a page that spends it before it is full is *thin*: its
cursor goes on after the last row looked at, and an empty page with a cursor is not the end.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pynamodb.attributes import Attribute
from pynamodb.expressions.condition import Condition

from console import clock
from console.dynamodb.models import ForeignModel, key_of_item
from console.dynamodb.registry import TABLES
from console.refs import seal_cursor, unseal_cursor

M = TypeVar("M", bound=ForeignModel)

PAGE_SIZE = 50
READS_PER_PAGE = 4
FILTERED_LIMIT = 200
STEP_LIMIT = 50
# What a list says when it was `restarted`.
RESTARTED = "That page is not there any more, or was another list's: this is the first page."

Key = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Source(Generic[M]):
    """Where a list's rows come from: one partition of a table or index, in one order.

    `ranges` bound the sort key from low to high, both included, and are read one after the other; none: the whole
    partition. `visible` says what the reader may see at all, `keep` is the filter (None: no filter). `binding` names
    what else a cursor belongs to, such as the filters' values. Items past their TTL are rows only `with_expired`.
    """

    model: type[M]
    partition: str
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
        """Name of the sort key of the table or index; "" where it has none."""
        spec = TABLES[self.model.Meta.table_key]
        found = spec.index(self.index).range if self.index else spec.range
        return found.name if found else ""

    @property
    def partition_attribute(self) -> str:
        """Name of the partition key of the table or index."""
        spec = TABLES[self.model.Meta.table_key]
        return spec.index(self.index).hash.name if self.index else spec.hash.name

    @property
    def ttl_attribute(self) -> str:
        """Name of the TTL attribute; "" where the table has none or the index does not project it."""
        spec = TABLES[self.model.Meta.table_key]
        projected = spec.index(self.index).include if self.index else ()
        return spec.ttl if not projected or spec.ttl in projected else ""

    def bound_to(self, username: str) -> tuple[str, ...]:
        """What a cursor of this list is bound to."""
        table = self.model.Meta.table_key
        order = f"{'descending' if self.descending else 'ascending'} {self.ranges!r}"
        return (table, self.index, self.partition, order, *self.binding, username)


@dataclass(frozen=True, slots=True)
class PageRead(Generic[M]):
    """One page. `next` and `back` are sealed cursors ("" for none).

    `looked_at` is how many rows the reader may see were looked at; `thin`: the budget ended before the page was full.
    `from_start`: the page begins where the list begins. `restarted`: the cursor was foreign or stale, so that this is
    the first page.
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
    """A place between two rows: after the row of `key` (None: before all) in range `number`, going on or `back`."""

    key: Key | None = None
    number: int = 0
    back: bool = False

    def sealed(self, binding: tuple[str, ...]) -> str:
        return seal_cursor([self.key, self.number, self.back], *binding)


@dataclass(frozen=True, slots=True)
class _Walk(Generic[M]):
    """Rows in the order walked with their positions; `first` is the first row looked at; `end` where it stopped."""

    rows: tuple[tuple[M, _Position], ...]
    first: _Position | None
    end: _Position | None
    looked_at: int


def read_page(source: Source[M], username: str, cursor: str = "", size: int = PAGE_SIZE) -> PageRead[M]:
    """One page of a list. A cursor of another list, person or time gives the first page. Raises the store's errors."""
    binding = source.bound_to(username)
    start = _unsealed(cursor, source, binding)
    restarted = bool(cursor) and start is None
    start = start or _Position()
    walk = _walk(source, start, size + 1, _limit(source, size))
    if start.back and walk.first is None:
        # Nothing lies before, or not any more: the list begins here.
        start = _Position()
        walk = _walk(source, start, size + 1, _limit(source, size))
    rows, end = walk.rows, walk.end
    if len(rows) > size:
        rows, end = rows[:size], rows[size - 1][1]
    near = None if start == _Position() else walk.first or _Position(None, max(0, len(source.ranges) - 1))
    # `near` lies behind the first row looked at; where there was none, the list ends here, and back begins at its end.
    onward, behind = (near, end) if start.back else (end, near)
    return PageRead(
        items=tuple(item for item, _ in (reversed(rows) if start.back else rows)),
        next=_Position(onward.key, onward.number).sealed(binding) if onward else "",
        back=_Position(behind.key, behind.number, back=True).sealed(binding) if behind else "",
        looked_at=walk.looked_at,
        thin=end is not None and len(rows) < size,
        from_start=behind is None if start.back else start == _Position(),
        restarted=restarted,
    )


def read_neighbour(source: Source[M], item: M, *, back: bool) -> M | None:
    """The row after an item of the list, or before it; None at the end (or beyond the budget of reads).

    None too when the item lacks a key of the list's index, or lies in another partition or in none of its ranges.
    """
    if item.plain(source.partition_attribute) != source.partition:
        return None
    keys = key_of_item(source.model, item.raw, source.index or None)
    number = _range_of(source, item)
    if number is None or set(keys) != set(_key_names(source)):
        return None
    walk = _walk(source, _Position(keys, number, back), 1, 1 if source.keep is None else STEP_LIMIT)
    return walk.rows[0][0] if walk.rows else None


def _limit(source: Source[M], size: int) -> int:
    return size + 1 if source.keep is None else max(size + 1, FILTERED_LIMIT)


def _unsealed(cursor: str, source: Source[M], binding: tuple[str, ...]) -> _Position | None:
    data = unseal_cursor(cursor, *binding) if cursor else None
    match data:
        case [dict() | None as key, int() as number, bool() as back] if number < max(1, len(source.ranges)):
            return _Position(key, number, back)
    return None


def _walk(source: Source[M], start: _Position, wanted: int, limit: int) -> _Walk[M]:
    """Read until that many rows were found, the list ends, or the budget of reads is spent."""
    now = clock.now()
    rows: list[tuple[M, _Position]] = []
    first: _Position | None = None
    looked_at = 0
    at: _Position | None = start
    for _ in range(READS_PER_PAGE):
        if at is None or len(rows) >= wanted:
            break
        raw_items, last = _query(source, at, limit)
        for raw in raw_items:
            here = _Position(key_of_item(source.model, raw, source.index or None), at.number, start.back)
            first = first or here
            item = source.model.from_raw_data(raw)
            if not source.with_expired and clock.is_expired(item.plain(source.ttl_attribute), now):
                continue
            if not source.visible(item):
                continue
            looked_at += 1
            if source.keep is None or source.keep(item):
                rows.append((item, here))
        at = _Position(last, at.number, start.back) if last else _next_range(source, at)
    return _Walk(tuple(rows), first, at, looked_at)


def _query(source: Source[M], at: _Position, limit: int) -> tuple[list[Key], Key | None]:
    """One Query of at most `limit` items: the items, and where DynamoDB stopped (None at the end of the range)."""
    wanted = dict.fromkeys((*source.attributes, *_key_names(source), source.ttl_attribute))
    pages = source.model.query(
        source.partition,
        _condition(source, at.number),
        index_name=source.index or None,
        scan_index_forward=source.descending == at.back,
        page_size=limit,
        last_evaluated_key=at.key,
        attributes_to_get=[name for name in wanted if name],
    ).page_iter
    answer = next(pages)
    return answer["Items"], answer.get("LastEvaluatedKey")


def _key_names(source: Source[M]) -> list[str]:
    """Key attributes of the table, and of the index: what a position consists of."""
    table = source.model._get_connection().get_meta_table()
    return list(table.get_key_names(source.index or None))


def _condition(source: Source[M], number: int) -> Condition | None:
    if not source.ranges:
        return None
    low, high = source.ranges[number]
    attribute: Attribute[Any] = getattr(source.model, source.sort_attribute)
    return attribute == low if low == high else attribute.between(low, high)


def _next_range(source: Source[M], at: _Position) -> _Position | None:
    number = at.number + (-1 if at.back else 1)
    return _Position(None, number, at.back) if 0 <= number < len(source.ranges) else None


def _range_of(source: Source[M], item: M) -> int | None:
    if not source.ranges:
        return 0
    value = item.plain(source.sort_attribute)
    for number, (low, high) in enumerate(source.ranges):
        if type(value) is type(low) and low <= value <= high:
            return number
    return None
