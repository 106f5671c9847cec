"""A period of Insight, and its numbers: the sums of a topic by day, and of the period before."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import partial

from console.store.calls import parallel
from conversations.insight.behind import ANY
from conversations.insight.buckets import quantile
from conversations.insight.facts import FactKind
from conversations.insight.measures import Counts, Topic
from conversations.insight.sums import DaySums, Slice, read_sums

DAY = timedelta(days=1)
MOST_DAYS = 366
# Owners that are read at once where all are asked for.
MOST_OWNERS = 25


@dataclass(frozen=True, slots=True)
class InsightPeriod:
    """Days in UTC, both included."""

    first: date
    last: date

    @property
    def length(self) -> int:
        """How many days."""
        return (self.last - self.first).days + 1

    @property
    def before(self) -> "InsightPeriod":
        """The days before it, as many."""
        return InsightPeriod(self.first - DAY * self.length, self.first - DAY)

    def days(self) -> list[date]:
        """Each day, in order."""
        return [self.first + DAY * number for number in range(self.length)]


@dataclass(frozen=True, slots=True)
class InsightQuery:
    """What is asked for: the facts of these owners, of a slice, in a period; `compare` with the period before."""

    owners: Sequence[str]
    where: Slice
    period: InsightPeriod
    compare: bool = False

    @property
    def left_out(self) -> int:
        """Owners that are too many to be read at once."""
        return max(0, len(self.owners) - MOST_OWNERS)


@dataclass(frozen=True)
class TopicNumbers:
    """The sums of one topic: by day, oldest first, and of the whole period; `before` is that of the period before.

    `at` is when the oldest of the latest sums was made, as far as is known.
    """

    by_day: dict[date, Counts] = field(default_factory=dict)
    total: Counts = field(default_factory=Counter)
    before: Counts | None = None
    before_by_day: list[Counts] = field(default_factory=list)
    at: datetime | None = None

    def amount(self, *pattern: str) -> int:
        """What the period adds up to of the measures that match."""
        return amount_of(self.total, pattern)

    def amount_before(self, *pattern: str) -> int | None:
        """As `amount`, of the period before; None where that is not asked for."""
        return None if self.before is None else amount_of(self.before, pattern)

    def quantile(self, measure: str, share: float) -> float | None:
        """The value of a measure in buckets that so large a share does not exceed."""
        return quantile_of(self.total, measure, share)

    def quantile_before(self, measure: str, share: float) -> float | None:
        """As `quantile`, of the period before."""
        return None if self.before is None else quantile_of(self.before, measure, share)

    def parts(self, name: str, *positions: int) -> Counter[tuple[str, ...]]:
        """Sum a measure up by some of its parts (1 is the first behind its name)."""
        found: Counter[tuple[str, ...]] = Counter()
        for measure, count in self.total.items():
            if measure[0] == name:
                found[tuple(measure[each] for each in positions)] += count
        return found


def amount_of(counts: Counts, pattern: Sequence[str]) -> int:
    """What counts add up to of the measures that match a pattern."""
    if ANY not in pattern:
        return counts.get(tuple(pattern), 0)
    return sum(
        count
        for measure, count in counts.items()
        if len(measure) == len(pattern)
        and all(wanted in (ANY, found) for wanted, found in zip(pattern, measure, strict=True))
    )


def quantile_of(counts: Counts, name: str, share: float) -> float | None:
    """A quantile of a measure in buckets."""
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
    period, before = query.period, query.period.before
    by_day: dict[date, Counts] = {day: Counter() for day in period.days()}
    earlier: dict[date, Counts] = {day: Counter() for day in before.days()} if query.compare else {}
    for each in sums:
        if each.day in by_day:
            by_day[each.day].update(each.counts)
        elif each.day in earlier:
            earlier[each.day].update(each.counts)
    latest = max((each.day for each in sums if each.day), default=None)
    times = [each.at for each in sums if each.day == latest and each.at is not None]
    return TopicNumbers(
        by_day,
        _added(by_day.values()),
        _added(earlier.values()) if query.compare else None,
        list(earlier.values()),
        min(times, default=None),
    )


def _added(counts: Iterable[Counts]) -> Counts:
    total: Counts = Counter()
    for each in counts:
        total.update(each)
    return total
