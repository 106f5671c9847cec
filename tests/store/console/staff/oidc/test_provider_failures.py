"""A provider that is down, slow, broken or not itself: a designed page, nobody signed in, and no endless wait."""

import json
import logging

import pytest
import requests
from django.test import Client

from console.staff.oidc import provider as console_side
from console.staff.oidc import transport
from tests.store.console.staff.oidc.conftest import agree, assert_nobody_signed_in, begin, come, failures
from tests.support.console.staff.oidc.identity_provider import Raw

# What the provider says is the matter here; what the store makes of those who get in is elsewhere.
pytestmark = pytest.mark.pages

DISCOVERY, KEYS, TOKEN = "/.well-known/openid-configuration", "/keys", "/token"
BROKEN = {
    "500": Raw(500, b"{}"),
    "503 page": Raw(503, b"<h1>Down</h1>", {"Content-Type": "text/html"}),
    "404": Raw(404, b"{}"),
    "empty": Raw(200, b""),
    "page": Raw(200, b"<h1>Welcome</h1>", {"Content-Type": "text/html"}),
    "cut off": Raw(200, b'{"issuer": "http', {"Content-Length": "5000"}),
    "list": Raw(200, b"[]"),
    "text": Raw(200, b'"x"'),
    "null": Raw(200, b"null"),
    "object": Raw(200, b"{}"),
    "no text": Raw(200, b"\xff\xfe\x00"),
    "deep": Raw(200, b"[" * 200_000),
    "huge": Raw(200, b'{"x": "' + b"x" * 3_000_000 + b'"}'),
    "huge number": Raw(200, b'{"expires_in": ' + b"9" * 10_000 + b"}"),
    "compressed": Raw(200, b"\x1f\x8b\x08\x00", {"Content-Encoding": "gzip"}),
    "redirect": Raw(302, b"{}", {"Location": "http://127.0.0.1:9/"}),
}


def assert_designed(answer) -> None:
    page = answer.content.decode()
    assert answer.status_code == 503
    assert "Your company&#x27;s sign-in did not answer" in page
    assert "tell an administrator" in page
    assert 'href="/sign-in/company/' in page
    assert int(answer["Retry-After"]) > 0


@pytest.mark.parametrize("name", BROKEN)
def test_broken_discovery_is_told_at_the_start(store, provider, client, name):
    provider.raw[DISCOVERY] = BROKEN[name]
    assert_designed(client.get("/sign-in/company/?next=/queue/"))
    assert "company-sign-in" not in client.cookies


@pytest.mark.parametrize("name", BROKEN)
def test_broken_keys_are_told_at_the_return(store, provider, client, name):
    provider.raw[KEYS] = BROKEN[name]
    assert_designed(come(client))
    assert_nobody_signed_in(store, client)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_token_answer_is_told_at_the_return(store, provider, client, name):
    provider.raw[TOKEN] = BROKEN[name]
    assert_designed(come(client))
    assert_nobody_signed_in(store, client)
    assert failures(store) == ["failed: the provider's token could not be used"]


@pytest.mark.parametrize(
    "changes", [{"access_token": None}, {"access_token": 7}, {"expires_in": "soon"}, {"expires_in": [1]}, {"error": {}}]
)
def test_tokens_of_junk_are_told_at_the_return(store, provider, client, changes):
    provider.token_changes = changes
    assert_designed(come(client))
    assert_nobody_signed_in(store, client)


@pytest.mark.slow
@pytest.mark.parametrize("path", [DISCOVERY, KEYS, TOKEN])
@pytest.mark.parametrize("how", ["held", "drip"])
def test_slow_provider_is_not_waited_for_beyond_the_request_s_time(store, provider, client, monkeypatch, path, how):
    to_open = "/sign-in/company/" if path == DISCOVERY else agree(begin(client))
    provider.raw[path] = Raw(200, b"{" + b" " * 4_000, held=how == "held", drip=how == "drip")
    # Half a second is left for the provider. Its answer would not end before the tests do: that this one ends is what
    # is tested.
    monkeypatch.setattr(transport, "RESERVE_SECONDS", 3.5)
    assert_designed(client.get(to_open))
    assert store.all("STAFF_SESSIONS") == []


def test_provider_that_is_not_there_is_told(store, client, settings):
    console_side.forget()
    settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID = "http://127.0.0.1:9", "console"
    assert_designed(client.get("/sign-in/company/"))


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": "https://evil.example"},
        {"issuer": None},
        {"issuer": ["x"]},
        {"authorization_endpoint": None},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": "http://169.254.169.254/latest"},
        {"token_endpoint": "ftp://127.0.0.1/"},
        {"token_endpoint": 7},
        {"jwks_uri": "//evil.example/keys"},
        {"jwks_uri": "https://user:word@evil.example/"},
        {"jwks_uri": "https://[/"},
        {"jwks_uri": "https://evil.example:x/"},
        {"end_session_endpoint": "data:text/html,x"},
        {"end_session_endpoint": "https://evil.example/ ;url=x"},
    ],
)
def test_document_that_leads_astray_is_not_believed(store, provider, client, changes):
    provider.document_changes = changes
    assert_designed(client.get("/sign-in/company/"))


def test_answer_longer_than_any_honest_one_is_not_read_to_its_end(store, provider, client):
    provider.document_changes = {"padding": "x" * 600_000}
    assert_designed(client.get("/sign-in/company/"))


def test_issuer_with_a_slash_at_its_end_is_another_one(store, provider, client, settings):
    settings.OIDC_ISSUER = provider.issuer + "/"
    assert_designed(client.get("/sign-in/company/"))
    provider.document_changes = {"issuer": settings.OIDC_ISSUER}
    console_side.forget()
    assert client.get("/sign-in/company/").status_code == 302


def test_failure_is_not_asked_for_again_at_once_and_not_remembered_for_long(store, provider, client, monkeypatch):
    provider.raw[DISCOVERY] = BROKEN["500"]
    for _ in range(5):
        assert_designed(client.get("/sign-in/company/"))
    assert provider.paths() == [DISCOVERY]
    del provider.raw[DISCOVERY]
    real = console_side.time.monotonic
    monkeypatch.setattr(console_side.time, "monotonic", lambda: real() + 4)
    assert client.get("/sign-in/company/").status_code == 302


def test_document_is_asked_for_again_after_some_minutes(store, provider, client, monkeypatch):
    begin(client)
    real = console_side.time.monotonic
    monkeypatch.setattr(console_side.time, "monotonic", lambda: real() + 601)
    begin(client)
    assert provider.paths() == [DISCOVERY, DISCOVERY]


def test_wrong_client_secret_is_a_failure_that_the_log_names(store, provider, client, settings, caplog):
    settings.OIDC_CLIENT_SECRET = "wrong and private"
    assert_designed(come(client))
    assert "invalid_client" in caplog.text
    assert "private" not in caplog.text


@pytest.mark.parametrize("error", ["Private words\nof: someone", {"x": 1}, 7, "x" * 500])
def test_error_code_of_junk_reaches_no_log(store, provider, client, caplog, error):
    provider.raw[TOKEN] = Raw(400, json.dumps({"error": error, "error_description": "private"}).encode())
    caplog.set_level(logging.DEBUG)
    assert_designed(come(client))
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("console")]
    assert any("no error code" in line for line in ours)
    assert "rivate" not in str(ours)


def test_no_answer_is_followed_elsewhere(store, provider, client):
    provider.raw[TOKEN] = Raw(307, b"{}", {"Location": f"{provider.issuer}/elsewhere"})
    assert_designed(come(client))
    provider.raw = {DISCOVERY: Raw(301, b"", {"Location": f"{provider.issuer}/elsewhere"})}
    console_side.forget()
    assert_designed(Client().get("/sign-in/company/"))
    assert "/elsewhere" not in provider.paths()


def test_no_proxy_and_no_password_file_stand_between_here_and_loopback(store, provider, client, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login private password private\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    path = agree_without_proxy(begin(client))
    assert client.get(path).status_code == 302


def agree_without_proxy(url: str) -> str:
    with requests.Session() as session:
        session.trust_env = False
        location = session.get(url, allow_redirects=False, timeout=5).headers["Location"]
    return location.removeprefix("http://testserver")


def test_trail_of_a_failure_holds_our_words_only(store, provider, client):
    provider.return_changes = {"error": "server_error", "error_description": "private words", "code": None}
    client.get(agree(begin(client)))
    [entry] = [item for item in store.all("AUDIT") if item["action_type"] == "staff.sign_in_failed"]
    assert entry["actor"] == "unknown"
    assert "private" not in str(entry)
