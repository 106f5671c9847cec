"""The facts that add up to a number, newest first.

The sums of the period show which days have any, and only these days are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from operator import itemgetter

from conversations.insight.facts import FactDay, FactKind, InsightFact, facts_of
from conversations.insight.measures import Measure, Topic, amount_of, counts_of
from conversations.insight.sums import Slice, read_sums

ROWS, READS = 50, 6
# A position after every id: that day has been read.
END = "~"


@dataclass(frozen=True, slots=True)
class CountedNumber:
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


# Where reading continues: the day, the id after which its facts are read, and the start and id of the last row shown.
Position = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class FactPage:
    """A page of the facts behind a number whose total is `amount`. `next` is where to continue; None at the end.

    `reached` is the last day read, if reading ended before the page was full. `in_parts`: a day has too many facts to
    sort at once.
    """

    amount: int
    facts: tuple[InsightFact, ...]
    next: Position | None = None
    reached: date | None = None
    in_parts: bool = False


def read_drill_down(source: CountedNumber, after: Position | None = None, rows: int = ROWS) -> FactPage:
    """Read a page of the facts behind a number, newest first, starting after a position.

    One Query for the sums, and less than twice `READS` for facts: a day is read whole, or in parts of `READS`, because
    facts are stored by id. Raises the store's errors.
    """
    sums = read_sums(source.kind, source.owner, source.topic, source.where, source.first, source.last)
    amounts = {each.day: source.amount(each.counts) for each in sums}
    total = sum(amounts.values())
    days = sorted((day for day, amount in amounts.items() if amount), reverse=True)
    found: list[tuple[Position, InsightFact]] = []
    reads, in_parts = 0, False
    for day in days:
        name = day.isoformat()
        if after is not None and name > after[0]:
            continue
        begin, shown = (after[1], after[2:]) if after is not None and name == after[0] else ("", ("", ""))
        while begin != END:
            facts, end, made = _read_part(FactDay(source.kind, source.owner, name), begin)
            reads, in_parts = reads + made, in_parts or bool(begin) or end != END
            places = [((name, begin, *_order_of(each)), each) for each in facts if source.has(each)]
            found += sorted(
                (each for each in places if not any(shown) or each[0][2:] < shown), key=itemgetter(0), reverse=True
            )
            if len(found) > rows:
                return FactPage(total, _facts(found[:rows]), found[rows - 1][0], in_parts=in_parts)
            if reads >= READS and (end != END or day != days[-1]):
                return FactPage(total, _facts(found), (name, end, "", ""), day, in_parts)
            begin, shown = end, ("", "")
    return FactPage(total, _facts(found), in_parts=in_parts)


def _read_part(day: FactDay, begin: str) -> tuple[list[InsightFact], str, int]:
    """Return up to `READS` pages of a day's facts after an id, the last one's id (`END`: no more), and the reads."""
    facts: list[InsightFact] = []
    reads = 0
    for page in facts_of(day, begin):
        facts += page
        reads += 1
        if reads == READS:
            return facts, facts[-1].id if facts else END, reads
    return facts, END, reads


def _order_of(fact: InsightFact) -> tuple[str, str]:
    return str(fact.data.get("started", "")), fact.id


def _facts(found: list[tuple[Position, InsightFact]]) -> tuple[InsightFact, ...]:
    return tuple(fact for _, fact in found)
