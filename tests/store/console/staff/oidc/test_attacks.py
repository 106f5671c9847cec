"""What an attacker, or a provider that is not itself, can try: each ends in words, with nobody signed in."""

import json
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from joserfc import jwt
from joserfc.jwk import OctKey

from console import refs
from tests.store.console.staff.oidc.conftest import agree, assert_nobody_signed_in, begin, come, failures
from tests.support.console.staff.oidc.identity_provider import rsa_key

# What the provider says is the matter here; what the store makes of those who get in is elsewhere.
pytestmark = pytest.mark.pages

RETURN = "/sign-in/company/return/"
UNUSABLE = "The console got no usable answer"
UNFINISHED = "This sign-in cannot be finished"


def far(seconds: int) -> float:
    return time.time() + seconds


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"nonce": "of another attempt"}, "claim nonce"),
        ({"nonce": None}, "claim nonce"),
        ({"nonce": ["several"]}, "claim nonce"),
        ({"aud": "another-client"}, "claim aud"),
        ({"aud": ["another-client", "third"]}, "claim aud"),
        ({"aud": None}, "claim aud"),
        ({"aud": ["console", "another-client"]}, "claim azp"),
        ({"azp": "another-client"}, "claim azp"),
        ({"iss": "http://evil.example"}, "claim iss"),
        ({"iss": None}, "claim iss"),
        ({"exp": 1_000_000_000}, "claim exp"),
        ({"exp": None}, "claim exp"),
        ({"exp": "tomorrow"}, "claim exp"),
        ({"iat": None}, "claim iat"),
        ({"iat": 99_999_999_999}, "claim iat"),
        ({"nbf": 99_999_999_999}, "claim nbf"),
        ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "claim at_hash"),
        ({"at_hash": 7}, "claim at_hash"),
        ({"at_hash": ""}, "claim at_hash"),
        ({"azp": ""}, "claim azp"),
        ({"sub": None}, "claim sub"),
        ({"sub": ""}, "ValueError"),
        ({"sub": 7}, "claim sub"),
        ({"sub": "x" * 256}, "ValueError"),
    ],
)
def test_id_token_that_is_not_for_this_attempt_opens_nothing(store, provider, client, changes, told):
    provider.claim_changes = changes
    answer = come(client)
    assert answer.status_code == 503
    assert UNUSABLE in answer.content.decode()
    assert_nobody_signed_in(store, client)
    assert store.all("STAFF") == []
    assert failures(store) == [f"failed: ID token refused: {told}"]


@pytest.mark.parametrize(
    "signing",
    [
        "unsigned",
        "signed_with_public_key",
        "signed_with_client_secret",
        "signed_by_another",
        "signed_with_its_own_key",
    ],
)
def test_id_token_that_the_provider_did_not_sign_opens_nothing(store, provider, client, signing):
    provider.document_changes = {"id_token_signing_alg_values_supported": ["none", "HS256", "RS256"]}
    provider.sign = getattr(provider, signing)
    assert come(client).status_code == 503
    assert_nobody_signed_in(store, client)
    assert store.all("STAFF") == []


def test_provider_that_signs_only_with_shared_secrets_is_of_no_use(store, provider, client):
    provider.document_changes = {"id_token_signing_alg_values_supported": ["HS256"]}
    provider.sign = provider.signed_with_client_secret
    assert come(client).status_code == 503
    assert_nobody_signed_in(store, client)


def test_key_for_encryption_signs_nothing(store, provider, client):
    provider.published = [{**rsa_key("first").as_dict(private=False), "use": "enc"}]
    assert come(client).status_code == 503
    assert_nobody_signed_in(store, client)


def test_shared_key_signs_nothing_even_where_the_provider_publishes_it(store, provider, client):
    provider.document_changes = {"id_token_signing_alg_values_supported": ["HS256", "RS256"]}
    key = OctKey.import_key("known to everybody who can read", {"kid": "shared"})
    provider.published = [key.as_dict(private=True), rsa_key("first").as_dict(private=False)]
    provider.sign = lambda claims: jwt.encode({"alg": "HS256", "kid": "shared"}, claims, key, algorithms=["HS256"])
    assert come(client).status_code == 503
    assert_nobody_signed_in(store, client)


def test_unknown_key_is_looked_for_once_more_and_no_more(store, provider, client):
    provider.published = [rsa_key("another").as_dict(private=False)]
    assert come(client).status_code == 503
    assert provider.paths().count("/keys") == 2
    assert_nobody_signed_in(store, client)


@pytest.mark.parametrize("token", ["", "a.b.c", "a.b.c.d.e", "eyJ9.e30.", "\u20ac", 7, None, ["x"]])
def test_id_token_of_junk_opens_nothing(store, provider, client, token):
    provider.token_changes = {"id_token": token}
    assert come(client).status_code == 503
    assert_nobody_signed_in(store, client)


def test_payload_nested_beyond_reading_opens_nothing(store, provider, client):
    from joserfc import jws

    deep = b"[" * 100_000
    provider.sign = lambda claims: jws.serialize_compact({"alg": "RS256", "kid": "first"}, deep, provider.key)
    assert come(client).status_code == 503
    assert_nobody_signed_in(store, client)


# --- The return ------------------------------------------------------------------------------------------------------


def assert_unfinished(store, client, answer) -> None:
    page = answer.content.decode()
    assert answer.status_code == 400
    assert UNFINISHED in page
    assert 'href="/sign-in/company/' in page
    assert_nobody_signed_in(store, client)


def test_victim_sent_to_the_return_of_an_attacker_s_sign_in_is_not_signed_in(store, provider, client):
    attacker = Client()
    link = agree(begin(attacker))
    assert_unfinished(store, client, client.get(link))
    begin(client)
    assert_unfinished(store, client, client.get(link))
    assert "/token" not in provider.paths()


@pytest.mark.parametrize("state", ["", "guessed", None, "\u20ac"])
def test_answer_with_another_state_is_not_taken(store, provider, client, state):
    provider.return_changes = {"state": state}
    assert_unfinished(store, client, come(client))
    assert "/token" not in provider.paths()


def test_return_works_once(store, provider, client):
    path = agree(begin(client))
    assert client.get(path).status_code == 302
    again = client.get(path)
    assert again.status_code == 400
    assert len(store.all("STAFF_SESSIONS")) == 1


def test_code_is_good_for_one_session_even_with_a_kept_cookie(store, provider, client):
    path = agree(begin(client))
    thief = Client()
    thief.cookies["company-sign-in"] = client.cookies["company-sign-in"].value
    assert client.get(path).status_code == 302
    answer = thief.get(path)
    assert answer.status_code == 400
    assert "session" not in thief.cookies
    assert len(store.all("STAFF_SESSIONS")) == 1
    assert failures(store) == ["failed: the provider refused the code"]


def test_code_of_another_attempt_is_refused_for_its_verifier(store, provider, client):
    stolen = parse_qs(urlsplit(agree(begin(Client()))).query)["code"][0]
    provider.return_changes = {"code": stolen}
    assert_unfinished(store, client, come(client))


def test_return_after_ten_minutes_is_too_late(store, provider, client, later):
    path = agree(begin(client))
    later(minutes=10)
    assert_unfinished(store, client, client.get(path))
    assert failures(store) == ["failed: took too long"]


@pytest.mark.parametrize("kind", ["session", "password-link", "company-sign-in"])
def test_cookie_that_the_console_did_not_make_for_this_is_nothing(store, provider, client, kind):
    path = agree(begin(client))
    client.cookies["company-sign-in"] = refs.seal(kind, "ada.lovelace", "x")
    assert_unfinished(store, client, client.get(path))


def test_attempt_with_one_provider_does_not_end_with_another(store, provider, client, settings):
    path = agree(begin(client))
    settings.OIDC_ISSUER = "http://127.0.0.1:9"
    assert_unfinished(store, client, client.get(path))


def test_answer_that_names_another_provider_is_not_taken(store, provider, client):
    provider.return_changes = {"iss": "https://evil.example"}
    assert_unfinished(store, client, come(client))
    assert "/token" not in provider.paths()


def test_provider_that_promises_to_name_itself_must(store, provider, client):
    provider.document_changes = {"authorization_response_iss_parameter_supported": True}
    assert_unfinished(store, client, come(client))
    provider.return_changes = {"iss": provider.issuer}
    assert come(client).status_code == 302


@pytest.mark.parametrize("code", [None, "", "x" * 5_000])
def test_answer_without_a_code_is_not_taken(store, provider, client, code):
    provider.return_changes = {"code": code}
    assert_unfinished(store, client, come(client))
    assert "/token" not in provider.paths()


def test_person_who_says_no_at_the_provider_is_told_so(store, provider, client):
    provider.return_changes = {"code": None, "error": "access_denied", "error_description": "<b>private</b>"}
    answer = come(client, "/sign-in/company/?next=/queue/")
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "Your company did not let you sign in" in page
    assert "private" not in page
    assert 'href="/sign-in/company/?next=%2Fqueue%2F"' in page
    assert_nobody_signed_in(store, client)


@pytest.mark.parametrize("error", ["server_error", "<script>", "\u20ac" * 50])
def test_other_errors_of_the_provider_are_its_failure(store, provider, client, error):
    provider.return_changes = {"code": None, "error": error}
    answer = come(client)
    assert answer.status_code == 503
    assert "<script>alert" not in answer.content.decode()
    assert failures(store) == ["failed: error of the provider"]


def test_error_without_the_attempt_s_state_says_nothing_of_the_provider(store, provider, client):
    assert_unfinished(store, client, client.get(RETURN + "?error=access_denied&state=x"))


@pytest.mark.parametrize(
    "query",
    [
        "state=%00&code=%00",
        "state[]=1&code[]=2",
        "state=%ff%fe&code=%ff",
        "state=a&state=b&code=c&code=d",
        "code=" + "%F0%9F%98%80" * 300,
        "%",
    ],
)
def test_return_of_junk_is_answered_in_words(store, provider, client, query):
    assert_unfinished(store, client, client.get(f"{RETURN}?{query}"))
    begin(client)
    assert_unfinished(store, client, client.get(f"{RETURN}?{query}"))


def test_refusals_show_nothing_that_was_sent(store, provider, client):
    provider.person |= {"email": "ada@private.example", "groups": ["secret-group"]}
    page = come(client).content.decode()
    assert "private.example" not in page
    assert "secret-group" not in page
    assert "secret-group" not in json.dumps(store.all("AUDIT"))
