"""Reading an index or a partition range by range: each is one format of one prefix, latest first (see `lanes`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Generic, TypeVar

from console import clock
from console.store.calls import parallel
from console.store.models import ForeignModel
from console.store.streams import Key, key_names, query
from conversations.stores.threads.key_formats import (
    END,
    FORMATS,
    NEVER,
    ODD,
    bounds,
    format_of,
    instant_of,
    second_of,
    text_below,
    text_from,
)

M = TypeVar("M", bound=ForeignModel)

# Items may have 400 KB, and an answer 1 MB: a range is read so often at most for one window.
READS = 4
# A window ends between two seconds, because spellings differ in how they sort within one: so many more it may hold.
SLACK = 25
# Of items whose keys do not tell their time, all are read to put them in order; beyond so many, in order of keys.
ODD_LIMIT = 400


@dataclass(frozen=True, slots=True)
class KeySource(Generic[M]):
    """What is read: a partition of a table or index, those items of it whose sort key begins with one of `prefixes`.

    `visible` says what the reader may see at all; `since` (included) and `until` (not included) bound the time.
    """

    model: type[M]
    partition: str
    prefixes: tuple[str, ...]
    sort: str
    attributes: tuple[str, ...] = ()
    index: str = ""
    visible: Callable[[M], bool] = field(default=lambda _: True)
    since: datetime | None = None
    until: datetime | None = None

    @property
    def has_dates(self) -> bool:
        """Whether time is bounded."""
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A format of a prefix as far as it is still to be read: what sorts before `below`.

    Of a format whose keys tell no time, `before` is the order (second, sort key) of what was shown last, if anything.
    """

    prefix: str
    key_format: int
    below: str = ""
    before: tuple[int, str] | None = None

    @property
    def low(self) -> str:
        """Where the format begins."""
        return self.prefix + bounds(self.key_format)[0]

    @property
    def high(self) -> str:
        """Where what is to be read of it ends; not included."""
        return self.below or self.prefix + bounds(self.key_format)[1]


@dataclass(frozen=True, slots=True)
class DatedItem(Generic[M]):
    """An item with its time, and the second in which it is ordered. `alive`: it has not expired, and may be seen."""

    item: M
    sort_key: str
    at: datetime | None
    second: int
    alive: bool

    @property
    def order(self) -> tuple[int, str]:
        """Among all items: by second, and within one by what the sort key says; no two have the same."""
        prefix, _, written = self.sort_key.partition("#")
        return self.second, f"{written}\0{prefix}"


@dataclass(frozen=True, slots=True)
class RangeRead(Generic[M]):
    """What was read of a range, latest first; `whole`: nothing is left of it."""

    key_range: KeyRange
    entries: tuple[DatedItem[M], ...]
    whole: bool


def first_read(source: KeySource[M], prefix: str, size: int) -> RangeRead[M]:
    """The latest of a prefix, whatever formats it has."""
    entries, whole = entries_of(source, prefix, prefix + END, size + SLACK)
    return RangeRead(KeyRange(prefix, FORMATS[-1]), tuple(entries), whole)


def by_format(read: RangeRead[M]) -> list[RangeRead[M]]:
    """What was read of a prefix as one read for each format, from the last format to that which was read last."""
    prefix, found = read.key_range.prefix, dict[int, list[DatedItem[M]]]()
    for entry in read.entries:
        found.setdefault(format_of(entry.sort_key.removeprefix(prefix)), []).append(entry)
    last = min(found, default=0)
    return [
        RangeRead(
            KeyRange(prefix, key_format),
            tuple(entries if key_format in ODD else falling(entries)),
            read.whole or key_format != last,
        )
        for key_format, entries in sorted(found.items(), reverse=True)
    ]


def whole_if_odd(source: KeySource[M], read: RangeRead[M], size: int) -> RangeRead[M]:
    """A format whose keys tell no time in order of time, which takes all of it."""
    if read.key_range.key_format not in ODD:
        return read
    return in_time(read) if read.whole else read_range(source, read.key_range, size)


def read_range(source: KeySource[M], key_range: KeyRange, size: int, top: int | None = None) -> RangeRead[M]:
    """The latest of a range; nothing of the second `top` or later counts."""
    odd = key_range.key_format in ODD
    entries, whole = entries_of(source, key_range.low, key_range.high, ODD_LIMIT if odd else size + SLACK)
    read = RangeRead(key_range, tuple(entries), whole)
    if odd and whole:
        read = in_time(read)
    else:
        read = replace(read, entries=tuple(falling(entries)))
    if top is None:
        return read
    return replace(read, entries=tuple(replace(e, alive=e.alive and e.second < top) for e in read.entries))


def in_time(read: RangeRead[M]) -> RangeRead[M]:
    """By order of time, from where the range goes on."""
    before = read.key_range.before
    entries = sorted(read.entries, key=lambda each: each.order, reverse=True)
    return replace(read, entries=tuple(each for each in entries if before is None or each.order < before))


def read_up(source: KeySource[M], key_format: KeyRange, second: int, wanted: int) -> RangeRead[M]:
    low = key_format.prefix + text_from(key_format.key_format, second)
    entries, whole = entries_of(source, low, key_format.high, wanted + 1, ascending=True)
    return RangeRead(key_format, tuple(reversed(falling(entries[::-1]))), whole)


def ranges_with_dates(source: KeySource[M]) -> list[KeyRange]:
    """The formats of a source with dates, as far as they hold any of these: two small Queries for each prefix."""
    ends = parallel(
        *(partial(end_of, source, prefix, ascending=up) for prefix in source.prefixes for up in (True, False))
    )
    since, until = second_of(source.since), second_of(source.until)
    ranges = []
    for prefix, first, last in zip(source.prefixes, ends[::2], ends[1::2], strict=True):
        if first is None or last is None:
            continue
        for key_format in range(first, last + 1):
            low = bounds(key_format)[0] if since is None else text_from(key_format, since)
            high = bounds(key_format)[1] if until is None else text_below(key_format, until)
            if low < high:
                ranges.append(KeyRange(prefix, key_format, "" if until is None or key_format in ODD else prefix + high))
    return ranges


def end_of(source: KeySource[M], prefix: str, *, ascending: bool) -> int | None:
    """The format of the first item of a prefix, or of its last."""
    found, _ = _query(source, prefix, prefix + END, 1, None, ascending=ascending)
    return format_of(str(next(iter(found[0][source.sort].values()))).removeprefix(prefix)) if found else None


def entries_of(
    source: KeySource[M], low: str, high: str, wanted: int, *, ascending: bool = False
) -> tuple[list[DatedItem[M]], bool]:
    """So many of a range that the reader may see, and those between them; whether that is all there is."""
    now = clock.now()
    since = second_of(source.since)
    entries: list[DatedItem[M]] = []
    start: Key | None = None
    if since is not None and not ascending:
        prefix = next(each for each in source.prefixes if low.startswith(each))
        low = max(low, prefix + text_from(format_of(low.removeprefix(prefix)), since))
        if low > high:
            return [], True
    for _ in range(READS):
        found, start = _query(source, low, high, wanted + 1, start, ascending=ascending)
        for raw in found:
            entry = _dated(source, raw, now)
            if entry.sort_key < high:
                entries.append(entry)
        if start is None:
            return entries, True
        if sum(each.alive for each in entries) >= wanted:
            break
    return entries, False


def _dated(source: KeySource[M], raw: Key, now: datetime) -> DatedItem[M]:
    item = source.model.from_raw_data(raw)
    sort_key = str(item.plain(source.sort))
    at = instant_of(item, sort_key)
    second = second_of(at)
    within = (source.since is None or (at is not None and at >= source.since)) and (
        source.until is None or (at is not None and at < source.until)
    )
    alive = within and not clock.is_expired(item.plain("ExpiryTime"), now) and source.visible(item)
    return DatedItem(item, sort_key, at, NEVER if second is None else second, alive)


def falling(entries: Sequence[DatedItem[M]]) -> list[DatedItem[M]]:
    """The same, none of a later second than the one before it: a key that names no time, or a foreign one, must not
    hide what lies beyond it.
    """
    made: list[DatedItem[M]] = []
    running = next((each.second for each in entries if each.second != NEVER), NEVER)
    for each in entries:
        running = running if each.second == NEVER else min(running, each.second)
        made.append(replace(each, second=running))
    return made


def _query(
    source: KeySource[M], low: str, high: str, limit: int, start: Key | None, *, ascending: bool
) -> tuple[list[Key], Key | None]:
    """One Query; of the table itself, strongly consistent."""
    return query(
        source.model,
        source.partition,
        getattr(source.model, source.sort).between(low, high),
        limit=limit,
        index=source.index,
        forward=ascending,
        start=start,
        attributes=(*source.attributes, *key_names(source.model, source.index), "ExpiryTime")
        if source.attributes
        else (),
        consistent=not source.index,
    )
