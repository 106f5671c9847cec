"""Times as templates show them."""

from datetime import UTC, datetime

import pytest

from console import clock
from console.templatetags.console import brief

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (datetime(2026, 11, 20, 9, 5, tzinfo=UTC), "09:05"),
        (datetime(2026, 11, 19, 23, 59, tzinfo=UTC), "19 Nov, 23:59"),
        (datetime(2025, 12, 31, 8, 0, tzinfo=UTC), "31 Dec 2025, 08:00"),
    ],
)
def test_brief_leaves_out_what_the_reader_knows(monkeypatch, at, words):
    monkeypatch.setattr(clock, "now", lambda: NOW)
    shown = brief(at)
    assert f">{words}<" in shown
    assert f'title="{at:%Y-%m-%d %H:%M:%S} UTC"' in shown


def test_brief_of_an_unknown_moment():
    assert brief(None) == "unknown"
