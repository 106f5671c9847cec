"""Time that passes for the hand-off's tests."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from console import clock


@pytest.fixture
def eleven_minutes_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Moves the clock past the time after which an open action is fenced."""

    def move() -> None:
        moment = clock.now() + timedelta(minutes=11)
        monkeypatch.setattr(clock, "now", lambda: moment)

    return move
