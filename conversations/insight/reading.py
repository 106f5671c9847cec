"""A period of Insight and its numbers: the sums of a topic by day, for it and for the period before."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from itertools import chain

from console.store.calls import parallel
from conversations.insight.buckets import quantile
from conversations.insight.facts import FactKind
from conversations.insight.measures import Counts, Measure, Topic, amount_of
from conversations.insight.sums import DaySums, Slice, read_sums, sum_packed

DAY = timedelta(days=1)
MOST_DAYS = 366
# The longest periods that charts show by day and by week.
MOST_BY_DAY, MOST_BY_WEEK = 35, 200
# The most owners read for a query about all of them.
MOST_OWNERS = 25


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

    def amount_before(self, *pattern: str) -> int | None:
        """Return the `amount` of the period before; None if it is not compared."""
        return None if self.before is None else amount_of(self.before, pattern)

    def quantile(self, measure: str, share: float) -> float | None:
        """Return the value of a measure in buckets that this share does not exceed."""
        return quantile_of(self.total, measure, share)

    def quantile_before(self, measure: str, share: float) -> float | None:
        """Return the `quantile` of the period before; None if it is not compared."""
        return None if self.before is None else quantile_of(self.before, measure, share)

    def parts(self, name: str, *positions: int) -> Counter[tuple[str, ...]]:
        """Sum up a measure by some of its parts (1 is the first after its name)."""
        found: Counter[tuple[str, ...]] = Counter()
        for measure, count in self.total.items():
            if measure[0] == name:
                found[tuple(measure[each] for each in positions)] += count
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
