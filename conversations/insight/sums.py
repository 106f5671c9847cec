"""The sums of a day as stored, and those of a period as pages read them.

One item for each topic of each slice: all of an owner, a project, a channel, or both.
`pk = SUMS#{kind}#{owner}#{topic}#{project}#{channel}`, `sk = {day}`: a period of one topic takes one Query, no matter
how many conversations it covers. An item is some hundred bytes.
"""

import base64
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, lru_cache, partial
from itertools import chain
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import unquote

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute

from console import clock
from console.store.calls import ConditionFailed, parallel
from conversations.insight.facts import FactDay, FactKind, InsightItem, escaped, expiry
from conversations.insight.measures import Counts, Measure, Topic, amount_of, quantile

T = TypeVar("T")

# Stands for "all" in a key: escaped ids never contain it.
ALL = "*"
_SEPARATOR = "\x1f"
# Size of a process's cache of sums, each of a day or of a step of a chart: past days are read again and again, and
# hardly ever change.
REMEMBERED = 512
DAY = timedelta(days=1)
MOST_DAYS = 366
# The longest periods that charts show by day and by week.
MOST_BY_DAY, MOST_BY_WEEK = 35, 200
# The most owners read for a query about all of them.
MOST_OWNERS = 25


@dataclass(frozen=True, slots=True)
class Slice:
    """The facts of an owner that are in one project, in one channel, or in both; None means all."""

    project: str | None = None
    channel: str | None = None

    @property
    def key(self) -> str:
        """The slice as a part of keys."""
        return "#".join(ALL if each is None else escaped(each) for each in (self.project, self.channel))

    @classmethod
    def parse(cls, project: str, channel: str) -> "Slice":
        """Read the two parts of a key."""
        return cls(*(None if each == ALL else unquote(each) for each in (project, channel)))

    def holds(self, data: Mapping[str, Any]) -> bool:
        """Return whether a fact belongs to the slice."""
        return self.project in (None, data.get("project", "")) and self.channel in (None, data.get("channel", ""))

    @classmethod
    def all_of(cls, data: Mapping[str, Any]) -> "set[Slice]":
        """Return every slice that a fact belongs to."""
        project, channel = str(data.get("project", "")), str(data.get("channel", ""))
        return {cls(), cls(project), cls(None, channel), cls(project, channel)}


class DaySums(InsightItem):
    """The sums of one day, packed; `written` is when it was summed up."""

    packed = BinaryAttribute(legacy_encoding=False, attr_name="counts")
    epoch = NumberAttribute()
    written = UnicodeAttribute(attr_name="at")

    @property
    def day(self) -> date:
        """The day."""
        return date.fromisoformat(self.sk)

    @property
    def at(self) -> datetime | None:
        """When it was summed up."""
        return clock.parse_instant(self.written)

    @property
    def counts(self) -> Mapping[Measure, int]:
        """The counts by measure."""
        return sum_packed((self.packed,))


def read_sums(kind: FactKind, owner: str, topic: Topic, where: Slice, first: date, last: date) -> list[DaySums]:
    """Read a period, both days included, oldest first. One Query per 1 MB. Raises the store's errors."""
    found: list[DaySums] = []
    days = DaySums.sk.between(first.isoformat(), last.isoformat())
    for items in DaySums.read_pages(_partition(kind, owner, topic, where), days):
        now = clock.now()
        found += [each for each in items if not clock.is_expired(each.expires_at, now)]
    return found


def write_sums(day: FactDay, topic: Topic, where: Slice, counts: Counts, epoch: int, at: datetime) -> bool:
    """Write the sums of a day; False if a later epoch has already written them. Raises the store's errors."""
    key = (_partition(day.kind, day.owner, topic, where), day.day)
    written = clock.to_iso(at, "seconds")
    item = DaySums(*key, packed=pack(counts), epoch=epoch, written=written, expires_at=expiry(day))
    try:
        item.save(DaySums.pk.does_not_exist() | (DaySums.epoch < epoch))
    except ConditionFailed:
        # The client retries requests without a response, so the condition fails if the first try was written.
        stored = DaySums.find(*key)
        return stored is not None and stored.epoch == epoch
    return True


def pack(counts: Counts) -> bytes:
    """Return counts as stored: compressed JSON. Measures that differ only in their last part are grouped."""
    families: dict[str, dict[str, int]] = {}
    for measure, count in sorted(counts.items()):
        families.setdefault("".join(part + _SEPARATOR for part in measure[:-1]), {})[measure[-1]] = count
    text = json.dumps({name: _to_dense(family) for name, family in families.items()}, separators=(",", ":"))
    return zlib.compress(text.encode(), 9)


def _to_dense(family: dict[str, int]) -> dict[str, int] | list[int]:
    """Return counts of close numbers, such as buckets, as a list: the first number, then one count per number."""
    if not all(len(each) < 10 and each.isdecimal() and each == str(int(each)) for each in family):
        return family
    numbers = {int(each): count for each, count in family.items()}
    first, last = min(numbers), max(numbers)
    if last - first >= 2 * len(numbers):
        return family
    return [first, *(numbers.get(each, 0) for each in range(first, last + 1))]


@lru_cache(maxsize=REMEMBERED)
def sum_packed(stored: tuple[str | bytes, ...]) -> Mapping[Measure, int]:
    """Add up packed sums. A binary value is bytes, or base64, as the console's client returns it."""
    total: Counts = Counter()
    for each in stored:
        text = zlib.decompress(base64.b64decode(each) if isinstance(each, str) else each)
        for name, family in json.loads(text).items():
            begin = tuple(name.split(_SEPARATOR)[:-1])
            counts = family.items() if isinstance(family, dict) else _from_dense(family)
            for last, count in counts:
                total[(*begin, last)] += count
    return MappingProxyType(total)


def _from_dense(row: list[int]) -> Iterator[tuple[str, int]]:
    for number, count in enumerate(row[1:], row[0]):
        if count:
            yield str(number), count


def _partition(kind: FactKind, owner: str, topic: Topic, where: Slice) -> str:
    return f"SUMS#{kind}#{escaped(owner)}#{topic}#{where.key}"


# --- A period as pages read it ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class InsightPeriod:
    """Days in UTC, both included."""

    first: date
    last: date

    @property
    def length(self) -> int:
        """The number of days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "InsightPeriod":
        """The period of the same length before it."""
        return InsightPeriod(self.first - DAY * self.length, self.first - DAY)

    def steps(self) -> "list[InsightPeriod]":
        """Return the steps of a chart: days, or weeks from Monday for longer periods, or months for the longest."""
        if self.length <= MOST_BY_DAY:
            return [
                InsightPeriod(self.first + DAY * number, self.first + DAY * number) for number in range(self.length)
            ]
        by_week = self.length <= MOST_BY_WEEK
        found, first = [], self.first
        while first <= self.last:
            last = first + DAY * (6 - first.weekday()) if by_week else month_end(first)
            found.append(InsightPeriod(first, min(last, self.last)))
            first = last + DAY
        return found

    @property
    def label(self) -> str:
        """The period in words: `Mon 2 Nov 2026`, or `2 Nov to 8 Nov 2026`."""
        if self.first == self.last:
            return f"{self.first:%a} {self.first.day} {self.first:%b %Y}"
        return f"{self.first.day} {self.first:%b} to {self.last.day} {self.last:%b %Y}"

    @property
    def iso(self) -> str:
        """The period in ISO 8601: `2026-11-02`, or `2026-11-02/2026-11-08`."""
        return f"{self.first}" if self.first == self.last else f"{self.first}/{self.last}"

    @property
    def short(self) -> str:
        """The first day, as a label of a chart's axis."""
        return f"{self.first.day} {self.first:%b}"


@dataclass(frozen=True, slots=True)
class InsightQuery:
    """A query for the facts of these owners, of a slice, in a period; `compare` with the period before."""

    owners: Sequence[str]
    where: Slice
    period: InsightPeriod
    compare: bool = False

    @property
    def left_out(self) -> int:
        """The number of owners that are left out because there are too many."""
        return max(0, len(self.owners) - MOST_OWNERS)


@dataclass(frozen=True)
class StepNumbers:
    """The sums of one step of a period: the packed sums of each day, one for each owner."""

    period: InsightPeriod
    days: tuple[tuple[date, tuple[str | bytes, ...]], ...] = ()

    @cached_property
    def counts(self) -> Mapping[Measure, int]:
        """The counts by measure."""
        return sum_packed(tuple(chain.from_iterable(packed for _, packed in self.days)))


@dataclass(frozen=True)
class TopicNumbers:
    """The sums of one topic by the steps of a period, oldest first; `earlier`: those of the period before, if wanted.

    `at` is when the newest of the latest day's sums was made, if known.
    """

    steps: Sequence[StepNumbers] = ()
    earlier: Sequence[StepNumbers] | None = None
    at: datetime | None = None

    @cached_property
    def total(self) -> Counts:
        """The total counts of the period."""
        return _total(self.steps)

    @cached_property
    def before(self) -> Counts | None:
        """The total counts of the period before; None if it is not compared."""
        return None if self.earlier is None else _total(self.earlier)

    def amount(self, *pattern: str) -> int:
        """Return the period's sum of the measures that match a pattern."""
        return amount_of(self.total, pattern)

    def compare(self, value: Callable[[Counts], T]) -> tuple[T, T | None]:
        """Return a value of the period's counts, and that of the period before; None if it is not compared."""
        return value(self.total), None if self.before is None else value(self.before)

    def parts(self, name: str, position: int) -> Counter[str]:
        """Sum up a measure by one of its parts (1 is the first after its name)."""
        found: Counter[str] = Counter()
        for measure, count in self.total.items():
            if measure[0] == name:
                found[measure[position]] += count
        return found


def quantile_of(counts: Mapping[Measure, int], name: str, share: float) -> float | None:
    """Return a quantile of a measure in buckets."""
    buckets = {int(measure[1]): count for measure, count in counts.items() if measure[0] == name}
    return quantile(buckets, share)


def read_topics(kind: FactKind, query: InsightQuery, topics: Sequence[Topic]) -> dict[Topic, TopicNumbers]:
    """Read the sums of some topics: one Query for each owner and topic. Raises the store's errors."""
    period = query.period
    first = period.before.first if query.compare else period.first
    asked = [(topic, owner) for topic in topics for owner in query.owners[:MOST_OWNERS]]
    reads = [partial(read_sums, kind, owner, topic, query.where, first, period.last) for topic, owner in asked]
    found: dict[Topic, list[DaySums]] = {topic: [] for topic in topics}
    for (topic, _), sums in zip(asked, parallel(*reads), strict=True):
        found[topic] += sums
    return {topic: _numbers(sums, query) for topic, sums in found.items()}


def _numbers(sums: Sequence[DaySums], query: InsightQuery) -> TopicNumbers:
    days: dict[date, tuple[str | bytes, ...]] = defaultdict(tuple)
    for each in sums:
        days[each.day] += (each.packed,)
    latest = max(days, default=None)
    # A company is summed up when something of it changes, so older sums of others are current too.
    times = [at for each in sums if each.day == latest and (at := each.at) is not None]
    earlier = _in_steps(query.period.before, days) if query.compare else None
    return TopicNumbers(_in_steps(query.period, days), earlier, max(times, default=None))


def _in_steps(period: InsightPeriod, days: Mapping[date, tuple[str | bytes, ...]]) -> list[StepNumbers]:
    return [
        StepNumbers(
            step,
            tuple((day, days[day]) for number in range(step.length) if (day := step.first + DAY * number) in days),
        )
        for step in period.steps()
    ]


def _total(steps: Sequence[StepNumbers]) -> Counts:
    total: Counts = Counter()
    for each in steps:
        total.update(each.counts)
    return total


def month_end(day: date) -> date:
    """Return the last day of the month of a day."""
    return (day.replace(day=1) + DAY * 31).replace(day=1) - DAY
