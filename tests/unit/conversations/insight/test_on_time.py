"""The share of answers on time."""

import pytest

from conversations.insight.reports.conversations import WAITS
from conversations.insight.reports.parts import ShareFigure, share


@pytest.mark.parametrize(
    ("answered", "missed", "expected"), [(0, 0, None), (0, 2, 0), (4, 1, 75), (4, 0, 100), (1, 3, 0)]
)
def test_on_time_counts_answers_and_nothing_while_nobody_answered(answered, missed, expected):
    [figure] = [each for each in WAITS.figures if isinstance(each, ShareFigure) and each.name == "On time"]
    counts = {"asked": 9, "answered": answered, "missed": missed}
    assert share(*(each(lambda name, *_: counts[name]) for each in (figure.part, figure.whole))) == expected
