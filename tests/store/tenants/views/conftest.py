"""Browsers of the people who use the pages of tenants."""

import pytest
from django.test import Client

from tests.people import member, signed_in


@pytest.fixture(autouse=True)
def _whole_console(settings) -> None:
    settings.ROOT_URLCONF = "console.urls"


@pytest.fixture
def olga(store) -> Client:
    """Who onboards two tenants."""
    return signed_in(member("olga.novak", "onboarding", ["outlocks", "acme"]))


@pytest.fixture
def aiko(store) -> Client:
    """An auditor of everything."""
    return signed_in(member("aiko.mori", "auditor", ["*"]))


@pytest.fixture
def amira(store) -> Client:
    """An agent of everything."""
    return signed_in(member("amira.haddad", "agent", ["*"]))
