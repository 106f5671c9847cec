"""Business hours, held against counting minute by minute."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.clock import zone_of
from conversations.attention.hours import BusinessHours, add_business_time

OFFICE = BusinessHours(time(9), time(17), frozenset(range(5)), "Europe/London")
FRIDAY = datetime(2026, 11, 20, 16, 0, tzinfo=UTC)


def counted(since: datetime, minutes: int, hours: BusinessHours) -> datetime:
    """The same by going from minute to minute."""
    zone, at = zone_of(hours.time_zone), since
    while minutes:
        local = at.astimezone(zone)
        passes_midnight, today = hours.closes <= hours.opens, local.weekday()
        this_day = (
            today in hours.days and hours.opens <= local.time() and (passes_midnight or local.time() < hours.closes)
        )
        of_the_day_before = passes_midnight and (today - 1) % 7 in hours.days and local.time() < hours.closes
        if this_day or of_the_day_before:
            minutes -= 1
        at += timedelta(minutes=1)
    return at


@pytest.mark.parametrize(
    ("since", "minutes", "due"),
    [
        (FRIDAY, 30, FRIDAY + timedelta(minutes=30)),
        (FRIDAY, 60, FRIDAY + timedelta(hours=1)),
        (FRIDAY, 90, datetime(2026, 11, 23, 9, 30, tzinfo=UTC)),
        (datetime(2026, 11, 21, 12, tzinfo=UTC), 5, datetime(2026, 11, 23, 9, 5, tzinfo=UTC)),
        # Clocks go back in the night to Monday 26 October: London is an hour nearer to UTC.
        (datetime(2026, 10, 23, 15, 30, tzinfo=UTC), 60, datetime(2026, 10, 26, 9, 30, tzinfo=UTC)),
    ],
)
def test_only_business_hours_count(since, minutes, due):
    assert add_business_time(since, timedelta(minutes=minutes), OFFICE) == due


@pytest.mark.parametrize(
    ("since", "minutes", "due"),
    [
        # FRIDAY is 16:00: the night of Friday begins at 22:00, and ends on Saturday at 06:00.
        (FRIDAY, 30, FRIDAY.replace(hour=22, minute=30)),
        (FRIDAY.replace(hour=23), 120, FRIDAY.replace(hour=1) + timedelta(days=1)),
        (FRIDAY.replace(hour=5, minute=30), 30, FRIDAY.replace(hour=6)),
        (FRIDAY.replace(hour=5, minute=30), 31, FRIDAY.replace(hour=22, minute=1)),
        # Nobody answers in the nights of Saturday and Sunday.
        (FRIDAY.replace(hour=5) + timedelta(days=1), 90, FRIDAY.replace(hour=22, minute=30) + timedelta(days=3)),
    ],
)
def test_hours_may_pass_midnight(since, minutes, due):
    night = BusinessHours(time(22), time(6), frozenset(range(5)), "UTC")
    assert add_business_time(since, timedelta(minutes=minutes), night) == due


def test_without_hours_all_time_counts():
    assert add_business_time(FRIDAY, timedelta(days=2), None) == FRIDAY + timedelta(days=2)
    nobody = BusinessHours(time(9), time(17), frozenset(), "UTC")
    assert add_business_time(FRIDAY, timedelta(days=2), nobody) == FRIDAY + timedelta(days=2)


HOURS = st.builds(
    BusinessHours,
    opens=st.times(max_value=time(11)).map(lambda each: each.replace(second=0, microsecond=0)),
    closes=st.sampled_from([time(0), time(4), time(12), time(17, 30), time(23, 59)]),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    time_zone=st.sampled_from(["UTC", "Europe/London", "America/New_York", "Asia/Kolkata", "nonsense"]),
)


@pytest.mark.slow
@given(
    minutes=st.integers(1, 1500),
    hours=HOURS,
    since=st.datetimes(datetime(2026, 3, 1), datetime(2026, 11, 30)).map(
        lambda each: each.replace(second=0, microsecond=0, tzinfo=UTC)
    ),
)
def test_as_counting_says(since, minutes, hours):
    assert add_business_time(since, timedelta(minutes=minutes), hours) == counted(since, minutes, hours)


def test_hours_are_told():
    assert OFFICE.label == "09:00–17:00, Mon, Tue, Wed, Thu, Fri (Europe/London)"
