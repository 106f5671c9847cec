"""Which account somebody of the provider gets, and what their claims make of it."""

import json
from typing import Any

import pytest
from django.test import Client

from console.checks import check_second_factor_at_provider
from console.permissions import Role
from console.staff import services
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD
from tests.store.console.staff.oidc.conftest import agree, assert_nobody_signed_in, begin, come, failures

pytestmark = pytest.mark.pages

NO_ACCESS = "No access to this console"


def prepared(username: str = "ada.lovelace", **changes):
    """An account that an administrator made for the company's sign-in."""
    given: dict[str, Any] = {"role": Role.AUDITOR, "scope": ["company:ci-1"], "actor": ADMIN} | changes
    return services.create_for_company_sign_in(username, **given)


def account(store, username: str = "ada.lovelace") -> dict:
    return store.get("STAFF", username=username)


def changes(store, username: str = "ada.lovelace") -> list[dict]:
    trail = staff_trail(username)
    found = [
        item
        for item in store.all("AUDIT")
        if (item["conversation_id"], item["action_type"]) == (trail, "staff.changed")
    ]
    assert {item["actor"] for item in found} <= {"company sign-in"}
    return [json.loads(item["action_payload_redacted"]) for item in found]


def assert_refused(store, answer, *words: str) -> None:
    page = answer.content.decode()
    assert answer.status_code == 403
    for each in (NO_ACCESS, *words):
        assert each.replace("'", "&#x27;") in page
    assert "Location" not in answer.headers


# --- Accounts that administrators prepare -----------------------------------------------------------------------------


def test_prepared_account_is_tied_to_the_first_who_comes_under_its_name(store, provider, no_roles, client):
    prepared()
    assert come(client).status_code == 302
    found = account(store)
    assert (found["role"], found["scope"]) == ("auditor", ["company:ci-1"])
    assert found["oidc_subject"]
    assert changes(store) == [{"changed": "company sign-in", "to": "tied to one person"}]
    [link] = [item for item in store.all("CONSOLE") if item["pk"].startswith("OIDC#")]
    assert (link["pk"], link["sk"], link["username"]) == (f"OIDC#{found['oidc_subject']}", "ACCOUNT", "ada.lovelace")


def test_tied_account_is_found_under_another_name(store, provider, no_roles, client):
    prepared()
    come(Client())
    provider.person["preferred_username"] = "ada.king"
    assert come(client).status_code == 302
    assert client.get("/").content == b"home of ada.lovelace"
    assert [item["username"] for item in store.all("STAFF")] == ["ada.lovelace"]


def test_tied_account_opens_to_nobody_else_of_its_name(store, provider, no_roles, client):
    prepared()
    come(Client())
    sessions = store.all("STAFF_SESSIONS")
    provider.person["sub"] = "somebody else"
    assert_refused(store, come(client), "already exists here")
    assert store.all("STAFF_SESSIONS") == sessions
    assert failures(store) == ["failed: username of another account"]


def test_of_two_people_with_one_name_who_come_at_once_one_gets_the_account(store, provider, no_roles, client):
    prepared()
    first, other = agree(begin(client)), Client()

    def somebody_else() -> None:
        provider.person["sub"] = "somebody else"
        assert come(other).status_code == 302

    with faults.before("TransactWriteItems", somebody_else, table_key="STAFF"):
        answer = client.get(first)
    assert_refused(store, answer, "already exists here")
    assert len(store.all("STAFF_SESSIONS")) == 1
    assert len([item for item in store.all("CONSOLE") if item["pk"].startswith("OIDC#")]) == 1


def test_account_with_a_password_is_never_taken_over(store, provider, client):
    services.create("ada.lovelace", PASSWORD, role=Role.ADMIN, scope=["*"], actor=ADMIN)
    before = account(store)
    assert_refused(store, come(client), "already exists here")
    assert account(store) == before
    assert_nobody_signed_in(store, client)


def test_account_invited_to_set_a_password_is_never_taken_over(store, provider, no_roles, client):
    services.invite("ada.lovelace", role=Role.AGENT, scope=["company:ci-1"], actor=ADMIN)
    assert_refused(store, come(client), "already exists here")
    assert_nobody_signed_in(store, client)


def test_who_has_no_account_and_no_role_is_sent_to_an_administrator(store, provider, no_roles, client):
    assert_refused(store, come(client), "Ask an administrator", "Use another account")
    assert_nobody_signed_in(store, client)
    assert store.all("STAFF") == []
    assert failures(store) == ["failed: no account"]


def test_repeated_refusals_of_one_person_can_be_told_without_saying_who_it_is(store, provider, no_roles):
    for subject in ("one", "one", "other"):
        provider.person["sub"] = subject
        come(Client())
    payloads = [item["action_payload_redacted"] for item in store.all("AUDIT") if item["conversation_id"] == "SYSTEM"]
    assert len(payloads) == 3
    assert len(set(payloads)) == 2


def test_link_to_an_account_that_is_another_s_by_now_opens_nothing(store, provider, client):
    come(Client())
    store.update("STAFF", {"username": "ada.lovelace"}, signs_in_with="password")
    assert_refused(store, come(client))
    store.update("STAFF", {"username": "ada.lovelace"}, signs_in_with="openid-connect", oidc_subject="of somebody else")
    assert_refused(store, come(client))
    store.delete("STAFF", username="ada.lovelace")
    assert_refused(store, come(client))
    services.create("ada.lovelace", PASSWORD, role=Role.ADMIN, scope=["*"], actor=ADMIN)
    assert_refused(store, come(client))
    assert "session" not in client.cookies


# --- Disabled accounts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tied", [True, False])
def test_disabled_account_opens_to_nobody(store, provider, no_roles, client, tied):
    prepared()
    if tied:
        come(Client())
    services.disable("ada.lovelace", actor=ADMIN)
    before = account(store)
    assert_refused(store, come(client), "you have no account here that you can use")
    assert account(store) == before
    assert "session" not in client.cookies
    assert failures(store) == ["failed: disabled account"]


def test_account_disabled_at_the_last_moment_stays_out(store, provider, client):
    come(Client())
    path = agree(begin(client))
    with faults.before("TransactWriteItems", lambda: services.disable("ada.lovelace", actor=ADMIN)):
        client.get(path)
    assert client.get("/").status_code == 302


# --- Usernames --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "value", "username"),
    [
        ("preferred_username", "Ada.Lovelace", "ada.lovelace"),
        ("preferred_username", "ada@corp.example", "ada"),
        ("upn", "ada_l@corp.example", "ada_l"),
        ("ext.login", "ada-l", "ada-l"),
    ],
)
def test_username_comes_from_the_claim_that_the_settings_name(
    store, provider, client, settings, claim, value, username
):
    settings.OIDC_USERNAME_CLAIM = claim
    settings.OIDC_ALLOWED_DOMAINS = ["corp.example"]
    provider.person |= {"email": "somebody@corp.example", "email_verified": True}
    provider.person |= {"ext": {"login": value}} if "." in claim else {claim: value}
    come(client)
    assert [item["username"] for item in store.all("STAFF")] == [username]
    assert "corp.example" not in str(store.all("STAFF"))


def test_address_is_no_username_where_no_domains_are_named(store, provider, no_roles, client, settings):
    settings.OIDC_ALLOWED_DOMAINS = []
    prepared("boss")
    provider.person["preferred_username"] = "boss@evil.example"
    assert_refused(store, come(client))
    assert "oidc_subject" not in account(store, "boss")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "@",
        "@corp.example",
        "ada@x@corp.example",
        "ada lovelace",
        "a" * 65,
        "ada+x@corp.example",
        "new",
        "\u212aate",
        "ädа",
        7,
        None,
        ["a"],
    ],
)
def test_name_that_cannot_be_a_username_makes_no_account(store, provider, client, value):
    provider.person["preferred_username"] = value
    assert_refused(store, come(client), "cannot be a username")
    assert store.all("STAFF") == []


def test_letter_that_only_looks_like_another_in_small_is_not_that_person(store, provider, no_roles, client):
    prepared("kate")
    provider.person["preferred_username"] = "\u212aate"
    assert_refused(store, come(client))
    assert "oidc_subject" not in account(store, "kate")


def test_email_makes_a_username_only_where_the_provider_confirmed_it(store, provider, client, settings):
    settings.OIDC_USERNAME_CLAIM = "email"
    settings.OIDC_ALLOWED_DOMAINS = ["corp.example"]
    provider.person["email"] = "ada@corp.example"
    assert_refused(store, come(client))
    provider.person["email_verified"] = True
    come(client)
    assert client.get("/").content == b"home of ada"


def test_display_name_and_time_zone_come_along_at_first(store, provider, client):
    provider.person |= {"name": "Ada  King", "zoneinfo": "Europe/London"}
    come(client)
    assert (account(store)["display_name"], account(store)["time_zone"]) == ("Ada King", "Europe/London")


@pytest.mark.parametrize("name", ["ada@private.example", "x" * 81, "a\u202eb", 7, ["Ada"]])
def test_name_that_cannot_be_shown_is_left_out(store, provider, client, name):
    provider.person |= {"name": name, "zoneinfo": "Nowhere/At_all"}
    come(client)
    assert (account(store)["display_name"], account(store)["time_zone"]) == ("ada.lovelace", "UTC")


# --- Domains ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["ada@corp.example", "ada@CORP.Example", "ada@sub.other.example"])
def test_verified_address_of_an_allowed_domain_gets_in(store, provider, client, settings, address):
    settings.OIDC_ALLOWED_DOMAINS = ["Corp.example", "sub.other.example"]
    provider.person |= {"email": address, "email_verified": True}
    assert come(client).status_code == 302


@pytest.mark.parametrize(
    ("address", "verified"),
    [
        ("ada@corp.example", False),
        ("ada@corp.example", None),
        ("ada@corp.example", "true"),
        ("ada@corp.example", 1),
        ("ada@other.example", True),
        ("ada@corp.example.evil.example", True),
        ("ada@evilcorp.example", True),
        ("ada@sub.corp.example", True),
        ("ada@evil.example@corp.example", True),
        ("ada@corp.example@evil.example", True),
        ("@corp.example", True),
        ("ada@corp.example ", True),
        ("ada@corp.example\n", True),
        ("ada@\u212aorp.example", True),
        ("corp.example", True),
        (None, True),
        (["ada@corp.example"], True),
    ],
)
def test_address_that_is_not_certainly_of_an_allowed_domain_stays_out(
    store, provider, client, settings, address, verified
):
    settings.OIDC_ALLOWED_DOMAINS = ["corp.example", "korp.example"]
    provider.claim_changes = {"email": address, "email_verified": verified}
    assert_refused(store, come(client), "confirmed email address")
    assert_nobody_signed_in(store, client)
    assert store.all("STAFF") == []


def test_name_of_another_domain_is_not_borne_under_an_allowed_address(store, provider, no_roles, client, settings):
    settings.OIDC_ALLOWED_DOMAINS = ["corp.example"]
    prepared("ada")
    provider.person |= {
        "email": "eve@corp.example",
        "email_verified": True,
        "preferred_username": "ada@evil.example",
    }
    assert_refused(store, come(client))
    provider.person["preferred_username"] = "ada@corp.example"
    assert come(client).status_code == 302


# --- Roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["console-agents"], "agent"),
        ("console-agents", "agent"),
        (["console-agents", "console-auditors"], "agent"),
        (["console-auditors", "console-agents", "console-admins"], "admin"),
        (["x", 7, None, {"console-admins": 1}, ["console-admins"], "console-agents"], "agent"),
    ],
)
def test_first_group_of_the_settings_that_a_person_has_gives_the_role(store, provider, client, groups, role):
    provider.person["groups"] = groups
    come(client)
    assert account(store)["role"] == role


def test_role_claim_may_lie_within_others_or_have_dots_in_its_name(store, provider, client, settings):
    settings.OIDC_ROLE_CLAIM = "realm_access.roles"
    provider.person["realm_access"] = {"roles": ["console-agents"]}
    come(Client())
    assert account(store)["role"] == "agent"
    settings.OIDC_ROLE_CLAIM = "https://corp.example/roles"
    provider.person["https://corp.example/roles"] = ["console-auditors"]
    come(client)
    assert account(store)["role"] == "auditor"


@pytest.mark.parametrize(
    "groups", [None, [], "", ["everyone"], ["CONSOLE-AGENTS"], "xconsole-agents", {"console-agents": 1}, 7, True]
)
def test_without_a_group_of_the_settings_nobody_gets_in(store, provider, client, groups):
    provider.claim_changes["groups"] = groups
    assert_refused(store, come(client))
    assert store.all("STAFF") == []
    assert failures(store) == ["failed: no role of this console"]


def test_prepared_account_needs_a_role_too_where_claims_give_it(store, provider, client):
    prepared()
    provider.person["groups"] = ["everyone"]
    assert_refused(store, come(client))
    assert "oidc_subject" not in account(store)


def test_changed_role_is_applied_ends_other_sessions_and_is_in_the_trail(store, provider, client):
    other = Client()
    come(other)
    provider.person["groups"] = ["console-auditors"]
    assert come(client).status_code == 302
    assert account(store)["role"] == "auditor"
    assert client.get("/").status_code == 200
    assert other.get("/").status_code == 302
    [change] = changes(store)
    assert (change["from"], change["to"]) == ({"role": "agent"}, {"role": "auditor"})


def test_role_that_stays_ends_no_session_and_makes_no_entry(store, provider, client):
    other = Client()
    come(other)
    come(client)
    assert other.get("/").status_code == 200
    assert changes(store) == []


def test_who_lost_every_role_is_refused_and_signed_out_everywhere(store, provider, client):
    other = Client()
    come(other)
    provider.person["groups"] = ["everyone"]
    assert_refused(store, come(client))
    assert other.get("/").status_code == 302
    trail = [item for item in store.all("AUDIT") if item["conversation_id"] == staff_trail("ada.lovelace")]
    assert "staff.sessions_ended" in [item["action_type"] for item in trail]
    assert failures(store) == ["failed: no role of this console"]
    provider.person["groups"] = ["console-agents"]
    assert come(client).status_code == 302


def test_last_administrator_is_not_made_anything_less(store, provider, client, settings):
    settings.OIDC_SCOPE_CLAIM = "scope_ids"
    provider.person |= {"groups": ["console-admins"], "scope_ids": "*"}
    come(Client())
    provider.person["groups"] = ["console-agents"]
    assert_refused(store, come(client), "you are the last one")
    assert account(store)["role"] == "admin"
    services.create("grace.hopper", PASSWORD, role=Role.ADMIN, scope=["*"], actor=ADMIN)
    assert come(client).status_code == 302
    assert account(store)["role"] == "agent"


def test_administrators_give_the_role_where_no_claim_does(store, provider, no_roles, client):
    prepared()
    come(Client())
    services.change("ada.lovelace", role=Role.ONBOARDING, actor=ADMIN)
    provider.person["groups"] = ["console-admins"]
    come(client)
    assert account(store)["role"] == "onboarding"


# --- Scope ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "scope"),
    [
        (["tenant:t-2", "company:ci-1", "company:ci-1"], ["company:ci-1", "tenant:t-2"]),
        ("tenant:t-2, company:ci-1", ["company:ci-1", "tenant:t-2"]),
        ("tenant:t-2 company:ci-1", ["company:ci-1", "tenant:t-2"]),
        ("*", ["*"]),
        ([], []),
        ("", []),
        (None, []),
    ],
)
def test_scope_comes_from_the_claim(store, provider, client, settings, claim, scope):
    settings.OIDC_SCOPE_CLAIM = "companies"
    provider.claim_changes["companies"] = claim
    come(client)
    assert account(store)["scope"] == scope
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    "claim",
    [
        7,
        True,
        {"company:ci-1": 1},
        ["company:ci-1", 7],
        ["company:a#b"],
        ["tenant:" + "x" * 201],
        [f"company:c{i}" for i in range(501)],
        "all",
        ["company:ci-1", " ALL "],
        ["ci-1"],
        ["company:*"],
    ],
)
def test_scope_that_cannot_be_read_opens_nothing(store, provider, client, settings, claim):
    come(Client())
    before = account(store)["scope"]
    settings.OIDC_SCOPE_CLAIM = "companies"
    provider.person["companies"] = claim
    assert_refused(store, come(client), "could not read which companies you belong to")
    assert account(store)["scope"] == before
    assert "session" not in client.cookies


def test_changed_scope_is_applied_with_the_role_in_one_write(store, provider, client, settings):
    settings.OIDC_SCOPE_CLAIM = "companies"
    provider.person["companies"] = ["company:ci-1"]
    come(Client())
    provider.person |= {"companies": ["company:ci-2"], "groups": ["console-auditors"]}
    come(client)
    assert (account(store)["role"], account(store)["scope"]) == ("auditor", ["company:ci-2"])
    [change] = changes(store)
    assert change["from"] == {"role": "agent", "scope": ["company:ci-1"]}
    assert change["to"] == {"role": "auditor", "scope": ["company:ci-2"]}


@pytest.mark.parametrize("entries", [["ci-1"], ["company:ci-1"], ["tenant:ci-1"]])
def test_id_alone_in_the_claim_means_what_the_account_has_of_it(store, provider, client, settings, entries):
    """Accounts from before entries said what they are of keep what they had, and no more."""
    come(Client())
    store.update("STAFF", {"username": "ada.lovelace"}, scope=entries)
    settings.OIDC_SCOPE_CLAIM = "companies"
    provider.person["companies"] = ["ci-1"]
    assert come(client).status_code == 302
    assert account(store)["scope"] == entries
    provider.person["companies"] = ["ci-1", "ci-2"]
    assert_refused(store, come(Client()), "could not read which companies you belong to")
    assert account(store)["scope"] == entries


def test_role_claim_that_is_one_text_is_one_group(store, provider, client):
    provider.person["groups"] = "console-admins of the canteen"
    assert_refused(store, come(client))
    provider.person["groups"] = "console-auditors"
    assert come(Client()).status_code == 302
    assert account(store)["role"] == "auditor"


def test_new_person_without_a_scope_claim_sees_nothing_yet(store, provider, client):
    come(client)
    assert account(store)["scope"] == []


# --- Second factor ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "gets_in"),
    [
        ({"amr": ["pwd", "otp"]}, True),
        ({"acr": "gold"}, True),
        ({"amr": ["pwd"]}, False),
        ({"amr": [7, None, ["otp"]]}, False),
        ({"acr": ["gold"]}, False),
        ({"acr": "silver"}, False),
        ({}, False),
    ],
)
def test_role_that_needs_a_second_factor_gets_in_only_where_the_provider_states_one(
    store, provider, client, settings, claims, gets_in
):
    settings.REQUIRE_SECOND_FACTOR = ["agent"]
    settings.OIDC_SECOND_FACTOR_AMR, settings.OIDC_SECOND_FACTOR_ACR = ["mfa", "otp"], ["gold"]
    provider.claim_changes |= claims
    answer = come(client)
    if gets_in:
        assert answer.status_code == 302
        assert client.get("/").status_code == 200
    else:
        assert_refused(store, answer, "without a second factor", "Set one up there")
        assert failures(store) == ["failed: no second factor"]
    provider.person["groups"] = ["console-auditors"]
    assert come(Client()).status_code == 302


def test_without_a_claim_that_would_tell_the_provider_decides_and_a_check_warns(store, provider, client, settings):
    settings.REQUIRE_SECOND_FACTOR = ["all"]
    assert come(client).status_code == 302
    assert client.get("/").status_code == 200
    [warning] = check_second_factor_at_provider(None)
    assert (warning.id, "OIDC_SECOND_FACTOR_AMR" in warning.hint) == ("console.W003", True)
    settings.OIDC_SECOND_FACTOR_AMR = ["mfa"]
    assert list(check_second_factor_at_provider(None)) == []
