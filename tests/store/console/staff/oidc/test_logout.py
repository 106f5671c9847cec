"""Back-channel logout: the provider tells the console who has signed out there, and nobody else can."""

import pytest
from django.test import Client

from tests.store.console.staff.oidc.conftest import come

URL = "/sign-in/company/logout/"


def test_sign_out_at_the_provider_ends_every_session_of_that_person_alone(store, provider, client):
    second, other = Client(), Client()
    come(client), come(second)
    token = provider.logout_token()
    provider.person = {**provider.person, "sub": "another", "preferred_username": "grace.hopper"}
    come(other)
    # No cookie, and no CSRF token: the provider's server calls.
    answer = Client(enforce_csrf_checks=True).post(URL, {"logout_token": token})
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert [each.get("/queue/").status_code for each in (client, second, other)] == [302, 302, 200]
    [entry] = [each for each in store.all("AUDIT") if each["action_type"] == "staff.sessions_ended"]
    assert entry["actor"] == "company sign-in"
    assert "signed out at the provider" in entry["action_payload_redacted"]


def test_sign_out_of_a_person_who_is_not_known_here_succeeds(store, provider, client):
    assert client.post(URL, {"logout_token": provider.logout_token(sub="nobody")}).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://another.example"},
        {"aud": "another-client"},
        {"sub": None},
        {"sub": ""},
        {"sub": ["248289761001"]},
        {"iat": None},
        {"iat": 1},
        {"iat": 9_999_999_999},
        {"exp": 1},
        {"jti": None},
        {"events": None},
        {"events": "http://schemas.openid.net/event/backchannel-logout"},
        {"events": {"http://schemas.openid.net/event/something-else": {}}},
        {"events": {"http://schemas.openid.net/event/backchannel-logout": True}},
        {"nonce": "as-an-id-token-has"},
    ],
    ids=str,
)
def test_another_token_ends_nothing(store, provider, client, changes):
    come(client)
    answer = client.post(URL, {"logout_token": provider.logout_token(**changes)})
    assert (answer.status_code, answer.json()) == (400, {"error": "invalid_request"})
    assert client.get("/queue/").status_code == 200


@pytest.mark.parametrize(
    "sign", ["unsigned", "signed_with_client_secret", "signed_by_another", "signed_with_its_own_key"]
)
def test_a_token_that_the_provider_did_not_sign_ends_nothing(store, provider, client, sign):
    come(client)
    provider.sign = getattr(provider, sign)
    assert client.post(URL, {"logout_token": provider.logout_token()}).status_code == 400
    assert client.get("/queue/").status_code == 200


@pytest.mark.parametrize("sent", [{}, {"logout_token": ""}, {"logout_token": "a.b.c"}, {"logout_token": "🙂" * 5000}])
def test_junk_is_refused(store, provider, client, sent):
    assert client.post(URL, sent).status_code == 400


def test_only_refused_tokens_are_counted(store, provider, client, settings):
    settings.SIGN_IN_ATTEMPTS_PER_ADDRESS = 3
    for _ in range(5):
        assert client.post(URL, {"logout_token": provider.logout_token(sub="nobody")}).status_code == 200
    assert [client.post(URL).status_code for _ in range(4)] == [400, 400, 400, 429]


def test_session_of_the_company_s_sign_in_ends_when_a_second_factor_is_required_that_it_did_not_state(
    store, provider, settings
):
    settings.OIDC_SECOND_FACTOR_AMR = ["mfa"]
    without, stated = Client(), Client()
    come(without)
    provider.person = {**provider.person, "sub": "another", "preferred_username": "grace.hopper", "amr": ["mfa"]}
    come(stated)
    assert [each.get("/queue/").status_code for each in (without, stated)] == [200, 200]
    settings.REQUIRE_SECOND_FACTOR = ["agent"]
    assert [each.get("/queue/").status_code for each in (without, stated)] == [302, 200]
