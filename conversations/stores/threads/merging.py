"""Windows of items in order of time, merged from ranges that are each read in the order of their keys.

A window takes the latest items of all ranges, and says of each range where the next one goes on: so that windows
together are the whole, and nothing stands in two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic

from console.store.calls import parallel
from console.store.streams import END, Candidate, Stream, Stretch, merge
from conversations.stores.threads.key_formats import NEVER, ODD, text_below
from conversations.stores.threads.key_ranges import (
    SLACK,
    DatedItem,
    KeyRange,
    KeySource,
    M,
    RangeRead,
    by_format,
    end_of,
    first_read,
    ranges_with_dates,
    read_range,
    read_up,
    whole_if_odd,
)


@dataclass(frozen=True, slots=True)
class MessageWindow(Generic[M]):
    """The latest items below some place, newest first, and what is left below them (nothing: all was read).

    `lanes` are all that there are. `thin`: the budget of reads ended before the window was full.
    """

    items: tuple[DatedItem[M], ...]
    rest: tuple[KeyRange, ...]
    formats: tuple[KeyRange, ...]
    thin: bool = False

    @property
    def top(self) -> int:
        """The second after its newest item."""
        return max((each.second for each in self.items), default=NEVER) + 1


def latest(source: KeySource[M], size: int) -> MessageWindow[M]:
    """The latest items. One Query for each prefix; where there are more, one for its first item; more where a prefix
    has several formats. Raises the store's errors.
    """
    if source.has_dates:
        return window(source, ranges_with_dates(source), size)
    read = parallel(*(partial(first_read, source, prefix, size) for prefix in source.prefixes))
    open_ended = [each for each in read if not each.whole and each.entries]
    firsts = parallel(*(partial(end_of, source, each.key_range.prefix, ascending=True) for each in open_ended))
    lowest = dict(zip((each.key_range.prefix for each in open_ended), firsts, strict=True))
    known: list[RangeRead[M]] = []
    unread: list[KeyRange] = []
    for each in read:
        known += by_format(each)
        if each.key_range.prefix in lowest:
            last = known[-1].key_range.key_format
            first = lowest[each.key_range.prefix]
            unread += [
                KeyRange(each.key_range.prefix, key_format)
                for key_format in range(last if first is None else first, last)
            ]
    known += parallel(*(partial(read_range, source, key_range, size) for key_range in unread))
    formats = tuple(KeyRange(each.key_range.prefix, each.key_range.key_format) for each in known)
    return _merged([whole_if_odd(source, each, size) for each in known], formats, size)


def window(
    source: KeySource[M],
    ranges: Sequence[KeyRange],
    size: int,
    formats: Sequence[KeyRange] = (),
    top: int | None = None,
) -> MessageWindow[M]:
    """The latest items of what is left; none of the second `top` or later. One Query for each range, as a rule."""
    read = parallel(*(partial(read_range, source, key_range, size, top) for key_range in ranges))
    return _merged(read, tuple(formats or ranges), size)


def upwards(
    source: KeySource[M], formats: Sequence[KeyRange], second: int, newer: int, size: int
) -> tuple[MessageWindow[M], bool]:
    """The items around a second: so many of that second and later, and before them as many as make the size.

    Whether there are later ones, too. One Query upwards for each format, and one downwards.
    """
    asked = [each for each in formats if each.key_format not in ODD]
    read = parallel(*(partial(read_up, source, each, second, newer) for each in asked))
    found = sorted(entry.second for each in read for entry in each.entries if entry.alive and entry.second >= second)
    ends = [each.entries[-1].second for each in read if not each.whole and each.entries]
    more = len(found) > newer or bool(ends)
    if not more:
        return window(source, formats, size, formats), False
    known = [each for each in found if each <= min(ends, default=each)] or ends
    top = known[min(newer, len(known)) - 1] + 1
    below = [
        replace(each, before=(top, ""))
        if each.key_format in ODD
        else replace(each, below=each.prefix + text_below(each.key_format, top))
        for each in formats
    ]
    return window(source, below, size, formats, top), True


def _merged(read: Sequence[RangeRead[M]], formats: tuple[KeyRange, ...], size: int) -> MessageWindow[M]:
    """The latest of what was read, down to where a range may hold something that was not.

    It ends between two seconds: the spellings of formats differ in how they sort within one.
    """
    streams = [_stream(str(number), each) for number, each in enumerate(read)]
    page = merge(streams, size, unit=lambda order: order[0], slack=SLACK)
    taken = [entry for entry, _ in page.items]
    rest = tuple(each for each in (page.after or {}).values() if each is not END)
    shown = sorted(taken, key=lambda e: (e.second, e.at.timestamp() if e.at else e.second, e.sort_key), reverse=True)
    return MessageWindow(tuple(shown), rest, formats, thin=len(taken) < size and bool(rest))


def _stream(name: str, read: RangeRead[M]) -> Stream[DatedItem[M]]:
    """What was read of a range; its places are what is left of it."""
    by_time = read.key_range.key_format in ODD and read.whole
    found = [
        Candidate(
            each.order,
            replace(read.key_range, **({"before": each.order} if by_time else {"below": each.sort_key})),
            each if each.alive else None,
        )
        for each in read.entries
    ]
    end = END if read.whole else found[-1].place if found else read.key_range
    return Stream(name, read.key_range, Stretch(found, end))
