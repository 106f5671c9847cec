"""Business hours: when people answer, and when a span of their time has passed. No I/O."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from console.clock import zone_of

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Limit of the search: no target is further away.
_MOST_DAYS = 400


@dataclass(frozen=True, slots=True)
class BusinessHours:
    """The same hours from some days of the week on (0 is Monday). Hours that do not close later than they open pass
    midnight: 22:00 to 06:00, and those that end at midnight, at 00:00, close on the next day.
    """

    opens: time
    closes: time
    days: frozenset[int]
    time_zone: str

    @property
    def label(self) -> str:
        """The hours in words: `09:00–17:00, Mon, Tue, Wed (Europe/London)`."""
        days = ", ".join(WEEKDAYS[day] for day in sorted(self.days))
        return f"{self.opens:%H:%M}–{self.closes:%H:%M}, {days} ({self.time_zone})"

    def spans(self, since: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times at which people answer, from `since` on, in UTC."""
        zone = zone_of(self.time_zone)
        # Hours of the day before may have passed midnight.
        first = since.astimezone(zone).date() - timedelta(days=1)
        for number in range(_MOST_DAYS):
            day = first + timedelta(days=number)
            if day.weekday() not in self.days:
                continue
            ends = day + timedelta(days=1) if self.closes <= self.opens else day
            begin = datetime.combine(day, self.opens, zone).astimezone(UTC)
            end = datetime.combine(ends, self.closes, zone).astimezone(UTC)
            if end > max(begin, since):
                yield max(begin, since), end


def add_business_time(since: datetime, span: timedelta, hours: BusinessHours | None) -> datetime:
    """Return when `span` has passed since an instant; with `hours`, only business hours count."""
    if hours is None or not hours.days:
        return since + span
    left = span
    for begin, end in hours.spans(since):
        if left <= end - begin:
            return begin + left
        left -= end - begin
    return since + timedelta(days=_MOST_DAYS)
