"""The scenario of these suites, and browsers in it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.test import Client

from console.staff.models import StaffAccount
from tests import people
from tests.scenario import Scenario, build

NOBODY = "nobody"


@pytest.fixture
def scenario(store) -> Scenario:
    """Two companies, and one member of staff of each role."""
    return build(store)


@pytest.fixture
def browser_of() -> Callable[..., Client]:
    """`browser_of(scenario, "agent")`: a browser in which the person of that role is signed in; "nobody" for none."""

    def browser_of(scenario: Scenario, role: str, **options: Any) -> Client:
        client = Client(**options)
        if role != NOBODY:
            # As stored now: an action may just have changed the account.
            account = StaffAccount.get(scenario.people[role].username, consistent_read=True)
            client.cookies = people.signed_in(account).cookies
        return client

    return browser_of


@pytest.fixture
def browser(scenario, browser_of) -> Callable[..., Client]:
    """`browser("agent")`: as `browser_of`, in the test's own scenario."""
    return partial(browser_of, scenario)
