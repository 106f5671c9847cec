"""The facts that add up to a number, newest day first.

The sums of the period show which days have any, and only these days are read. Within a day, facts are ordered by id.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from conversations.insight.facts import FactDay, FactKind, InsightFact, facts_of
from conversations.insight.measures import Measure, Topic, amount_of, counts_of
from conversations.insight.sums import Slice, read_sums

ROWS, READS = 50, 6
# A position after every id: that day has been read.
END = "~"


@dataclass(frozen=True, slots=True)
class NumberSource:
    """What a number counts: an owner's facts of one kind in a period (both days included), limited to a slice.

    `pattern` is a measure in which `ANY` matches any value.
    """

    kind: FactKind
    owner: str
    topic: Topic
    where: Slice
    pattern: Measure
    first: date
    last: date

    def amount(self, counts: Mapping[Measure, int]) -> int:
        """Return what counts contribute to the number."""
        return amount_of(counts, self.pattern)

    def has(self, fact: InsightFact) -> bool:
        """Return whether a fact contributes to the number."""
        return self.where.holds(fact.data) and self.amount(counts_of(self.kind, self.topic, fact.data)) > 0


@dataclass(frozen=True, slots=True)
class FactPage:
    """A page of the facts behind a number whose total is `amount`. `next` is where to continue; None at the end.

    `reached` is the last day read, if reading ended before the page was full.
    """

    amount: int
    facts: tuple[InsightFact, ...]
    next: tuple[str, str] | None = None
    reached: date | None = None


def read_drill_down(source: NumberSource, after: tuple[str, str] | None = None, rows: int = ROWS) -> FactPage:
    """Read a page of the facts behind a number, starting after a position.

    One Query for the sums and at most `READS` for facts. Raises the store's errors.
    """
    sums = read_sums(source.kind, source.owner, source.topic, source.where, source.first, source.last)
    amounts = {each.day: source.amount(each.counts) for each in sums}
    total = sum(amounts.values())
    days = sorted((day for day, amount in amounts.items() if amount), reverse=True)
    found: list[InsightFact] = []
    reads = 0
    for day in days:
        name = day.isoformat()
        if after is not None and (name > after[0] or after == (name, END)):
            continue
        begin = after[1] if after is not None and name == after[0] else ""
        for facts in facts_of(FactDay(source.kind, source.owner, name), begin):
            reads += 1
            matching = [each for each in facts if source.has(each)]
            found += matching
            if len(found) > rows:
                last = found[rows - 1]
                return FactPage(total, tuple(found[:rows]), (last.day.day, last.id))
            if reads >= READS and (facts or day != days[-1]):
                place = (name, facts[-1].id if facts else END)
                return FactPage(total, tuple(found), place, day)
    return FactPage(total, tuple(found))
