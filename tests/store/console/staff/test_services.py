"""Accounts: what each change stores, and that it is in the trail or did not happen."""

import json

import pytest

from console.errors import Conflict, Invalid, NotFound, StoreUnavailable
from console.permissions import Role, Staff
from console.staff import accounts, password_links, services
from console.trail.recording import staff_trail
from tests import faults
from tests.store.console.staff.conftest import ADMIN, PASSWORD

CHANGES = {
    "role": lambda: services.change("amira.haddad", role=Role.AUDITOR, actor=ADMIN),
    "scope": lambda: services.change("amira.haddad", scope=["*"], actor=ADMIN),
    "time zone": lambda: services.change("amira.haddad", time_zone="Asia/Tokyo", actor=ADMIN),
    "name": lambda: services.change("amira.haddad", display_name=" Amira  H. ", actor=ADMIN),
    "password": lambda: services.reset_password("amira.haddad", "another fine password", actor=ADMIN),
    "disable": lambda: services.disable("amira.haddad", actor=ADMIN),
    "sessions": lambda: services.end_sessions("amira.haddad", actor=ADMIN),
}


def trail(store, username: str = "amira.haddad") -> list[tuple[str, dict]]:
    found = [item for item in store.all("AUDIT") if item["conversation_id"] == staff_trail(username)]
    assert all(item["actor"] == "ada.admin" for item in found)
    return [(item["action_type"], json.loads(item["action_payload_redacted"])) for item in found]


def stored(store) -> dict:
    return store.get("STAFF", username="amira.haddad")


def test_new_account_is_stored_with_its_trail_entry_in_one_write(store):
    with store.calls() as calls:
        services.create(
            "new.person",
            PASSWORD,
            role=Role.AGENT,
            scope=["tenant:b", "company:a", "company:a"],
            display_name=" New  Person ",
            actor=ADMIN,
        )
    assert [(call.operation, set(call.tables)) for call in calls] == [("TransactWriteItems", {"STAFF", "AUDIT"})]
    account = store.get("STAFF", username="new.person")
    assert account["display_name"] == "New Person"
    assert (account["role"], account["scope"], account["time_zone"]) == ("agent", ["company:a", "tenant:b"], "UTC")
    assert (account["disabled"], account["epoch"]) == (False, 1)
    assert PASSWORD not in str(account)
    [(action, payload)] = trail(store, "new.person")
    assert action == "staff.created"
    assert payload == {"role": "agent", "scope": ["company:a", "tenant:b"], "time_zone": "UTC"}


def test_scope_is_empty_unless_given(store):
    services.create("new.person", PASSWORD, role=Role.ADMIN, actor=ADMIN)
    assert store.get("STAFF", username="new.person")["scope"] == []
    assert Staff.of(accounts.get("new.person")).scope.is_empty


@pytest.mark.parametrize("username", ["platform", "Command-Line", "unknown", "visitor", "system", "middleware"])
def test_nobody_bears_the_name_that_the_trail_has_for_what_is_no_person(store, username):
    with pytest.raises(Invalid, match="is reserved"):
        services.invite(username, role=Role.AGENT, scope=["tenant:a"], actor=ADMIN)
    assert store.all("STAFF") == []


@pytest.mark.parametrize("username", ["", "a@b.example", "two words", "-dash", "dot.", "x" * 65, "ümlaut", "a#b"])
def test_usernames_that_cannot_be_are_refused(store, username):
    with pytest.raises(Invalid, match="username"):
        services.create(username, PASSWORD, role=Role.AGENT, actor=ADMIN)
    assert store.all("STAFF") == []


@pytest.mark.parametrize(
    "options",
    [
        {"scope": ["STAFF#x"]},
        {"scope": ["company:a\nb"]},
        {"scope": ["tenant:" + "x" * 201]},
        {"scope": [f"company:{n}" for n in range(501)]},
        {"scope": ["all"]},
        {"scope": ["company:*"]},
        {"scope": ["tenant:"]},
        {"scope": ["ci-cuc-001"]},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "../etc/passwd"},
        {"display_name": "x" * 81},
    ],
)
def test_junk_is_refused_before_anything_is_stored(store, options):
    with pytest.raises(Invalid):
        services.create("new.person", PASSWORD, role=Role.AGENT, actor=ADMIN, **options)
    assert store.all("STAFF") == store.all("AUDIT") == []


def test_taken_username_is_a_conflict_and_changes_nothing(store, agent):
    before = stored(store)
    with pytest.raises(Conflict, match="already"):
        services.create("Amira.Haddad", "another fine password", role=Role.ADMIN, scope=["*"], actor=ADMIN)
    assert stored(store) == before
    assert len(trail(store)) == 1


def test_weak_password_is_refused_at_creation_and_reset(store, agent):
    with pytest.raises(Invalid, match="too short"):
        services.create("new.person", "short", role=Role.AGENT, actor=ADMIN)
    with pytest.raises(Invalid, match="username"):
        services.reset_password("amira.haddad", "AMIRA.HADDAD", actor=ADMIN)


@pytest.mark.parametrize(
    ("change", "expected", "action", "payload", "ended"),
    [
        (
            "role",
            {"role": "auditor"},
            "staff.changed",
            {"changed": "role", "from": {"role": "agent"}, "to": {"role": "auditor"}},
            True,
        ),
        (
            "scope",
            {"scope": ["*"]},
            "staff.changed",
            {
                "changed": "scope",
                "from": {"scope": ["company:ci-cuc-001", "company:ci-nwe-002"]},
                "to": {"scope": ["*"]},
            },
            True,
        ),
        (
            "time zone",
            {"time_zone": "Asia/Tokyo"},
            "staff.changed",
            {"changed": "time_zone", "from": {"time_zone": "UTC"}, "to": {"time_zone": "Asia/Tokyo"}},
            False,
        ),
        ("name", {"display_name": "Amira H."}, "staff.changed", {"changed": "display_name"}, False),
        ("password", {}, "staff.password_reset", {}, True),
        ("disable", {"disabled": True}, "staff.disabled", {"disabled": True}, True),
        ("sessions", {}, "staff.sessions_ended", {}, True),
    ],
)
def test_change_is_stored_with_its_trail_entry(store, agent, change, expected, action, payload, ended):
    before = stored(store)
    with store.calls() as calls:
        CHANGES[change]()
    after = stored(store)
    assert {name: after[name] for name in expected} == expected
    assert after["epoch"] == before["epoch"] + (1 if ended else 0)
    assert after["updated_at"] >= before["updated_at"]
    assert (after["password_hash"] != before["password_hash"]) is (change == "password")
    assert trail(store)[1:] == [(action, payload)]
    writes = [call for call in calls if call.operation not in ("GetItem", "BatchGetItem")]
    assert [call.operation for call in writes] == ["TransactWriteItems"]


@pytest.mark.parametrize("change", CHANGES)
def test_change_that_cannot_be_recorded_does_not_happen(store, agent, change):
    before = stored(store)
    with faults.fail_before("TransactWriteItems"), pytest.raises(StoreUnavailable):
        CHANGES[change]()
    assert stored(store) == before
    assert len(trail(store)) == 1


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "sessions"])
def test_second_change_of_the_same_moment_loses_and_says_so(store, agent, change):
    def meanwhile():
        store.update("STAFF", {"username": "amira.haddad"}, updated_at="2026-01-01T00:00:00.000Z", display_name="Other")

    with faults.before("TransactWriteItems", meanwhile), pytest.raises(Conflict, match="in the meantime"):
        CHANGES[change]()
    assert stored(store)["display_name"] == "Other"
    assert stored(store)["epoch"] == 1
    assert len(trail(store)) == 1


@pytest.mark.parametrize("change", CHANGES)
def test_change_of_nobody_is_not_found_and_makes_no_ghost(store, change):
    with pytest.raises(NotFound, match="no account"):
        CHANGES[change]()
    assert store.all("STAFF") == store.all("AUDIT") == []


def test_change_to_what_is_already_so_writes_nothing(store, agent):
    with store.calls() as calls:
        services.change("amira.haddad", role=Role.AGENT, actor=ADMIN)
        services.change("amira.haddad", scope=["company:ci-nwe-002", "company:ci-cuc-001"], actor=ADMIN)
        services.change("amira.haddad", time_zone="UTC", actor=ADMIN)
        services.change("amira.haddad", display_name="Amira Haddad ", actor=ADMIN)
        services.enable("amira.haddad", actor=ADMIN)
    assert {call.operation for call in calls} == {"GetItem"}


@pytest.mark.parametrize("change", ["role", "scope"])
def test_link_made_for_the_old_access_does_not_open_the_new_one(store, agent, change):
    _account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    CHANGES[change]()
    assert {"password_link_hash", "password_link_expires_at"}.isdisjoint(stored(store))
    with pytest.raises(Invalid, match="has expired"):
        password_links.redeem(code, "another fine password")
    assert trail(store)[-1][1]["changed"] == f"{change}, password link ended"


@pytest.mark.parametrize("change", ["time zone", "name"])
def test_link_outlives_what_gives_no_other_access(store, agent, change):
    _account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    CHANGES[change]()
    password_links.redeem(code, "another fine password")


def test_enabled_account_has_its_password_and_no_trace_of_when_it_was_disabled(store, agent):
    services.disable("amira.haddad", actor=ADMIN)
    assert stored(store)["disabled_at"]
    services.enable("amira.haddad", actor=ADMIN)
    assert stored(store)["disabled"] is False
    assert "disabled_at" not in stored(store)
    assert trail(store)[-1] == ("staff.enabled", {})


def test_disabling_releases_what_the_person_holds(store, agent, monkeypatch):
    released = []

    def release(username, actor):
        released.append((username, actor, stored(store)["disabled"]))

    monkeypatch.setattr(services, "on_disabled", [release])
    services.disable("Amira.Haddad", actor=ADMIN)
    assert released == [("amira.haddad", ADMIN, True)]


def test_release_that_failed_is_said_and_can_be_repeated(store, agent, monkeypatch):
    released = []

    def fail(username, actor):
        if not released:
            raise StoreUnavailable

    monkeypatch.setattr(services, "on_disabled", [fail, lambda username, actor: released.append(username)])
    with pytest.raises(StoreUnavailable, match="is disabled, but"):
        services.disable("amira.haddad", actor=ADMIN)
    assert stored(store)["disabled"] is True
    services.disable("amira.haddad", actor=ADMIN)
    assert released == ["amira.haddad", "amira.haddad"]
    assert [action for action, _ in trail(store)] == ["staff.created", "staff.disabled"]


def test_accounts_are_listed_by_username(store, agent):
    services.create("a.first", PASSWORD, role=Role.ADMIN, actor=ADMIN)
    assert [account.username for account in services.list_accounts()] == ["a.first", "amira.haddad"]
