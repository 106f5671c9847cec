"""Settings of the company's sign-in with which it could not work, or let in the wrong people, stop the start."""

import json
import os
import subprocess
import sys

import pytest

from console.permissions import Role
from console.staff.oidc.configuration import current, problems


@pytest.fixture
def configured(settings):
    settings.CONSOLE_ENV = "prod"
    settings.OIDC_ISSUER = "https://login.corp.example/realms/acme"
    settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = "console", "s3cret"
    settings.OIDC_SCOPES = ["openid", "profile", "email"]
    settings.OIDC_ALLOWED_DOMAINS = ["Corp.example"]
    settings.OIDC_USERNAME_CLAIM = "preferred_username"
    settings.OIDC_ROLE_CLAIM, settings.OIDC_ROLES = "groups", {"b": "admin", "a": "agent"}
    settings.OIDC_SCOPE_CLAIM = ""
    return settings


def test_complete_settings_start(configured):
    assert list(problems()) == []
    assert current().domains == {"corp.example"}
    assert list(current().roles.items()) == [("b", Role.ADMIN), ("a", Role.AGENT)]


def test_without_an_issuer_nothing_is_asked_of_the_others(configured):
    configured.OIDC_ISSUER, configured.OIDC_CLIENT_ID, configured.OIDC_ROLES = "", "", {"x": "king"}
    assert list(problems()) == []


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("OIDC_ISSUER", "http://login.corp.example", "OIDC_ISSUER"),
        ("OIDC_ISSUER", "http://127.0.0.1:8080", "OIDC_ISSUER"),
        ("OIDC_ISSUER", "login.corp.example", "OIDC_ISSUER"),
        ("OIDC_ISSUER", "https://login.corp.example/#x", "OIDC_ISSUER"),
        ("OIDC_ISSUER", "https://user@login.corp.example", "OIDC_ISSUER"),
        ("OIDC_ISSUER", "https://login.corp.example/?realm=x", "query"),
        ("OIDC_CLIENT_ID", "", "OIDC_CLIENT_ID is missing"),
        ("OIDC_CLIENT_SECRET", "gehe\u00efm", "OIDC_CLIENT_SECRET"),
        ("OIDC_CLIENT_SECRET", "two\nlines", "OIDC_CLIENT_SECRET"),
        ("OIDC_SCOPES", ["profile", "email"], "openid"),
        ("OIDC_SCOPES", ["openid", "profile"], "OIDC_ALLOWED_DOMAINS needs email"),
        ("OIDC_ALLOWED_DOMAINS", ["@corp.example"], "OIDC_ALLOWED_DOMAINS"),
        ("OIDC_ALLOWED_DOMAINS", ["*.corp.example"], "OIDC_ALLOWED_DOMAINS"),
        ("OIDC_ALLOWED_DOMAINS", ["ada@corp.example"], "OIDC_ALLOWED_DOMAINS"),
        ("OIDC_ALLOWED_DOMAINS", [""], "OIDC_ALLOWED_DOMAINS"),
        ("OIDC_USERNAME_CLAIM", "", "OIDC_USERNAME_CLAIM"),
        ("OIDC_ROLE_CLAIM", "", "need each other"),
        ("OIDC_ROLES", {}, "need each other"),
        ("OIDC_ROLES", {"a": "king"}, "no role 'king', only agent"),
        ("OIDC_ROLES", {"": "agent"}, "empty name"),
    ],
)
def test_settings_that_cannot_work_are_named_at_the_start(configured, name, value, told):
    setattr(configured, name, value)
    assert told in "; ".join(problems())


def test_secret_is_in_no_message_and_no_repr(configured):
    configured.OIDC_CLIENT_SECRET = "s3cret\u00ef"
    assert list(problems()) == ["OIDC_CLIENT_SECRET has characters that no header can carry"]
    assert "s3cret" not in repr(current())


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"])
def test_provider_on_this_machine_may_do_without_tls_outside_production(configured, issuer):
    configured.CONSOLE_ENV, configured.OIDC_ISSUER = "dev", issuer
    assert list(problems()) == []
    assert current().is_on_loopback


def test_names_that_only_look_like_this_machine_need_tls(configured):
    configured.CONSOLE_ENV, configured.OIDC_ISSUER = "dev", "http://127.0.0.1.evil.example"
    assert list(problems())


def test_lists_in_the_environment_are_read_in_order_with_or_without_spaces():
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OIDC_")},
        "OIDC_ROLES": "cn=leads = admin, console-agents=agent,typo",
        "OIDC_ALLOWED_DOMAINS": "corp.example, other.example",
        "OIDC_SCOPES": "openid, email",
    }
    told = "[list(s.OIDC_ROLES.items()), s.OIDC_ALLOWED_DOMAINS, s.OIDC_SCOPES]"
    child = subprocess.run(
        [sys.executable, "-c", f"import json; from console import settings as s; print(json.dumps({told}))"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(child.stdout) == [
        [["cn=leads", "admin"], ["console-agents", "agent"], ["", "typo"]],
        ["corp.example", "other.example"],
        ["openid", "email"],
    ]
