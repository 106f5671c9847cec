"""ISO weeks: over the ends of years, in words, and what is none."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.insight.announcing import due_week
from conversations.insight.summary import IsoWeek


@pytest.mark.parametrize(
    ("day", "week"),
    [
        (date(2026, 11, 22), "2026-W47"),
        (date(2026, 1, 1), "2026-W01"),
        # A year of 53 weeks, whose last one ends in the next year.
        (date(2026, 12, 31), "2026-W53"),
        (date(2027, 1, 3), "2026-W53"),
        (date(2027, 1, 4), "2027-W01"),
        # The first week of a year begins in the one before.
        (date(2024, 12, 30), "2025-W01"),
    ],
)
def test_the_week_of_a_day(day, week):
    assert str(IsoWeek.of(day)) == week
    assert IsoWeek.parse(week) == IsoWeek.of(day)
    assert IsoWeek.of(day).period.first <= day <= IsoWeek.of(day).period.last


@given(st.dates(date(2001, 1, 1), date(2098, 12, 31)))
def test_weeks_follow_one_another_from_monday_to_sunday(day):
    week = IsoWeek.of(day)
    assert (week.period.first.weekday(), week.period.length) == (0, 7)
    assert week.before.after == week == IsoWeek.parse(str(week))
    assert week.before.period == week.period.before
    assert week.after.period.first == week.period.last + timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-W00", "2025-W53", "2026-W54", "2026-W7", "1999-W01", "2026-47", "２０２６-W47", "2026-W47\n"],
)
def test_what_is_no_week(text):
    with pytest.raises(ValueError):
        IsoWeek.parse(text)


@pytest.mark.parametrize(
    ("week", "words"),
    [
        ("2026-W47", "16 to 22 November 2026"),
        ("2026-W49", "30 November to 6 December 2026"),
        ("2026-W53", "28 December 2026 to 3 January 2027"),
    ],
)
def test_a_week_in_words(week, words):
    assert IsoWeek.parse(week).words == words


@pytest.mark.parametrize(
    ("now", "week"),
    [
        (datetime(2026, 11, 23, 5, 59, tzinfo=UTC), "2026-W46"),
        (datetime(2026, 11, 23, 6, tzinfo=UTC), "2026-W47"),
        (datetime(2026, 11, 29, 23, 59, tzinfo=UTC), "2026-W47"),
        (datetime(2027, 1, 4, 6, tzinfo=UTC), "2026-W53"),
    ],
)
def test_the_last_whole_week_is_told_from_monday_morning_on(now, week):
    assert str(due_week(now)) == week
