"""Changing accounts: the last administrator stays, links are told once, and a second factor goes without a trace."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from console import clock
from console.errors import Conflict, ConsoleError, Invalid, NotFound, StoreUnavailable
from console.permissions import Role, Staff
from console.staff import accounts, password_links, passwords, services
from console.staff.models import StaffAccount
from console.trail.actions import Action
from console.trail.recording import staff_trail
from tests import faults
from tests.people import admin, member
from tests.store.console.staff.conftest import ADMIN, PASSWORD

LAST = "last administrator"
TAKING_AWAY: dict[str, Callable[[str], object]] = {
    "role": lambda username: services.change(username, role=Role.AGENT, actor=ADMIN),
    "scope": lambda username: services.change(username, scope=["company:ci-aaa-001"], actor=ADMIN),
    "disabling": lambda username: services.disable(username, actor=ADMIN),
}


def full_admins(store) -> list[str]:
    return [
        item["username"]
        for item in store.all("STAFF")
        if item["role"] == "admin" and "*" in item["scope"] and not item["disabled"]
    ]


def trail(store, username: str) -> list[tuple[str, dict]]:
    found = [item for item in store.all("AUDIT") if item["conversation_id"] == staff_trail(username)]
    return [(item["action_type"], json.loads(item["action_payload_redacted"])) for item in found]


@pytest.mark.parametrize("change", TAKING_AWAY)
def test_last_administrator_of_everything_stays(store, change):
    admin("ada.admin")
    member("one.company", "admin", ["company:ci-aaa-001"])
    admin("gone.admin").update(actions=[StaffAccount.disabled.set(True)])
    with pytest.raises(Invalid, match=LAST):
        TAKING_AWAY[change]("ada.admin")
    assert full_admins(store) == ["ada.admin"]
    assert trail(store, "ada.admin") == []


@pytest.mark.parametrize("change", TAKING_AWAY)
def test_administrator_goes_while_another_one_is_left(store, change):
    admin("ada.admin")
    admin("ben.admin")
    TAKING_AWAY[change]("ada.admin")
    assert full_admins(store) == ["ben.admin"]
    assert len(trail(store, "ada.admin")) == 1


@pytest.mark.parametrize("change", TAKING_AWAY)
@pytest.mark.parametrize("meanwhile", TAKING_AWAY)
def test_administrators_who_remove_each_other_cannot_both_succeed(store, change, meanwhile):
    admin("ada.admin")
    admin("ben.admin")
    other = {"role": {"role": "agent"}, "scope": {"scope": ["company:ci-aaa-001"]}, "disabling": {"disabled": True}}[
        meanwhile
    ]
    with (
        faults.before("TransactWriteItems", lambda: store.update("STAFF", {"username": "ben.admin"}, **other)),
        pytest.raises(Invalid, match=LAST),
    ):
        TAKING_AWAY[change]("ada.admin")
    assert full_admins(store) == ["ada.admin"]


def test_administrators_who_remove_each_other_at_once_leave_one(store):
    for _ in range(5):
        admin("ada.admin")
        admin("ben.admin")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(demote, ["ada.admin", "ben.admin"]))
        assert full_admins(store)


def demote(username: str) -> None:
    try:
        services.change(username, role=Role.AGENT, actor=ADMIN)
    except ConsoleError:
        return


def test_other_administrators_are_tried_when_the_first_is_one_no_more(store):
    for name in ("ada.admin", "ben.admin", "cem.admin"):
        admin(name)
    with faults.before(
        "TransactWriteItems", lambda: store.update("STAFF", {"username": "ben.admin"}, role="agent")
    ) as fault:
        services.disable("ada.admin", actor=ADMIN)
    assert len(fault.seen) == 2
    assert full_admins(store) == ["cem.admin"]


def test_looking_for_another_administrator_is_bounded(store):
    admin("zoe.admin")
    for number in range(8):
        admin(f"admin{number}")

    def nobody_else():
        for number in range(8):
            store.update("STAFF", {"username": f"admin{number}"}, disabled=True)

    with store.calls() as calls, faults.before("TransactWriteItems", nobody_else), pytest.raises(Invalid, match=LAST):
        services.disable("zoe.admin", actor=ADMIN)
    assert [call.operation for call in calls].count("TransactWriteItems") == accounts.ADMINS_TRIED
    assert [call.operation for call in calls].count("Query") == 1


def test_index_that_is_not_there_yet_keeps_every_administrator(bare_store):
    from tests.tables import create

    bare_store.create_tables("AUDIT", "STAFF_SESSIONS")
    create(bare_store, "STAFF", GlobalSecondaryIndexes=None)
    admin("ada.admin")
    admin("ben.admin")
    with pytest.raises(Invalid, match="tables create"):
        services.disable("ada.admin", actor=ADMIN)
    assert len(full_admins(bare_store)) == 2


def test_administrator_of_some_companies_needs_no_other(store):
    member("one.company", "admin", ["company:ci-aaa-001"])
    services.disable("one.company", actor=ADMIN)
    assert store.get("STAFF", username="one.company")["disabled"] is True


def test_administrator_who_was_changed_since_they_were_read_is_left_alone(store):
    admin("ada.admin")
    admin("ben.admin")
    account = accounts.get("ada.admin")
    services.change("ada.admin", time_zone="Asia/Tokyo", actor=ADMIN)
    with pytest.raises(Conflict, match="in the meantime"):
        services.disable(account, actor=ADMIN)
    assert full_admins(store) == ["ada.admin", "ben.admin"]


def test_writes_of_the_same_transaction_happen_together_or_not_at_all(store, agent):
    other = member("tom.becker")

    def also(writes):
        writes.update(other, actions=[StaffAccount.time_zone.set("Asia/Tokyo")])

    def change():
        return accounts.apply(agent, [], Action.STAFF_CHANGED, {}, ADMIN, also=also)

    with faults.fail_before("TransactWriteItems"), pytest.raises(StoreUnavailable):
        change()
    assert store.get("STAFF", username="tom.becker")["time_zone"] == "UTC"
    assert change().epoch == 2
    assert store.get("STAFF", username="tom.becker")["time_zone"] == "Asia/Tokyo"


def test_invited_person_gets_in_only_with_the_password_of_the_link(store, client):
    with store.calls() as calls:
        account, code = services.invite("new.person", role=Role.AGENT, scope=["tenant:a"], actor=ADMIN)
    assert [(call.operation, set(call.tables)) for call in calls] == [("TransactWriteItems", {"STAFF", "AUDIT"})]
    stored = store.get("STAFF", username="new.person")
    for typed in (stored["password_hash"], "", code):
        assert client.post("/sign-in/", {"username": "new.person", "password": typed}).status_code == 422
    assert code not in str([store.all(key) for key in ("STAFF", "AUDIT")])
    assert trail(store, "new.person")[0] == (
        "staff.created",
        {"role": "agent", "scope": ["tenant:a"], "time_zone": "UTC"},
    )
    password_links.redeem(code, PASSWORD)
    assert client.post("/sign-in/", {"username": "new.person", "password": PASSWORD}).status_code == 302
    assert Staff.of(account).role is Role.AGENT


def test_invitation_to_a_taken_name_changes_nothing(store, agent):
    before = store.get("STAFF", username="amira.haddad")
    with pytest.raises(Conflict, match="already"):
        services.invite("Amira.Haddad", role=Role.ADMIN, actor=ADMIN)
    assert store.get("STAFF", username="amira.haddad") == before


def test_link_voids_the_password_and_ends_all_sessions(store, agent, client, sign_in):
    sign_in(client)
    account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    assert client.get("/").status_code == 302
    assert client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}).status_code == 422
    assert not passwords.verify(PASSWORD, account.password_hash)[0]
    [(_action, payload)] = [each for each in trail(store, "amira.haddad") if each[0] == "staff.password_link"]
    assert payload == {"expires_at": account.password_link_expires_at}
    assert clock.parse_instant(account.password_link_expires_at) > clock.now()
    assert code not in str([store.all(key) for key in ("STAFF", "AUDIT")])


def test_link_that_cannot_be_recorded_is_none_and_the_password_stays(store, agent):
    with faults.fail_before("TransactWriteItems"), pytest.raises(StoreUnavailable):
        services.issue_password_link("amira.haddad", actor=ADMIN)
    assert passwords.verify(PASSWORD, accounts.get("amira.haddad").password_hash)[0]


def test_new_password_ends_an_open_link(store, agent):
    _account, code = services.issue_password_link("amira.haddad", actor=ADMIN)
    services.reset_password("amira.haddad", "another fine password", actor=ADMIN)
    with pytest.raises(Invalid, match="has expired"):
        password_links.redeem(code, PASSWORD)


@pytest.mark.parametrize(
    "change",
    [
        lambda username: services.issue_password_link(username, actor=ADMIN),
        lambda username: services.reset_password(username, "another fine password", actor=ADMIN),
    ],
)
def test_account_of_the_company_sign_in_gets_no_password(store, change):
    services.create_for_company_sign_in("company.person", role=Role.AGENT, actor=ADMIN)
    with pytest.raises(Invalid, match="has no password here"):
        change("company.person")
    assert len(trail(store, "company.person")) == 1


def test_removed_second_factor_leaves_nothing_behind_and_ends_all_sessions(store, agent, client, sign_in):
    sign_in(client)
    left = {"totp_secret": "sealed", "totp_last_step": 7, "recovery_codes": {"a", "b"}, "second_factor_at": "2026"}
    store.update("STAFF", {"username": "amira.haddad"}, **left)
    services.remove_second_factor("amira.haddad", actor=ADMIN)
    assert not left.keys() & store.get("STAFF", username="amira.haddad").keys()
    assert trail(store, "amira.haddad")[-1] == ("staff.second_factor_removed", {})
    assert client.get("/").status_code == 302
    assert client.post("/sign-in/", {"username": "amira.haddad", "password": PASSWORD}).status_code == 302


def test_nothing_is_written_where_there_is_no_second_factor(store, agent):
    with store.calls() as calls:
        services.remove_second_factor("amira.haddad", actor=ADMIN)
    assert {call.operation for call in calls} == {"GetItem"}


@pytest.mark.parametrize(
    "change",
    [
        lambda: services.issue_password_link("nobody", actor=ADMIN),
        lambda: services.remove_second_factor("nobody", actor=ADMIN),
        lambda: services.change("nobody", display_name="Nobody", actor=ADMIN),
    ],
)
def test_change_of_nobody_is_not_found(store, change):
    with pytest.raises(NotFound, match="no account"):
        change()
    assert store.all("STAFF") == store.all("AUDIT") == []


def test_name_is_changed_without_telling_the_trail_and_sessions_go_on(store, agent, client, sign_in):
    sign_in(client)
    services.change("amira.haddad", display_name="  Amira  El-Haddad ", actor=ADMIN)
    assert store.get("STAFF", username="amira.haddad")["display_name"] == "Amira El-Haddad"
    assert trail(store, "amira.haddad")[-1] == ("staff.changed", {"changed": "display_name"})
    assert client.get("/").status_code == 200
    services.change("amira.haddad", display_name="  ", actor=ADMIN)
    assert store.get("STAFF", username="amira.haddad")["display_name"] == "amira.haddad"


@pytest.mark.parametrize("name", ["x" * 81, "a\x00b", "a\u202eb"])
def test_name_that_cannot_be_shown_is_refused(store, agent, name):
    with pytest.raises(Invalid):
        services.change("amira.haddad", display_name=name, actor=ADMIN)
    assert store.get("STAFF", username="amira.haddad")["display_name"] == "Amira Haddad"
