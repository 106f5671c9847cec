"""Each test has a database of its own: no day of it is marked as changed by the one before."""

import pytest

from conversations.insight import facts


@pytest.fixture(autouse=True)
def _forget_marks() -> None:
    facts.forget_marks()
