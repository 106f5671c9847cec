"""ISO 8601 weeks: from Monday to Sunday, in UTC. The first week of a year contains its first Thursday."""

import re
from dataclasses import dataclass
from datetime import date, timedelta

from conversations.insight.reading import InsightPeriod

_WEEK = re.compile(r"(20\d\d)-W([0-5]\d)", re.ASCII)
_WEEK_LONG = timedelta(weeks=1)


@dataclass(frozen=True, slots=True)
class IsoWeek:
    """A week; `year` is its ISO year, which some of its days may not be in."""

    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02}"

    @classmethod
    def of(cls, day: date) -> "IsoWeek":
        """Return the week of a day."""
        year, number, _ = day.isocalendar()
        return cls(year, number)

    @classmethod
    def parse(cls, text: str) -> "IsoWeek":
        """Parse `2026-W47`. Raises `ValueError`, also for a week that its year does not have."""
        found = _WEEK.fullmatch(text)
        if found is None:
            raise ValueError("no week")
        week = cls(int(found[1]), int(found[2]))
        return cls.of(week.first)

    @property
    def first(self) -> date:
        """Its Monday. Raises `ValueError` for a week that its year does not have."""
        return date.fromisocalendar(self.year, self.number, 1)

    @property
    def period(self) -> InsightPeriod:
        """Its days."""
        return InsightPeriod(self.first, date.fromisocalendar(self.year, self.number, 7))

    @property
    def before(self) -> "IsoWeek":
        """The week before it."""
        return IsoWeek.of(self.first - _WEEK_LONG)

    @property
    def after(self) -> "IsoWeek":
        """The week after it."""
        return IsoWeek.of(self.first + _WEEK_LONG)

    @property
    def words(self) -> str:
        """Its days in words: `16 to 22 November 2026`."""
        first, last = self.period.first, self.period.last
        begins = f"{first.day}" + ("" if first.month == last.month else f" {first:%B}")
        begins += "" if first.year == last.year else f" {first.year}"
        return f"{begins} to {last.day} {last:%B} {last.year}"
