"""Sessions: one read per request, both limits, and what ends them."""

import pytest
from django.test import Client

from console import clock, refs
from console.errors import StoreUnavailable, Throttled
from console.permissions import Role, Staff
from console.staff import services, sessions
from console.store.calls import budget
from console.trail.actions import Action
from console.trail.recording import Actor, TrailEntry, build, staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD


def start(account, **options) -> str:
    actor = Actor.of(Staff.of(account))
    return sessions.start(
        account, build(TrailEntry(staff_trail(account.username), Action.SIGN_IN, actor), clock.now()), **options
    )


def session_of(store, token: str) -> dict:
    return store.get("STAFF_SESSIONS", session_id=sessions.read_token(token).session_id)


def test_request_reads_account_and_session_in_one_strongly_consistent_batch(store, agent):
    token = start(agent)
    with store.calls() as calls:
        staff = sessions.authenticate_request(token)
    assert (staff.username, staff.display_name, staff.role) == ("amira.haddad", "Amira Haddad", Role.AGENT)
    assert staff.scope.companies == {"ci-cuc-001", "ci-nwe-002"}
    [call] = calls
    assert call.operation == "BatchGetItem"
    assert set(call.tables) == {"STAFF", "STAFF_SESSIONS"}
    assert all(part["ConsistentRead"] and len(part["Keys"]) == 1 for part in call.request["RequestItems"].values())


def test_batch_is_counted_in_the_budget_of_the_request(store, agent):
    token = start(agent)
    with budget(None) as spent:
        sessions.authenticate_request(token)
    assert [call.operation for call in spent.calls] == ["BatchGetItem"]


@pytest.mark.parametrize("token", ["", "x", "ä", "a" * 5000])
def test_token_that_this_console_did_not_make_costs_no_read(store, agent, token):
    with store.calls() as calls:
        assert sessions.authenticate_request(token) is None
    assert calls == []


def test_reference_of_another_kind_is_no_token(store, agent):
    start(agent)
    with store.calls() as calls:
        assert sessions.authenticate_request(refs.seal("conversation", "amira.haddad", "x")) is None
    assert calls == []


def test_token_of_another_environment_is_no_token(store, agent, settings):
    token = start(agent)
    settings.CONSOLE_ENV = "staging"
    assert sessions.read_token(token) is None


def test_session_survives_a_rotation_of_the_secret_key(store, agent, settings):
    token = start(agent)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-secret-key-that-is-long-enough-0123456789-0123456789"
    assert sessions.authenticate_request(token).username == "amira.haddad"


def test_session_ends_when_idle(store, agent, later):
    token = start(agent)
    later(minutes=59)
    assert sessions.authenticate_request(token, is_activity=False) is not None
    later(minutes=1)
    assert sessions.authenticate_request(token) is None


def test_activity_keeps_a_session_up_to_the_absolute_limit(store, agent, later):
    token = start(agent)
    for _ in range(23):
        later(minutes=30)
        assert sessions.authenticate_request(token) is not None
    later(minutes=30)
    assert sessions.authenticate_request(token) is None


def test_polling_does_not_keep_a_session(store, agent, later):
    token = start(agent)
    for _ in range(11):
        later(minutes=5)
        with store.calls() as calls:
            assert sessions.authenticate_request(token, is_activity=False) is not None
        assert [call.operation for call in calls] == ["BatchGetItem"]
    later(minutes=5)
    assert sessions.authenticate_request(token, is_activity=False) is None


def test_shorter_limits_hold_for_sessions_that_run_already(store, agent, later, settings):
    token = start(agent)
    later(minutes=10)
    settings.SESSION_IDLE_MINUTES = 10
    assert sessions.authenticate_request(token) is None
    settings.SESSION_IDLE_MINUTES = 60
    assert sessions.authenticate_request(token) is not None
    settings.SESSION_ABSOLUTE_HOURS = 0
    assert sessions.authenticate_request(token) is None


def test_expired_session_that_dynamodb_still_returns_is_over(store, agent, later):
    token = start(agent)
    later(hours=12)
    assert session_of(store, token) is not None
    assert sessions.authenticate_request(token) is None


def test_last_seen_is_written_at_most_every_five_minutes(store, agent, later):
    token = start(agent)
    begun = session_of(store, token)["last_seen_at"]
    writes = []
    for minutes in (0, 4, 1, 4, 1):
        later(minutes=minutes)
        with store.calls() as calls:
            sessions.authenticate_request(token)
        writes.append([call.operation for call in calls[1:]])
    assert writes == [[], [], ["UpdateItem"], [], ["UpdateItem"]]
    assert session_of(store, token)["last_seen_at"] > begun


def test_request_goes_on_when_last_seen_cannot_be_written(store, agent, later):
    token = start(agent)
    later(minutes=6)
    with faults.fail_before("UpdateItem") as fault:
        assert sessions.authenticate_request(token) is not None
    assert len(fault.struck) == 1


def test_noting_last_seen_does_not_bring_an_ended_session_back(store, agent, later):
    token = start(agent)
    visitor = sessions.read_token(token)
    later(minutes=6)
    with faults.before("UpdateItem", lambda: store.delete("STAFF_SESSIONS", session_id=visitor.session_id)):
        sessions.authenticate_request(token)
    assert store.all("STAFF_SESSIONS") == []


def test_disabled_account_is_out_whatever_its_epoch(store, agent):
    token = start(agent)
    store.update("STAFF", {"username": "amira.haddad"}, disabled=True)
    assert sessions.authenticate_request(token) is None


def test_session_of_one_account_is_worth_nothing_under_another_name(store, agent):
    token = start(agent)
    store.update("STAFF_SESSIONS", {"session_id": sessions.read_token(token).session_id}, username="tom.becker")
    assert sessions.authenticate_request(token) is None


def test_what_dynamodb_put_off_is_asked_for_once_more(store, agent):
    token = start(agent)
    visitor = sessions.read_token(token)
    put_off = {
        store.name("STAFF_SESSIONS"): {"Keys": [{"session_id": {"S": visitor.session_id}}], "ConsistentRead": True}
    }
    partial = {
        "Responses": {store.name("STAFF"): [store.raw("STAFF", username="amira.haddad")]},
        "UnprocessedKeys": put_off,
    }
    with store.calls() as calls, faults.answer("BatchGetItem", body=partial):
        assert sessions.authenticate_request(token).username == "amira.haddad"
    assert [call.operation for call in calls] == ["BatchGetItem", "BatchGetItem"]
    assert calls[1].request["RequestItems"] == put_off


def test_keys_put_off_twice_are_a_failure_not_a_sign_out(store, agent):
    token = start(agent)
    visitor = sessions.read_token(token)
    put_off = {store.name("STAFF_SESSIONS"): {"Keys": [{"session_id": {"S": visitor.session_id}}]}}
    body = {"Responses": {store.name("STAFF"): []}, "UnprocessedKeys": put_off}
    with faults.answer("BatchGetItem", body=body, times=2), pytest.raises(StoreUnavailable):
        sessions.authenticate_request(token)


@pytest.mark.parametrize("body", [b"{}", b'{"Responses', b"", b"<html>proxy</html>", b"[]", {"UnprocessedKeys": {}}])
def test_broken_answer_is_a_failure_not_a_sign_out(store, agent, body):
    token = start(agent)
    with faults.answer("BatchGetItem", body=body, times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        sessions.authenticate_request(token)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (lambda: faults.fail_before("BatchGetItem"), StoreUnavailable),
        (lambda: faults.fail_after("BatchGetItem"), StoreUnavailable),
        (
            lambda: faults.refuse("BatchGetItem", code="ProvisionedThroughputExceededException", times=faults.ALWAYS),
            Throttled,
        ),
        (lambda: faults.refuse("BatchGetItem", code="AccessDeniedException", times=faults.ALWAYS), StoreUnavailable),
    ],
)
def test_failed_read_is_a_failure_not_a_sign_out(store, agent, fault, error):
    token = start(agent)
    with fault(), pytest.raises(error):
        sessions.authenticate_request(token)
    assert sessions.authenticate_request(token) is not None


def test_role_of_a_newer_version_is_a_failure_not_a_sign_out(store, agent):
    token = start(agent)
    store.update("STAFF", {"username": "amira.haddad"}, role="supervisor")
    with pytest.raises(StoreUnavailable):
        sessions.authenticate_request(token)


def test_unreadable_account_is_a_failure_not_a_sign_out(store, agent):
    token = start(agent)
    store.update("STAFF", {"username": "amira.haddad"}, epoch="one")
    with pytest.raises(StoreUnavailable):
        sessions.authenticate_request(token)


@pytest.mark.parametrize(
    "change",
    [
        lambda: services.change("amira.haddad", role=Role.AUDITOR, actor=ADMIN),
        lambda: services.change("amira.haddad", scope=["company:ci-cuc-001"], actor=ADMIN),
        lambda: services.reset_password("amira.haddad", "another fine password", actor=ADMIN),
        lambda: services.disable("amira.haddad", actor=ADMIN),
        lambda: services.end_sessions("amira.haddad", actor=ADMIN),
    ],
    ids=["role", "scope", "password", "disabled", "signed out everywhere"],
)
def test_change_of_the_account_ends_all_its_sessions_on_their_next_request(store, agent, sign_in, change):
    browsers = [Client(), Client()]
    for browser in browsers:
        sign_in(browser)
        assert browser.get("/").status_code == 200
    change()
    assert [browser.get("/").status_code for browser in browsers] == [302, 302]


def test_enabling_brings_no_old_session_back(store, agent, client, sign_in):
    sign_in(client)
    services.disable("amira.haddad", actor=ADMIN)
    services.enable("amira.haddad", actor=ADMIN)
    client.cookies["session"] = client.cookies["session"].value
    assert client.get("/").status_code == 302
    assert client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}).status_code == 302
    assert client.get("/").status_code == 200


def test_change_of_time_zone_ends_no_session(store, agent):
    token = start(agent)
    services.change("amira.haddad", time_zone="Asia/Tokyo", actor=ADMIN)
    assert sessions.authenticate_request(token).time_zone == "Asia/Tokyo"


def test_session_remembers_a_label_of_the_browser_only(store, agent, client):
    agent_header = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}, headers={"User-Agent": agent_header})
    [session] = store.all("STAFF_SESSIONS")
    assert session["user_agent"] == "Firefox on Linux"
