"""Production refuses to start with what is meant for development."""

import random
import re
import secrets
from base64 import urlsafe_b64encode

import pytest
from django.core import checks
from django.utils.crypto import RANDOM_STRING_CHARS

from console.checks import check_fallback_keys, is_guessable
from console.schema.tables import TABLES
from tests.refusals import refused


@pytest.fixture
def strict(settings):
    settings.CONSOLE_ENV, settings.DEBUG, settings.PLAIN_HTTP = "prod", False, False
    settings.DYNAMODB_ENDPOINT = ""
    settings.ALLOWED_HOSTS = ["console.example.com"]
    return settings


def test_strict_settings_start(strict):
    assert refused() == ""


@pytest.mark.parametrize("environment", ["prod", "production", "staging", "uat", "live", "eu-1"])
@pytest.mark.parametrize(
    ("name", "value"), [("DEBUG", True), ("PLAIN_HTTP", True), ("ALLOWED_HOSTS", ["a.example", " *"])]
)
def test_switches_of_development_are_refused_but_in_development(strict, environment, name, value):
    setattr(strict, name, value)
    strict.CONSOLE_ENV = environment
    assert re.fullmatch(f"console.E003: {name}.*{environment}.*", refused())
    for development in ("dev", "local", "demo", "test"):
        strict.CONSOLE_ENV = development
        assert refused() == ""


@pytest.mark.parametrize(
    "key",
    [
        "short",
        "x7Kq9" * 6,
        "x7Kq9mT2" * 8,
        "a" * 64,
        "ab" * 32,
        "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG",
        "django-insecure-4k!x9q2@z7w#m5v8b1n3c6l0p9o8i7u6y5",
        "please-CHANGE_ME-please-4k!x9q2@z7w#m5v8b1n3c6l0",
        "test-secret-key-that-is-long-enough-for-django-to-accept-it-0123456789",
    ],
)
@pytest.mark.parametrize("environment", ["prod", "staging", "dev", "test"])
def test_a_key_that_can_be_guessed_is_refused_everywhere_but_in_the_demo(strict, key, environment):
    strict.SECRET_KEY, strict.CONSOLE_ENV = key, environment
    assert re.fullmatch("console.E002: SECRET_KEY can be guessed.*32 random.*", refused())
    strict.CONSOLE_ENV = "demo"
    assert refused() == ""


def test_keys_drawn_at_random_are_taken():
    draw = random.Random(34)
    keys = (
        key
        for _ in range(2000)
        for key in (
            urlsafe_b64encode(draw.randbytes(24)).decode(),
            draw.randbytes(16).hex(),
            draw.randbytes(32).hex(),
            "".join(draw.choices(RANDOM_STRING_CHARS, k=50)),
        )
    )
    assert [key for key in keys if is_guessable(key)] == []


# Half of its steps are to a neighbour, as in one of 100,000 random keys of its kind.
def test_a_random_key_with_an_unlucky_run_of_neighbours_is_taken():
    assert not is_guessable("77678821a9caee1226f87676bcf2eecb")


@pytest.mark.parametrize(("behind", "trusted", "warned"), [(True, 0, True), (True, 1, False), (False, 0, False)])
def test_a_proxy_that_is_not_counted_is_warned_of(strict, behind, trusted, warned):
    strict.BEHIND_TLS_PROXY, strict.TRUSTED_PROXIES = behind, trusted
    found = [each for each in checks.run_checks(include_deployment_checks=True) if each.id == "console.W001"]
    assert len(found) == warned
    assert all("TRUSTED_PROXIES" in each.hint for each in found)


def test_a_fallback_key_that_can_be_guessed_is_warned_of(strict):
    strict.SECRET_KEY_FALLBACKS = [secrets.token_urlsafe(48)]
    assert list(check_fallback_keys(None)) == []
    strict.SECRET_KEY_FALLBACKS += ["short"]
    assert [each.id for each in check_fallback_keys(None)] == ["console.W002"]


def test_readiness_needs_each_of_the_tables_without_which_no_page_works(bare_store, client):
    own = [key for key in TABLES if key in ("STAFF", "STAFF_SESSIONS", "CONSOLE")]
    assert client.get("/readyz").status_code == 503
    for number, key in enumerate(own, 1):
        bare_store.create_tables(key)
        assert client.get("/readyz").status_code == (200 if number == len(own) else 503), key


def test_the_web_server_does_not_start_before_static_files_are_collected(strict, tmp_path):
    strict.STATIC_ROOT = tmp_path
    assert refused() == ""
    strict.STATIC_MANIFEST = True
    assert "console.E012" in refused()
    (tmp_path / "staticfiles.json").write_text("{}")
    assert refused() == ""
