"""The company's own sign-in from the button to the session, over the provider's real HTTP."""

import hashlib
import logging
import re
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from console.staff import sessions
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.oidc.conftest import agree, assert_nobody_signed_in, begin, come, failures

pytestmark = pytest.mark.pages

RETURN = "/sign-in/company/return/"


def entries(store, trail: str, action: str) -> list[dict]:
    return [item for item in store.all("AUDIT") if (item["conversation_id"], item["action_type"]) == (trail, action)]


def test_person_with_a_role_gets_an_account_and_a_session(store, provider, client):
    answer = come(client)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.get("/").content == b"home of ada.lovelace"
    account = store.get("STAFF", username="ada.lovelace")
    assert (account["role"], account["signs_in_with"]) == ("agent", "openid-connect")
    assert account["oidc_subject"] == hashlib.sha256(f"{provider.issuer}|248289761001".encode()).hexdigest()
    assert account["last_sign_in_at"]
    [session] = store.all("STAFF_SESSIONS")
    assert (session["username"], session["method"]) == ("ada.lovelace", "company sign-in")
    [entry] = entries(store, staff_trail("ada.lovelace"), "staff.sign_in")
    assert (entry["actor"], entry["result"]) == ("ada.lovelace", "success")
    assert '"with": "company sign-in"' in entry["action_payload_redacted"]


def test_provider_is_asked_with_pkce_and_nothing_secret(store, provider, client):
    query = parse_qs(urlsplit(begin(client)).query)
    assert query["redirect_uri"] == ["http://testserver" + RETURN]
    assert query["scope"] == ["openid profile email"]
    assert query["code_challenge_method"] == ["S256"]
    assert len(query["code_challenge"][0]) == 43
    assert len(query["state"][0]) >= 43
    assert query["state"] != query["nonce"]
    assert provider.client_secret not in str(query)
    assert parse_qs(urlsplit(begin(client)).query)["state"] != query["state"]


@pytest.mark.parametrize(
    ("methods", "with_header"),
    [(["client_secret_basic"], True), (["client_secret_basic", "client_secret_post"], False), (None, True)],
)
def test_client_secret_goes_as_the_provider_wants_it(store, provider, client, methods, with_header):
    provider.document_changes = {"token_endpoint_auth_methods_supported": methods}
    come(client)
    assert client.get("/").status_code == 200
    assert provider.authorizations[0].startswith("Basic ") == with_header


def test_public_client_needs_no_secret(store, provider, client, settings):
    provider.client_secret = settings.OIDC_CLIENT_SECRET = ""
    come(client)
    assert client.get("/").status_code == 200


def test_every_signature_that_only_the_provider_can_make_will_do(store, provider, client):
    provider.sign = provider.signed_on_a_curve
    come(client)
    assert client.get("/").status_code == 200


def test_destination_survives_the_way_there_and_back(store, provider, client):
    assert come(client, "/sign-in/company/?next=/queue/%3Fcompany=ci-1%26a=2")["Location"] == "/queue/?company=ci-1&a=2"


@pytest.mark.parametrize("wanted", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:x"])
def test_destination_is_never_another_site(store, provider, client, wanted):
    assert come(client, f"/sign-in/company/?next={wanted}")["Location"] == "/"


def test_destination_too_long_for_a_cookie_is_forgone(store, provider, client):
    path = "/" + "a" * 1_990
    begin(client, f"/sign-in/company/?next={path}")
    assert len("company-sign-in=" + client.cookies["company-sign-in"].value) < 4_096
    assert come(client, f"/sign-in/company/?next={path}")["Location"] == path
    assert come(client, "/sign-in/company/?next=/" + "\u20ac" * 700)["Location"] == "/"


def test_cookie_of_the_attempt_is_short_lived_sealed_and_gone_after(store, provider, client, settings):
    settings.SESSION_COOKIE_SECURE, settings.SESSION_COOKIE_NAME = True, "__Host-session"
    settings.COMPANY_SIGN_IN_COOKIE_NAME = "__Host-company-sign-in"
    provider.redirect_uris.add("https://testserver" + RETURN)
    url = client.get("/sign-in/company/", secure=True)["Location"]
    cookie = client.cookies["__Host-company-sign-in"]
    assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax")
    assert (cookie["path"], cookie["domain"], cookie["max-age"]) == ("/", "", 600)
    assert len(cookie.value) < 3_900
    query = parse_qs(urlsplit(url).query)
    assert query["state"][0] not in cookie.value
    code = provider.authorize({name: values[0] for name, values in query.items()})
    answer = client.get(code.removeprefix("https://testserver"), secure=True)
    assert answer.status_code == 302
    cookie = client.cookies["__Host-company-sign-in"]
    assert (cookie.value, cookie["max-age"], cookie["secure"], cookie["path"]) == ("", 0, True, "/")
    assert client.cookies["__Host-session"]["httponly"]


def test_second_sign_in_finds_the_same_account(store, provider, client):
    come(client)
    come(Client())
    assert len(store.all("STAFF")) == 1
    assert len(entries(store, staff_trail("ada.lovelace"), "staff.created")) == 1
    assert len(store.all("STAFF_SESSIONS")) == 2


def test_sign_in_makes_a_new_session_ends_the_old_one_and_rotates_the_token_of_forms(store, provider, client):
    client.get("/sign-in/")
    csrf = client.cookies["csrf"].value
    come(client)
    first = client.cookies["session"].value
    assert client.cookies["csrf"].value != csrf
    come(client)
    assert client.cookies["session"].value != first
    assert sessions.authenticate_request(first) is None
    assert len(store.all("STAFF_SESSIONS")) == 1


def test_session_planted_before_is_worth_nothing_after(store, provider, client):
    client.cookies["session"] = "planted"
    come(client)
    assert client.cookies["session"].value != "planted"


def test_document_and_keys_are_asked_for_once(store, provider, client):
    for _ in range(3):
        come(Client())
    paths = provider.paths()
    assert paths.count("/.well-known/openid-configuration") == 1
    assert paths.count("/keys") == 1
    assert paths.count("/token") == 3


def test_new_keys_are_fetched_when_the_provider_changed_them(store, provider, client):
    from tests.support.console.staff.oidc.identity_provider import rsa_key

    come(client)
    provider.key = rsa_key("second")
    come(Client())
    assert provider.paths().count("/keys") == 2
    assert len(store.all("STAFF_SESSIONS")) == 2


def test_new_key_under_the_old_name_is_fetched_too(store, provider, client):
    come(client)
    provider.published = [{**provider_key("another"), "kid": "first"}]
    provider.sign = provider.signed_by_another
    come(Client())
    assert len(store.all("STAFF_SESSIONS")) == 2


def provider_key(kid: str) -> dict:
    from tests.support.console.staff.oidc.identity_provider import rsa_key

    return rsa_key(kid).as_dict(private=False)


def test_key_that_cannot_be_read_does_not_spoil_the_others(store, provider, client):
    junk = [{"kty": "RSA", "kid": "x", "n": "!", "e": "AQAB"}, {"kty": "oct", "k": "AAAA"}, {"kty": "ML"}, {}, 7, None]
    provider.published = [*junk, provider_key("first")]
    come(client)
    assert client.get("/").status_code == 200


def test_nothing_of_the_provider_is_stored_or_logged_but_the_subject_s_digest(store, provider, client, caplog):
    caplog.set_level(logging.DEBUG)
    provider.person |= {"email": "ada@private.example", "email_verified": True, "name": "Ada Lovelace"}
    provider.token_changes = {"refresh_token": "refresh-me"}
    path = agree(begin(client))
    code = parse_qs(urlsplit(path).query)["code"][0]
    client.get(path)
    everything = str([store.all(key) for key in ("STAFF", "STAFF_SESSIONS", "AUDIT", "CONSOLE")])
    assert "Ada Lovelace" in everything
    for secret in ("private.example", "248289761001", code, "refresh-me", provider.client_secret, "eyJ"):
        assert secret not in everything
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("urllib3"))
    for secret in ("private.example", "248289761001", code, "refresh-me", provider.client_secret, "eyJ"):
        assert secret not in ours


def test_sign_in_while_the_store_fails_is_503_and_no_session(store, provider, client):
    come(Client())
    before = len(store.all("STAFF_SESSIONS"))
    path = agree(begin(client))
    with faults.fail_before("TransactWriteItems"):
        answer = client.get(path)
    assert answer.status_code == 503
    assert "The database did not answer. You were not signed in. Start again" in answer.content.decode()
    assert client.cookies["company-sign-in"].value == ""
    assert "session" not in client.cookies
    assert len(store.all("STAFF_SESSIONS")) == before


def test_failure_that_cannot_be_recorded_is_503_too(store, provider, client):
    with faults.fail_before("PutItem", table_key="AUDIT"):
        answer = client.get(RETURN)
    assert answer.status_code == 503
    assert client.cookies["company-sign-in"].value == ""


def test_account_that_keeps_changing_is_told_after_some_rounds(store, provider, client):
    come(Client())
    provider.person["groups"] = ["console-auditors"]

    def change() -> None:
        store.update("STAFF", {"username": "ada.lovelace"}, updated_at=str(uuid.uuid4()))

    path = agree(begin(client))
    with faults.before("TransactWriteItems", change, table_key="STAFF", times=9) as fault:
        answer = client.get(path)
    assert answer.status_code == 409
    assert "Start again" in answer.content.decode()
    assert len(fault.struck) == 3
    assert "session" not in client.cookies


def test_account_that_could_not_be_written_whole_is_not_there_at_all(store, provider, client):
    path = agree(begin(client))
    with faults.fail_before("TransactWriteItems", table_key="STAFF"):
        assert client.get(path).status_code == 503
    assert (store.all("STAFF"), [item for item in store.all("CONSOLE") if "OIDC" in item["pk"]]) == ([], [])
    assert come(client).status_code == 302


def test_account_whose_making_was_carried_out_but_not_answered_is_found_again(store, provider, client):
    path = agree(begin(client))
    with faults.fail_after("TransactWriteItems", retried=True, table_key="STAFF"):
        answer = client.get(path)
    assert answer.status_code == 302
    assert client.get("/").content == b"home of ada.lovelace"


def test_two_windows_at_once_make_one_account(store, provider, client):
    other = Client()
    path = agree(begin(client))
    with faults.before("TransactWriteItems", lambda: come(other), table_key="STAFF"):
        answer = client.get(path)
    assert answer.status_code == 302
    assert len(store.all("STAFF")) == 1
    assert len(store.all("STAFF_SESSIONS")) == 2


def test_attempts_are_counted_by_address(store, provider, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 3
    for _ in range(3):
        assert Client().get(RETURN).status_code == 400
    path = agree(begin(client))
    answer = client.get(path)
    assert answer.status_code == 429
    assert "Try again in" in answer.content.decode()
    assert int(answer["Retry-After"]) > 0
    assert_nobody_signed_in(store, client)
    assert "/token" not in provider.paths()
    assert client.get(path, REMOTE_ADDR="192.0.2.7").status_code == 400


def test_success_uses_up_nothing_of_the_address(store, provider, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 2
    for _ in range(5):
        assert come(Client()).status_code == 302


def test_flood_of_returns_does_not_flood_the_trail(store, provider):
    for _ in range(10):
        Client().get(RETURN)
    assert failures(store) == ["failed: no sign-in under way in this browser"]


def test_without_a_provider_there_is_no_company_sign_in(store, client, settings):
    settings.OIDC_ISSUER = ""
    for path in ("/sign-in/company/", RETURN, "/sign-out/company/"):
        assert client.get(path).status_code == 404


@pytest.mark.parametrize("path", ["/sign-in/company/", RETURN, "/sign-out/company/"])
def test_company_sign_in_only_answers_gets(store, provider, client, path):
    assert client.post(path).status_code == 405


def test_sign_in_page_offers_it_where_it_is_set_up(store, provider, client, settings):
    page = client.get("/sign-in/?next=/queue/").content.decode()
    link = re.search(r'href="(/sign-in/company/[^"]*)"[^>]*>([^<]*)', page)
    assert link is not None
    assert link.group(1) == "/sign-in/company/?next=%2Fqueue%2F"
    assert "Acme" in link.group(2)
    settings.OIDC_ISSUER = ""
    assert "/sign-in/company/" not in client.get("/sign-in/").content.decode()


def test_account_of_the_company_has_no_password_that_opens_it(store, provider, client):
    come(client)
    other = Client()
    for password in ("", "!", store.get("STAFF", username="ada.lovelace")["password_hash"]):
        other.post("/sign-in/", {"username": "ada.lovelace", "password": password})
    assert "session" not in other.cookies
