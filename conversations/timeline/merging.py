"""Merging several sources, each newest first by itself, into pages of one order of time. Pure.

A page goes on where each source was left, so that nothing is lost or told twice, however the sources' times lie to each
other. What has no readable time holds nothing up: it comes with the page on which its source reaches it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# Where a source goes on, as JSON: BEGINNING before its newest, END behind its oldest, else behind one of its items.
Place = Any
BEGINNING: Place = ""
END: Place = None
Places = dict[str, Place]

AT_ONCE = datetime.max.replace(tzinfo=UTC)
AT_LAST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Candidate(Generic[T]):
    """The next of a source. `order` is where it stands among the others; an `item` of None was only looked at."""

    order: datetime
    place: Place
    item: T | None


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """What was read of one source from `start` on; `end` is where it goes on behind all of it, END if that is all."""

    name: str
    start: Place = BEGINNING
    candidates: Sequence[Candidate[T]] = ()
    end: Place = END


@dataclass(slots=True)
class Merged(Generic[T]):
    """A page: each item with the places at which a page begins with it. `after`: where the next one does, or None."""

    items: list[tuple[T, Places]] = field(default_factory=list)
    after: Places | None = None


def merge(sources: Sequence[Source[T]], size: int) -> Merged[T]:
    """The newest `size` of all sources; fewer where one was not read far enough to know what comes next, or at the end.

    Of items of the same instant that of the earlier source comes first.
    """
    page: Merged[T] = Merged()
    places: Places = {source.name: source.start for source in sources if source.start != BEGINNING}
    used = {source.name: 0 for source in sources}

    def left(source: Source[T]) -> bool:
        return used[source.name] < len(source.candidates)

    while len(page.items) < size and all(left(source) or source.end is END for source in sources):
        waiting = [source for source in sources if left(source)]
        if not waiting:
            break
        source = max(waiting, key=lambda each: each.candidates[used[each.name]].order)
        candidate = source.candidates[used[source.name]]
        if candidate.item is not None:
            page.items.append((candidate.item, dict(places)))
        places[source.name] = candidate.place
        used[source.name] += 1
    for source in sources:
        if not left(source):
            places[source.name] = source.end
    if any(places.get(source.name, BEGINNING) is not END for source in sources):
        page.after = places
    return page


@dataclass(frozen=True, slots=True, order=True)
class Dated:
    """Where an item of a list that is held whole stands: its instant, and what tells it from others of the same."""

    order: datetime
    tie: int

    @property
    def place(self) -> Place:
        """As JSON."""
        return [self.order.isoformat(), self.tie]

    @classmethod
    def of(cls, place: Place) -> "Dated | None":
        """Back from JSON; None for what is none."""
        match place:
            case [str() as order, int() as tie]:
                return cls(datetime.fromisoformat(order), tie)
        return None


def held_whole(name: str, start: Place, items: Mapping[Dated, T], size: int) -> Source[T]:
    """A source of items that are all at hand: the next `size` of them from `start` on."""
    if start is END:
        return Source(name, END)
    behind = Dated.of(start)
    ordered = sorted((dated for dated in items if behind is None or dated < behind), reverse=True)
    found = [Candidate(dated.order, dated.place, items[dated]) for dated in ordered[:size]]
    return Source(name, start, found, found[-1].place if len(ordered) > size else END)


def with_neighbours(moments: Sequence[datetime | None]) -> Iterator[Dated]:
    """Places for a list in its own order: what has no time stands with what goes before it, else with what follows."""
    known = next((moment for moment in moments if moment is not None), AT_LAST)
    for number, moment in enumerate(moments, 1):
        known = moment or known
        yield Dated(known, number)
