"""Each test has a database of its own: no day of it is marked as changed by the one before."""

import pytest

from console import clock
from conversations.insight import facts
from conversations.insight.identity import pseudonym_of
from tests.store.conversations.insight.core.kit import Clock


@pytest.fixture(autouse=True)
def _forget_marks() -> None:
    facts.forget_marks()


@pytest.fixture
def time(monkeypatch) -> Clock:
    """A clock that stands where a test puts it."""
    standing = Clock()
    monkeypatch.setattr(clock, "now", lambda: standing.now)
    return standing


@pytest.fixture
def key_is_there(request: pytest.FixtureRequest) -> None:
    """The key of pseudonyms was read: what happens in the middle of that would wait for it to end."""
    if "store" in request.fixturenames:
        request.getfixturevalue("store")
        pseudonym_of("", "")
