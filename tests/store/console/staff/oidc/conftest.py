"""The console with a company sign-in, and the provider behind it."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from django.test import Client

from console.staff.oidc import provider as console_side
from tests.support.console.staff.oidc.identity_provider import IdentityProvider


@pytest.fixture
def provider(settings) -> Iterator[IdentityProvider]:
    """A provider that is up, and the console set up for it; roles come from its `groups` claim."""
    console_side.forget()
    # As long as a provider that never answers is waited for.
    settings.REQUEST_DEADLINE_SECONDS = 8.0
    with IdentityProvider() as provider:
        settings.OIDC_ISSUER = provider.issuer
        settings.OIDC_CLIENT_ID = provider.client_id
        settings.OIDC_CLIENT_SECRET = provider.client_secret
        settings.OIDC_NAME = "Acme"
        settings.OIDC_SCOPES = ["openid", "profile", "email"]
        settings.OIDC_ALLOWED_DOMAINS = []
        settings.OIDC_USERNAME_CLAIM = "preferred_username"
        settings.OIDC_ROLE_CLAIM = "groups"
        settings.OIDC_ROLES = {"console-admins": "admin", "console-agents": "agent", "console-auditors": "auditor"}
        settings.OIDC_SCOPE_CLAIM = ""
        provider.person["groups"] = ["everyone", "console-agents"]
        yield provider
    console_side.forget()


@pytest.fixture
def no_roles(provider, settings) -> None:
    """Roles are given by administrators."""
    settings.OIDC_ROLE_CLAIM, settings.OIDC_ROLES = "", {}


def begin(client: Client, path: str = "/sign-in/company/") -> str:
    """Press the button; the provider's address that the browser is sent to."""
    answer = client.get(path)
    assert answer.status_code == 302, answer.content
    return answer["Location"]


def agree(url: str) -> str:
    """Agree at the provider; path and query of the console that the browser is sent back to."""
    answer = requests.get(url, allow_redirects=False, timeout=5)
    assert answer.status_code == 302, answer.text
    parts = urlsplit(answer.headers["Location"])
    assert f"{parts.scheme}://{parts.netloc}" == "http://testserver"
    return f"{parts.path}?{parts.query}"


def come(client: Client, path: str = "/sign-in/company/") -> Any:
    """The whole way, to the console's answer at the return."""
    return client.get(agree(begin(client, path)))


def failures(store) -> list[str]:
    """Results of the sign-ins that failed, of all trails."""
    return [item["result"] for item in store.all("AUDIT") if item["action_type"] == "staff.sign_in_failed"]


def assert_nobody_signed_in(store, client: Client) -> None:
    """No session is stored, the browser has none, and the attempt is over."""
    assert store.all("STAFF_SESSIONS") == []
    assert "session" not in client.cookies
    assert client.cookies["company-sign-in"].value == ""
