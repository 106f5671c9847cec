"""Windows of items in order of time, merged from strands that are each read in the order of their keys.

A window takes the latest items of all strands, and says of each strand where the next one goes on: so that windows
together are the whole, and nothing stands in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic

from console.store.calls import parallel
from console.store.streams import END, Candidate, Stream, Stretch, merge
from conversations.stores.threads.lanes import NEVER, ODD, text_below
from conversations.stores.threads.strands import (
    SLACK,
    Dated,
    M,
    Read,
    Reel,
    Strand,
    by_lane,
    end_of,
    first_read,
    lanes_with_dates,
    read_strand,
    read_up,
    whole_if_odd,
)


@dataclass(frozen=True, slots=True)
class Window(Generic[M]):
    """The latest items below some place, newest first, and what is left below them (nothing: all was read).

    `lanes` are all that there are. `thin`: the budget of reads ended before the window was full.
    """

    items: tuple[Dated[M], ...]
    rest: tuple[Strand, ...]
    lanes: tuple[Strand, ...]
    thin: bool = False

    @property
    def top(self) -> int:
        """The second after its newest item."""
        return max((each.second for each in self.items), default=NEVER) + 1


def latest(reel: Reel[M], size: int) -> Window[M]:
    """The latest items. One Query for each prefix; where there are more, one for its first item; more where a prefix
    has several lanes. Raises the store's errors.
    """
    if reel.has_dates:
        return window(reel, lanes_with_dates(reel), size)
    read = parallel(*(partial(first_read, reel, prefix, size) for prefix in reel.prefixes))
    open_ended = [each for each in read if not each.whole and each.entries]
    firsts = parallel(*(partial(end_of, reel, each.strand.prefix, ascending=True) for each in open_ended))
    lowest = dict(zip((each.strand.prefix for each in open_ended), firsts, strict=True))
    known: list[Read[M]] = []
    unread: list[Strand] = []
    for each in read:
        known += by_lane(each)
        if each.strand.prefix in lowest:
            last = known[-1].strand.lane
            first = lowest[each.strand.prefix]
            unread += [Strand(each.strand.prefix, lane) for lane in range(last if first is None else first, last)]
    known += parallel(*(partial(read_strand, reel, strand, size) for strand in unread))
    lanes = tuple(Strand(each.strand.prefix, each.strand.lane) for each in known)
    return _merged([whole_if_odd(reel, each, size) for each in known], lanes, size)


def window(
    reel: Reel[M], strands: Sequence[Strand], size: int, lanes: Sequence[Strand] = (), top: int | None = None
) -> Window[M]:
    """The latest items of what is left; none of the second `top` or later. One Query for each strand, as a rule."""
    read = parallel(*(partial(read_strand, reel, strand, size, top) for strand in strands))
    return _merged(read, tuple(lanes or strands), size)


def upwards(reel: Reel[M], lanes: Sequence[Strand], second: int, newer: int, size: int) -> tuple[Window[M], bool]:
    """The items around a second: so many of that second and later, and before them as many as make the size.

    Whether there are later ones, too. One Query upwards for each lane, and one downwards.
    """
    asked = [each for each in lanes if each.lane not in ODD]
    read = parallel(*(partial(read_up, reel, each, second, newer) for each in asked))
    found = sorted(entry.second for each in read for entry in each.entries if entry.alive and entry.second >= second)
    ends = [each.entries[-1].second for each in read if not each.whole and each.entries]
    more = len(found) > newer or bool(ends)
    if not more:
        return window(reel, lanes, size, lanes), False
    known = [each for each in found if each <= min(ends, default=each)] or ends
    top = known[min(newer, len(known)) - 1] + 1
    below = [
        replace(each, before=(top, ""))
        if each.lane in ODD
        else replace(each, below=each.prefix + text_below(each.lane, top))
        for each in lanes
    ]
    return window(reel, below, size, lanes, top), True


def _merged(read: Sequence[Read[M]], lanes: tuple[Strand, ...], size: int) -> Window[M]:
    """The latest of what was read, down to where a strand may hold something that was not.

    It ends between two seconds: the spellings of lanes differ in how they sort within one.
    """
    streams = [_stream(str(number), each) for number, each in enumerate(read)]
    page = merge(streams, size, unit=lambda order: order[0], slack=SLACK)
    taken = [entry for entry, _ in page.items]
    rest = tuple(each for each in (page.after or {}).values() if each is not END)
    shown = sorted(taken, key=lambda e: (e.second, e.at.timestamp() if e.at else e.second, e.sort_key), reverse=True)
    return Window(tuple(shown), rest, lanes, thin=len(taken) < size and bool(rest))


def _stream(name: str, read: Read[M]) -> Stream[Dated[M]]:
    """What was read of a strand; its places are what is left of it."""
    by_time = read.strand.lane in ODD and read.whole
    found = [
        Candidate(
            each.order,
            replace(read.strand, **({"before": each.order} if by_time else {"below": each.sort_key})),
            each if each.alive else None,
        )
        for each in read.entries
    ]
    end = END if read.whole else found[-1].place if found else read.strand
    return Stream(name, read.strand, Stretch(found, end))
