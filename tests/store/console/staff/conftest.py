"""Accounts, a clock to turn, and routes of every kind for the tests of sign-in."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from console import clock
from console.permissions import Role
from console.staff import services
from console.staff.models import StaffAccount
from console.trail.recording import Actor

PASSWORD = "correct horse battery"
ADMIN = Actor("ada.admin", "admin")


@pytest.fixture(autouse=True)
def _routes(settings) -> None:
    settings.ROOT_URLCONF = "tests.support.console.staff.urls"


@pytest.fixture(autouse=True)
def _nothing_to_release(monkeypatch) -> None:
    """What other apps do when an account is disabled is tested with them."""
    monkeypatch.setattr(services, "on_disabled", [])


@pytest.fixture
def agent(store) -> StaffAccount:
    """An agent for two companies."""
    return services.create(
        "amira.haddad",
        PASSWORD,
        role=Role.AGENT,
        scope=["company:ci-cuc-001", "company:ci-nwe-002"],
        display_name="Amira Haddad",
        actor=ADMIN,
    )


@pytest.fixture
def sign_in(agent) -> Callable[[Client], str]:
    """Signs the agent in with a client and returns the token."""

    def sign_in(client: Client, password: str = PASSWORD) -> str:
        answer = client.post("/sign-in/", {"username": agent.username, "password": password})
        assert answer.status_code == 302
        return client.cookies["session"].value

    return sign_in


@pytest.fixture
def later(monkeypatch) -> Callable[..., None]:
    """Moves the console's clock: `later(minutes=5)` from where it is. It goes on from there unless it `stands`."""
    real = clock.now
    offset = timedelta()

    def later(*, stands: bool = False, **span: float) -> None:
        nonlocal offset, real
        offset += timedelta(**span)
        if stands:
            moment = real()
            real = lambda: moment  # noqa: E731
        monkeypatch.setattr(clock, "now", lambda: real() + offset)

    return later
