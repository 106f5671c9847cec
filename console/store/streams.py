"""Several ordered streams, one page, one cursor: the engine below every list that is paged or merged.

A *stream* is read in one order, piece by piece, from a place on: a partition, a range of one, or a list in memory. A
page takes the first items of all streams, stops when it is not known what comes next, and has a place in each stream
where the next page continues. So nothing is lost, doubled or out of order, however far each stream was read;
docs/decisions/paging.md says what each list needs.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel

T = TypeVar("T")

# Where a stream continues: BEGINNING before its first candidate, END after its last, else whatever its reader
# understands; JSON if it goes into a cursor.
Place = Any
BEGINNING: Place = ""
END: Place = None
Places = dict[str, Place]


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """The next row of a stream, and the `place` after it.

    `order` sorts it among those of other streams; a row without a usable order gets that of its neighbour, or one that
    comes first. An `item` of None was looked at but is not shown.
    """

    order: Any
    place: Place
    item: T | None


@dataclass(frozen=True, slots=True)
class Chunk(Generic[T]):
    """A piece that was read of a stream; `end` is the place after all of it.

    `below`: nothing after `end` precedes that order, so that reading on can wait until then; None if that is not known.
    """

    candidates: Sequence[Candidate[T]] = ()
    end: Place = END
    below: Any = None

    @property
    def items(self) -> list[T]:
        """The items to show."""
        return [each.item for each in self.candidates if each.item is not None]


def read_on(read: Callable[[Place], Chunk[T]], start: Place, wanted: int, reads: int) -> Chunk[T]:
    """Read one stream from a place on, until `wanted` items can be shown, it ends, or `reads` are spent."""
    found: list[Candidate[T]] = []
    end, missing = start, wanted
    for _ in range(reads):
        chunk = read(end)
        found += chunk.candidates
        end = chunk.end
        missing -= len(chunk.items)
        if end is END or missing <= 0:
            break
    return Chunk(found, end)


@dataclass(slots=True)
class Stream(Generic[T]):
    """One of the streams of a page. `place` is after what was taken, `end` after what was read.

    A stream that `failed` holds nothing up, and continues where it began. Without `read` it cannot be read further.
    """

    name: str = ""
    place: Place = BEGINNING
    chunk: Chunk[T] = field(default_factory=Chunk)
    read: Callable[[Place, int], Chunk[T]] | None = None
    failed: bool = False
    waiting: deque[Candidate[T]] = field(init=False)
    end: Place = field(init=False)
    below: Any = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = deque(self.chunk.candidates)
        self.end = self.place if self.read else self.chunk.end
        self.below = self.chunk.below

    @property
    def needs_reading(self) -> bool:
        """Whether its next candidate is not known yet."""
        return not self.waiting and self.end is not END

    @property
    def resume_at(self) -> Place:
        """The place where it continues after a page."""
        return self.place if self.waiting or self.failed else self.end

    def is_at(self, order: Any) -> bool:
        """Return whether its next candidate has that order."""
        return bool(self.waiting) and bool(self.waiting[0].order == order)

    def take(self) -> Candidate[T]:
        """Take the next candidate."""
        candidate = self.waiting.popleft()
        self.place = candidate.place
        return candidate

    def fetch(self, limit: int) -> None:
        """Read once more, if there is a `read`. Raises the store's errors."""
        if self.read is not None:
            chunk = self.read(self.end, limit)
            self.waiting.extend(chunk.candidates)
            self.end, self.below = chunk.end, chunk.below


def streams_to_read(streams: Iterable[Stream[T]], *, descending: bool = True) -> list[Stream[T]]:
    """Return the streams that must be read further before it is known what comes next."""
    streams = list(streams)
    first = _first(streams, descending)
    return [each for each in streams if each.needs_reading and (first is None or _may_precede(each, first, descending))]


def next_of(streams: Sequence[Stream[T]], *, descending: bool = True) -> Stream[T] | None:
    """Return the stream with the next candidate, of equals the earlier one.

    None at the end, or if a stream must be read further to know it.
    """
    return None if streams_to_read(streams, descending=descending) else _first(streams, descending)


def read_further(streams: Sequence[Stream[T]], limit: int) -> bool:
    """Read every stream that needs it once, in parallel; return whether there was one. Raises the store's errors."""
    found = streams_to_read(streams)
    parallel(*(partial(each.fetch, limit) for each in found))
    return bool(found)


def _first(streams: Sequence[Stream[T]], descending: bool) -> Stream[T] | None:
    full = [each for each in streams if each.waiting]
    return (max if descending else min)(full, key=lambda each: each.waiting[0].order, default=None)


def _may_precede(stream: Stream[T], first: Stream[T], descending: bool) -> bool:
    order = first.waiting[0].order
    return stream.below is None or bool(stream.below >= order if descending else stream.below <= order)


@dataclass(slots=True)
class Merged(Generic[T]):
    """A page: each item with the places of a page that begins with it. `after`: those of the next page, or None.

    `reached` is the order of the last candidate taken.
    """

    items: list[tuple[T, Places]] = field(default_factory=list)
    after: Places | None = None
    reached: Any = None


def merge(streams: Sequence[Stream[T]], size: int, *, descending: bool = True) -> Merged[T]:
    """Return the first `size` items of all streams; fewer at the end, or if it is not known what comes next.

    Candidates that are not shown are taken as well, so that no later page consists only of ones already known.
    """
    page: Merged[T] = Merged()
    while (stream := next_of(streams, descending=descending)) is not None:
        item = stream.waiting[0].item
        if item is not None:
            if len(page.items) >= size:
                break
            page.items.append((item, {each.name: each.place for each in streams if each.place != BEGINNING}))
        page.reached = stream.take().order
    if any(each.resume_at is not END for each in streams if not each.failed):
        page.after = {each.name: each.resume_at for each in streams if each.resume_at != BEGINNING}
    return page


@dataclass(frozen=True, slots=True)
class Keyset:
    """A place in the order that streams share: after all candidates of order `at` whose marks are `seen`.

    Others of that order are still to come, in whatever sequence, and whatever was removed meanwhile.
    """

    at: str = ""
    seen: tuple[str, ...] = ()

    def after(self, at: str, *marks: str) -> "Keyset":
        """Return the place after these marks of that order, and after those seen there before."""
        return Keyset(at, tuple(dict.fromkeys((*(self.seen if at == self.at else ()), *marks))))

    def has_seen(self, at: str, mark: str) -> bool:
        """Return whether that candidate was on an earlier page."""
        return at == self.at and mark in self.seen

    def sealed(self, *binding: str) -> str:
        """Return the place as a cursor, valid only with the same binding."""
        return seal_cursor([self.at, *self.seen], *binding)

    @classmethod
    def unsealed(cls, cursor: str, *binding: str) -> "Keyset | None":
        """Return the place in a cursor; None without one, or for a foreign or stale one."""
        data = unseal_cursor(cursor, *binding) if cursor else None
        if isinstance(data, list) and data and all(isinstance(each, str) for each in data):
            return cls(data[0], tuple(data[1:]))
        return None
