"""Several ordered streams, one page, one cursor: the engine below every list that is paged or merged.

A *stream* is read in one order, piece by piece, from a place on: a partition, a range of one, or a list at hand. A page
takes the first of all streams, goes on only while it knows what comes next, and can say for each stream where the next
page goes on. So nothing is lost, doubled or out of order, however far each stream was read; docs/decisions/paging.md
says what each list needs.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from console.refs import seal_cursor, unseal_cursor
from console.store.calls import parallel
from console.store.models import ForeignModel

T = TypeVar("T")

# Where a stream goes on: BEGINNING before its first, END behind its last, else whatever its reader understands; JSON
# where it goes into a cursor.
Place = Any
BEGINNING: Place = ""
END: Place = None
Places = dict[str, Place]


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """The next of a stream. `order` says where it stands among those of other streams; what has no usable order takes
    that of its neighbour, or one that comes at once. `place` lies behind it. An `item` of None was only looked at.
    """

    order: Any
    place: Place
    item: T | None


@dataclass(frozen=True, slots=True)
class Stretch(Generic[T]):
    """What was read of a stream: `end` lies behind all of it.

    `below`: nothing behind `end` comes before that order, so that it need not be read until then; None: the order of
    the last candidate tells.
    """

    candidates: Sequence[Candidate[T]] = ()
    end: Place = END
    below: Any = None

    @property
    def items(self) -> list[T]:
        """What is to be shown of it."""
        return [each.item for each in self.candidates if each.item is not None]


def read_on(read: Callable[[Place], Stretch[T]], start: Place, wanted: int, reads: int) -> Stretch[T]:
    """One stream from a place on, until so many are to be shown, it ends, or so many reads are spent."""
    found: list[Candidate[T]] = []
    end, missing = start, wanted
    for _ in range(reads):
        stretch = read(end)
        found += stretch.candidates
        end = stretch.end
        missing -= len(stretch.items)
        if end is END or missing <= 0:
            break
    return Stretch(found, end)


def key_names(model: type[ForeignModel], index: str = "") -> list[str]:
    """Key attributes of the table, and of the index: what a place in it consists of."""
    return list(model._get_connection().get_meta_table().get_key_names(index or None))


@dataclass(slots=True)
class Stream(Generic[T]):
    """One of the streams of a page. `place` lies behind what was taken, `end` behind what was read.

    One that `failed` holds nothing up, and goes on where it began. Without `read` it is as far as it was read.
    """

    name: str = ""
    place: Place = BEGINNING
    stretch: Stretch[T] = field(default_factory=Stretch)
    read: Callable[[Place, int], Stretch[T]] | None = None
    failed: bool = False
    waiting: deque[Candidate[T]] = field(init=False)
    end: Place = field(init=False)
    below: Any = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = deque(self.stretch.candidates)
        self.end = self.place if self.read else self.stretch.end
        self.below = self.stretch.below

    @property
    def is_dry(self) -> bool:
        """Whether its next is not known yet."""
        return not self.waiting and self.end is not END

    @property
    def onward(self) -> Place:
        """Where it goes on after a page."""
        return self.place if self.waiting or self.failed else self.end

    def is_at(self, order: Any) -> bool:
        """Whether its next is of that order."""
        return bool(self.waiting) and bool(self.waiting[0].order == order)

    def take(self) -> Candidate[T]:
        """Its next."""
        candidate = self.waiting.popleft()
        self.place = candidate.place
        return candidate

    def fetch(self, limit: int) -> None:
        """One read more, where it can be read on. Raises the store's errors."""
        if self.read is not None:
            stretch = self.read(self.end, limit)
            self.waiting.extend(stretch.candidates)
            self.end, self.below = stretch.end, stretch.below


def dry(streams: Iterable[Stream[T]], *, descending: bool = True) -> list[Stream[T]]:
    """The streams of which more has to be read before it is known what comes next."""
    streams = list(streams)
    first = _first(streams, descending)
    return [each for each in streams if each.is_dry and (first is None or _may_precede(each, first, descending))]


def next_of(streams: Sequence[Stream[T]], *, descending: bool = True) -> Stream[T] | None:
    """The stream whose candidate comes next, of equals the earlier one; None at the end, or if one is `dry`."""
    return None if dry(streams, descending=descending) else _first(streams, descending)


def read_dry(streams: Sequence[Stream[T]], limit: int) -> bool:
    """One round: every stream that has to be read on, in parallel. Whether there was one. Raises the store's errors."""
    found = dry(streams)
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
    """A page: each item with the places at which a page begins with it. `after`: where the next one does, or None.

    `reached` is the order of the last one looked at.
    """

    items: list[tuple[T, Places]] = field(default_factory=list)
    after: Places | None = None
    reached: Any = None


def merge(streams: Sequence[Stream[T]], size: int, *, descending: bool = True) -> Merged[T]:
    """The first `size` of all streams; fewer where one was not read far enough to know what comes next, or at the end.

    What is not to be shown is passed at once, so that no page behind consists of nothing else that was known.
    """
    page: Merged[T] = Merged()
    while (stream := next_of(streams, descending=descending)) is not None:
        item = stream.waiting[0].item
        if item is not None:
            if len(page.items) >= size:
                break
            page.items.append((item, {each.name: each.place for each in streams if each.place != BEGINNING}))
        page.reached = stream.take().order
    if any(each.onward is not END for each in streams if not each.failed):
        page.after = {each.name: each.onward for each in streams if each.onward != BEGINNING}
    return page


@dataclass(frozen=True, slots=True)
class Keyset:
    """A place in the order that streams share: behind all of `at` that are among `seen`.

    Others of the same order are still to come, however they stand to each other, and whatever was removed meanwhile.
    """

    at: str = ""
    seen: tuple[str, ...] = ()

    def after(self, at: str, *marks: str) -> "Keyset":
        """The place behind those of that order, and behind what was seen there before."""
        return Keyset(at, tuple(dict.fromkeys((*(self.seen if at == self.at else ()), *marks))))

    def has_seen(self, at: str, mark: str) -> bool:
        """Whether that one stands on a page before."""
        return at == self.at and mark in self.seen

    def sealed(self, *binding: str) -> str:
        """As a cursor, of use with the same binding only."""
        return seal_cursor([self.at, *self.seen], *binding)

    @classmethod
    def unsealed(cls, cursor: str, *binding: str) -> "Keyset | None":
        """The place in a cursor; None for none, a foreign or a stale one."""
        data = unseal_cursor(cursor, *binding) if cursor else None
        if isinstance(data, list) and data and all(isinstance(each, str) for each in data):
            return cls(data[0], tuple(data[1:]))
        return None
