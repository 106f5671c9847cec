"""A clock that stands where a test puts it."""

import pytest

from console import clock
from conversations.insight.identity import pseudonym_of
from tests.store.conversations.insight.core.kit import Clock


@pytest.fixture(autouse=True)
def time(monkeypatch) -> Clock:
    standing = Clock()
    monkeypatch.setattr(clock, "now", lambda: standing.now)
    return standing


@pytest.fixture(autouse=True)
def _key_is_there(request: pytest.FixtureRequest) -> None:
    """What happens in the middle of its first reading would wait for that to end."""
    if "store" in request.fixturenames:
        request.getfixturevalue("store")
        pseudonym_of("", "")
