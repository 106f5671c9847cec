"""Signing out of the console, and on to the provider's own sign-out."""

from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from console import refs
from tests.store.console.staff.conftest import PASSWORD
from tests.store.console.staff.oidc.conftest import come


def going_on_to(page: str) -> str:
    """Where the page goes on to by itself; the link on it leads to the same place."""
    _, found, rest = page.partition('<meta http-equiv="refresh" content="0;url=')
    assert found
    url = unescape(rest.partition('"')[0])
    assert f'href="{rest.partition(chr(34))[0]}"' in page
    return url


def test_session_of_the_company_s_sign_in_ends_here_and_goes_on_to_the_provider(store, provider, client):
    come(client)
    answer = client.post("/sign-out/")
    assert (answer.status_code, answer["Location"]) == (302, "/sign-out/company/")
    assert store.all("STAFF_SESSIONS") == []
    page = client.get("/sign-out/company/")
    assert "You are signed out" in page.content.decode()
    url = going_on_to(page.content.decode())
    assert url.startswith(f"{provider.issuer}/end?")
    assert parse_qs(urlsplit(url).query) == {
        "client_id": ["console"],
        "post_logout_redirect_uri": ["http://testserver/sign-in/"],
    }
    assert "eyJhbGci" not in page.content.decode()
    assert "form-action 'self'" in page["Content-Security-Policy"]


def test_ending_this_session_among_one_s_own_signs_out_there_too(store, provider, client):
    come(client)
    [session] = store.all("STAFF_SESSIONS")
    reference = refs.seal("staff-session", session["username"], session["session_id"])
    answer = client.post("/account/sessions/end/", {"session": reference})
    assert (answer.status_code, answer["Location"]) == (302, "/sign-out/company/")
    assert store.all("STAFF_SESSIONS") == []


def test_session_of_a_password_ends_here_and_nowhere_else(store, provider, client, sign_in):
    sign_in(client, PASSWORD)
    assert client.post("/sign-out/")["Location"] == "/sign-in/"


def test_sign_out_without_a_session_goes_nowhere_else(store, provider, client):
    assert client.post("/sign-out/")["Location"] == "/sign-in/"


@pytest.mark.parametrize("how", ["none", "down"])
def test_without_a_page_of_the_provider_one_is_told_to_sign_out_there(store, provider, client, how, settings):
    if how == "none":
        provider.document_changes = {"end_session_endpoint": None}
    else:
        settings.OIDC_ISSUER = "http://127.0.0.1:9"
    answer = client.get("/sign-out/company/")
    assert answer.status_code == 200
    assert "You may still be signed in with Acme" in answer.content.decode()
    assert "http-equiv" not in answer.content.decode()


def test_page_does_not_say_signed_out_to_who_is_not(store, provider, client):
    come(client)
    answer = client.get("/sign-out/company/")
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/").status_code == 200


def test_query_of_the_provider_s_page_is_kept(store, provider, client):
    provider.document_changes = {"end_session_endpoint": f"{provider.issuer}/end?realm=a%26b"}
    url = going_on_to(client.get("/sign-out/company/").content.decode())
    assert parse_qs(urlsplit(url).query)["realm"] == ["a&b"]
