"""Reading an index or a partition strand by strand: each is one lane of one prefix, latest first (see `lanes`)."""

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
from conversations.stores.threads.lanes import (
    END,
    LANES,
    NEVER,
    ODD,
    bounds,
    instant_of,
    lane_of,
    second_of,
    text_below,
    text_from,
)

M = TypeVar("M", bound=ForeignModel)

# Items may have 400 KB, and an answer 1 MB: a strand is read so often at most for one window.
READS = 4
# A window ends between two seconds, because spellings differ in how they sort within one: so many more it may hold.
SLACK = 25
# Of items whose keys do not tell their time, all are read to put them in order; beyond so many, in order of keys.
ODD_LIMIT = 400


@dataclass(frozen=True, slots=True)
class Reel(Generic[M]):
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
class Strand:
    """A lane of a prefix as far as it is still to be read: what sorts before `below`.

    Of a lane whose keys tell no time, `before` is the order (second, sort key) of what was shown last, if anything.
    """

    prefix: str
    lane: int
    below: str = ""
    before: tuple[int, str] | None = None

    @property
    def low(self) -> str:
        """Where the lane begins."""
        return self.prefix + bounds(self.lane)[0]

    @property
    def high(self) -> str:
        """Where what is to be read of it ends; not included."""
        return self.below or self.prefix + bounds(self.lane)[1]


@dataclass(frozen=True, slots=True)
class Dated(Generic[M]):
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
class Read(Generic[M]):
    """What was read of a strand, latest first; `whole`: nothing is left of it."""

    strand: Strand
    entries: tuple[Dated[M], ...]
    whole: bool


def first_read(reel: Reel[M], prefix: str, size: int) -> Read[M]:
    """The latest of a prefix, whatever lanes it has."""
    entries, whole = entries_of(reel, prefix, prefix + END, size + SLACK)
    return Read(Strand(prefix, LANES[-1]), tuple(entries), whole)


def by_lane(read: Read[M]) -> list[Read[M]]:
    """What was read of a prefix as one read for each lane, from the last lane to that which was read last."""
    prefix, found = read.strand.prefix, dict[int, list[Dated[M]]]()
    for entry in read.entries:
        found.setdefault(lane_of(entry.sort_key.removeprefix(prefix)), []).append(entry)
    last = min(found, default=0)
    return [
        Read(Strand(prefix, lane), tuple(entries if lane in ODD else falling(entries)), read.whole or lane != last)
        for lane, entries in sorted(found.items(), reverse=True)
    ]


def whole_if_odd(reel: Reel[M], read: Read[M], size: int) -> Read[M]:
    """A lane whose keys tell no time in order of time, which takes all of it."""
    if read.strand.lane not in ODD:
        return read
    return in_time(read) if read.whole else read_strand(reel, read.strand, size)


def read_strand(reel: Reel[M], strand: Strand, size: int, top: int | None = None) -> Read[M]:
    """The latest of a strand; nothing of the second `top` or later counts."""
    odd = strand.lane in ODD
    entries, whole = entries_of(reel, strand.low, strand.high, ODD_LIMIT if odd else size + SLACK)
    read = Read(strand, tuple(entries), whole)
    if odd and whole:
        read = in_time(read)
    else:
        read = replace(read, entries=tuple(falling(entries)))
    if top is None:
        return read
    return replace(read, entries=tuple(replace(e, alive=e.alive and e.second < top) for e in read.entries))


def in_time(read: Read[M]) -> Read[M]:
    """By order of time, from where the strand goes on."""
    before = read.strand.before
    entries = sorted(read.entries, key=lambda each: each.order, reverse=True)
    return replace(read, entries=tuple(each for each in entries if before is None or each.order < before))


def read_up(reel: Reel[M], lane: Strand, second: int, wanted: int) -> Read[M]:
    low = lane.prefix + text_from(lane.lane, second)
    entries, whole = entries_of(reel, low, lane.high, wanted + 1, ascending=True)
    return Read(lane, tuple(reversed(falling(entries[::-1]))), whole)


def lanes_with_dates(reel: Reel[M]) -> list[Strand]:
    """The lanes of a reel with dates, as far as they hold any of these: two small Queries for each prefix."""
    ends = parallel(*(partial(end_of, reel, prefix, ascending=up) for prefix in reel.prefixes for up in (True, False)))
    since, until = second_of(reel.since), second_of(reel.until)
    strands = []
    for prefix, first, last in zip(reel.prefixes, ends[::2], ends[1::2], strict=True):
        if first is None or last is None:
            continue
        for lane in range(first, last + 1):
            low = bounds(lane)[0] if since is None else text_from(lane, since)
            high = bounds(lane)[1] if until is None else text_below(lane, until)
            if low < high:
                strands.append(Strand(prefix, lane, "" if until is None or lane in ODD else prefix + high))
    return strands


def end_of(reel: Reel[M], prefix: str, *, ascending: bool) -> int | None:
    """The lane of the first item of a prefix, or of its last."""
    found, _ = _query(reel, prefix, prefix + END, 1, None, ascending=ascending)
    return lane_of(str(next(iter(found[0][reel.sort].values()))).removeprefix(prefix)) if found else None


def entries_of(
    reel: Reel[M], low: str, high: str, wanted: int, *, ascending: bool = False
) -> tuple[list[Dated[M]], bool]:
    """So many of a range that the reader may see, and those between them; whether that is all there is."""
    now = clock.now()
    since = second_of(reel.since)
    entries: list[Dated[M]] = []
    start: Key | None = None
    if since is not None and not ascending:
        prefix = next(each for each in reel.prefixes if low.startswith(each))
        low = max(low, prefix + text_from(lane_of(low.removeprefix(prefix)), since))
        if low > high:
            return [], True
    for _ in range(READS):
        found, start = _query(reel, low, high, wanted + 1, start, ascending=ascending)
        for raw in found:
            entry = _dated(reel, raw, now)
            if entry.sort_key < high:
                entries.append(entry)
        if start is None:
            return entries, True
        if sum(each.alive for each in entries) >= wanted:
            break
    return entries, False


def _dated(reel: Reel[M], raw: Key, now: datetime) -> Dated[M]:
    item = reel.model.from_raw_data(raw)
    sort_key = str(item.plain(reel.sort))
    at = instant_of(item, sort_key)
    second = second_of(at)
    within = (reel.since is None or (at is not None and at >= reel.since)) and (
        reel.until is None or (at is not None and at < reel.until)
    )
    alive = within and not clock.is_expired(item.plain("ExpiryTime"), now) and reel.visible(item)
    return Dated(item, sort_key, at, NEVER if second is None else second, alive)


def falling(entries: Sequence[Dated[M]]) -> list[Dated[M]]:
    """The same, none of a later second than the one before it: a key that names no time, or a foreign one, must not
    hide what lies beyond it.
    """
    made: list[Dated[M]] = []
    running = next((each.second for each in entries if each.second != NEVER), NEVER)
    for each in entries:
        running = running if each.second == NEVER else min(running, each.second)
        made.append(replace(each, second=running))
    return made


def _query(
    reel: Reel[M], low: str, high: str, limit: int, start: Key | None, *, ascending: bool
) -> tuple[list[Key], Key | None]:
    """One Query; of the table itself, strongly consistent."""
    return query(
        reel.model,
        reel.partition,
        getattr(reel.model, reel.sort).between(low, high),
        limit=limit,
        index=reel.index,
        forward=ascending,
        start=start,
        attributes=(*reel.attributes, *key_names(reel.model, reel.index), "ExpiryTime") if reel.attributes else (),
        consistent=not reel.index,
    )
