"""Summing up days: all facts of a day are read and added up again, and the sums replaced.

`pk = DAYS#{kind}#{owner}`, `sk = {day}` stores an epoch, which counts how often summing up was begun, and every row
that the day has ever had. A higher epoch means a later read, so rows of an earlier one never replace those of a later.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from pynamodb.attributes import NumberAttribute, UnicodeSetAttribute

from console import clock
from console.errors import Throttled
from console.store.calls import ConditionFailed, parallel
from conversations.insight.facts import (
    FactDay,
    InsightItem,
    changed_days,
    clear_changed_mark,
    escaped,
    expiry,
    facts_of,
)
from conversations.insight.measures import TOPICS, Counts, Topic, counts_of
from conversations.insight.sums import Slice, write_sums

# A day is summed up again after this time, or after this multiple of the time that it took, if longer.
EVERY, DURATION_FACTOR = timedelta(minutes=1), 30
_WRITTEN_AT_ONCE = 8
TRIES = 5
TOO_BUSY = "This day is summed up by others all the time."


class _SummedDay(InsightItem):
    """How often summing up a day was begun, and every row that it has ever had."""

    epoch = NumberAttribute()
    row_keys = UnicodeSetAttribute(null=True)


@dataclass(frozen=True, slots=True)
class Rolled:
    """A day that was summed up: its number of facts, when summing up began, and how long it took."""

    day: FactDay
    facts: int
    begun: datetime
    took: timedelta


def roll(day: FactDay) -> Rolled:
    """Sum up a day. Safe to run concurrently. Raises the store's errors, and `Throttled` after `TRIES` lost races."""
    for _ in range(TRIES):
        begun = clock.now()
        epoch, known = _begin(day)
        sums, count = _added_up(day)
        rows = {*known, *sums}
        if rows <= known or _add_row_keys(day, rows - known, epoch):
            break
    else:
        raise Throttled(TOO_BUSY)
    writes = [partial(write_sums, day, *row, sums[row], epoch, begun) for row in sorted(rows, key=str)]
    for start in range(0, len(writes), _WRITTEN_AT_ONCE):
        parallel(*writes[start : start + _WRITTEN_AT_ONCE])
    return Rolled(day, count, begun, clock.now() - begun)


def _added_up(day: FactDay) -> tuple[dict[tuple[Topic, Slice], Counts], int]:
    """Return the sums of all facts of a day, by topic and slice, and the number of facts."""
    sums: dict[tuple[Topic, Slice], Counts] = defaultdict(Counter)
    number = 0
    for facts in facts_of(day, consistent=True):
        for fact in facts:
            number += 1
            slices = Slice.all_of(fact.data)
            for topic in TOPICS[day.kind]:
                if counts := counts_of(day.kind, topic, fact.data):
                    for where in slices:
                        sums[topic, where].update(counts)
    return sums, number


def roll_changed(rolled_at: dict[str, Rolled]) -> Iterator[Rolled]:
    """Sum up the changed days, except those just summed up; `rolled_at` remembers these between calls.

    Raises the store's errors.
    """
    for changed in changed_days():
        last = rolled_at.get(changed.day.key)
        if last is not None and clock.now() - last.begun < max(EVERY, last.took * DURATION_FACTOR):
            continue
        done = roll(changed.day)
        rolled_at[changed.day.key] = done
        if changed.is_settled_at(done.begun) and clear_changed_mark(changed):
            rolled_at.pop(changed.day.key, None)
        yield done


def roll_all() -> Iterator[Rolled]:
    """Sum up every changed day now; yield each result."""
    for changed in changed_days():
        yield roll(changed.day)


def _begin(day: FactDay) -> tuple[int, set[tuple[Topic, Slice]]]:
    """Begin to sum up a day; return an epoch higher than any before, and the rows that the day has had."""
    stored = _item_of(day)
    stored.update([_SummedDay.expires_at.set(expiry(day)), _SummedDay.epoch.add(1)])
    return int(stored.epoch), {_row_of(each) for each in stored.row_keys or ()}


def _add_row_keys(day: FactDay, rows: set[tuple[Topic, Slice]], epoch: int) -> bool:
    """Note rows before they are written; False if another process, which does not know them, has begun since."""
    new = {f"{topic}#{where.key}" for topic, where in rows}
    try:
        _item_of(day).update([_SummedDay.row_keys.add(new)], _SummedDay.epoch == epoch)
    except ConditionFailed:
        return False
    return True


def _row_of(key: str) -> tuple[Topic, Slice]:
    topic, project, channel = key.split("#")
    return Topic(topic), Slice.parse(project, channel)


def _item_of(day: FactDay) -> _SummedDay:
    return _SummedDay(f"DAYS#{day.kind}#{escaped(day.owner)}", day.day)
