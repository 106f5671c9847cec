"""Timestamps of several writers are one instant; junk is none."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock

INSTANT = datetime(2025, 1, 5, 6, 46, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    "spelling",
    [
        "2025-01-05T06:46:03Z",
        "2025-01-05T06:46:03+00:00",
        "2025-01-05T06:46:03+00:00Z",
        "2025-01-05T07:46:03+01:00",
        "2025-01-05T01:16:03-0530",
        "2025-01-05 06:46:03",
        "2025-01-05T06:46:03.000000Z",
        "2025-01-05T06:46:03.000000000Z",
        1736059563,
        1736059563.0,
        Decimal("1736059563"),
        "1736059563",
        1736059563000,
        "1736059563000",
        1736059563000000,
        1736059563000000000,
    ],
)
def test_every_spelling_is_the_same_instant(spelling):
    assert clock.parse_instant(spelling) == INSTANT


@given(
    st.one_of(
        st.none(), st.booleans(), st.text(), st.floats(), st.integers(), st.lists(st.integers()), st.binary(max_size=9)
    )
)
def test_junk_never_raises(junk):
    found = clock.parse_instant(junk)
    assert found is None or found.tzinfo is not None


@pytest.mark.parametrize("junk", ["", "yesterday", "2025-13-40T00:00:00Z", True, None, -5, float("nan"), "9" * 80])
def test_junk_is_no_instant(junk):
    assert clock.parse_instant(junk) is None


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_what_we_write_we_read(moment):
    assert clock.parse_instant(clock.to_iso(moment, "microseconds")) == moment


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(seconds=-5), "less than a minute"),
        (timedelta(seconds=59), "less than a minute"),
        (timedelta(minutes=12, seconds=59), "12 min"),
        (timedelta(hours=3), "3 h"),
        (timedelta(hours=3, minutes=12), "3 h 12 min"),
        (timedelta(hours=24), "1 d"),
        (timedelta(hours=34), "1 d 10 h"),
        (timedelta(days=12, hours=5), "12 days"),
        (timedelta(days=2, hours=23), "2 d 23 h"),
    ],
)
def test_spans_read_as_people_say_them(span, words):
    assert clock.format_span(span) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0 s"),
        (0.85, "0.8 s"),
        (2.1, "2.1 s"),
        (9.99, "9.9 s"),
        (10, "10 s"),
        (59.99, "59 s"),
        (60, "1 min"),
        (7260, "2 h 1 min"),
    ],
)
def test_short_spans_are_in_seconds(seconds, words):
    assert clock.format_seconds(timedelta(seconds=seconds)) == words


@pytest.mark.parametrize(
    ("ttl", "expired"),
    [
        (1736059562, True),
        (Decimal("1736059562.5"), True),
        ("1736059562", True),
        (1736059564, False),
        (None, False),
        (True, False),
        ("soon", False),
        (0, False),
        (Decimal("NaN"), False),
        ([], False),
    ],
)
def test_expiry_by_any_number(ttl, expired):
    assert clock.is_expired(ttl, INSTANT) is expired


@pytest.mark.parametrize("end", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", 10**400, -(10**400)])
def test_the_ends_of_the_calendar_are_no_instants_because_no_zone_can_show_them(end):
    assert clock.parse_instant(end) is None
