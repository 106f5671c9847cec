"""`manage.py staff`."""

import io
import re
import sys

import pytest
from django.core.management import CommandError, call_command

from console.permissions import Role
from console.staff import accounts, passwords, services
from tests import faults
from tests.people import member
from tests.store.console.staff.conftest import ADMIN, PASSWORD


def staff(*arguments: str) -> str:
    out = io.StringIO()
    call_command("staff", *arguments, stdout=out)
    return out.getvalue()


def type_password(monkeypatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def test_create_makes_an_account_and_shows_its_password_once(store):
    said = staff(
        "create",
        "amira.haddad",
        "--role",
        "agent",
        "--scope",
        "company:ci-cuc-001,company:ci-nwe-002",
        "--name",
        "Amira Haddad",
    )
    assert "amira.haddad: created (role agent, scope company:ci-cuc-001, company:ci-nwe-002)." in said
    password = re.search(r"Password, shown only this once: (\S+)", said).group(1)
    account = accounts.get("amira.haddad")
    assert passwords.verify(password, account.password_hash)[0]
    assert account.display_name == "Amira Haddad"
    assert password not in staff("list")
    [entry] = store.all("AUDIT")
    assert (entry["actor"], entry["actor_role"]) == ("command-line", "operator")
    assert password not in str(entry)


def test_create_takes_scope_as_several_words_or_all(store):
    staff("create", "one", "--role", "agent", "--scope", "company:a", "tenant:b", "--time-zone", "Europe/London")
    staff("create", "two", "--role", "admin", "--scope", "all")
    assert store.get("STAFF", username="one")["scope"] == ["company:a", "tenant:b"]
    assert store.get("STAFF", username="one")["time_zone"] == "Europe/London"
    assert store.get("STAFF", username="two")["scope"] == ["*"]


def test_create_says_that_an_empty_scope_sees_nothing(store):
    assert "sees nothing" in staff("create", "one", "--role", "agent")


def test_password_from_standard_input_is_not_shown(store, monkeypatch):
    type_password(monkeypatch, f"{PASSWORD}\nsecond line\n")
    said = staff("create", "one", "--role", "agent", "--password-stdin")
    assert PASSWORD not in said
    assert "shown only this once" not in said
    assert passwords.verify(PASSWORD, accounts.get("one").password_hash)[0]


@pytest.mark.parametrize(
    ("typed", "complaint"), [("", "There is no password on standard input"), ("short\n", "too short")]
)
def test_unfit_password_from_standard_input_makes_no_account(store, monkeypatch, typed, complaint):
    type_password(monkeypatch, typed)
    with pytest.raises(CommandError, match=complaint):
        staff("create", "one", "--role", "agent", "--password-stdin")
    assert store.all("STAFF") == []


def test_list_shows_every_account_and_no_secret(store, agent):
    services.create("gone.person", PASSWORD, role=Role.AUDITOR, scope=["*"], actor=ADMIN)
    services.disable("gone.person", actor=ADMIN)
    said = staff("list")
    first, second = (line.split() for line in said.splitlines()[1:])
    assert first[:5] == ["amira.haddad", "agent", "enabled", "off", "never"]
    assert second[:3] == ["gone.person", "auditor", "disabled"]
    assert agent.password_hash not in said


def test_list_of_nobody_says_how_to_make_the_first(store):
    assert "manage.py staff create" in staff("list")


def test_account_is_changed_from_the_command_line(store, agent):
    assert "disabled" in staff("disable", "amira.haddad")
    assert store.get("STAFF", username="amira.haddad")["disabled"] is True
    assert "can sign in" in staff("enable", "amira.haddad")
    assert "role auditor" in staff("role", "amira.haddad", "auditor")
    assert "scope all" in staff("scope", "amira.haddad", "all")
    assert "scope empty" in staff("scope", "amira.haddad")
    assert "Asia/Tokyo" in staff("time-zone", "amira.haddad", "Asia/Tokyo")
    assert "ended" in staff("sign-out", "amira.haddad")
    account = store.get("STAFF", username="amira.haddad")
    assert (account["disabled"], account["role"], account["scope"]) == (False, "auditor", [])
    assert (account["time_zone"], account["epoch"]) == ("Asia/Tokyo", 7)


def test_second_factor_is_listed_and_removed_from_the_command_line(store, agent):
    moment, secret = "2026-01-01T00:00:00.000Z", "sealed-and-secret"
    store.update("STAFF", {"username": "amira.haddad"}, second_factor_at=moment, totp_secret=secret)
    listed = staff("list")
    assert listed.splitlines()[1].split()[3] == "on"
    assert secret not in listed
    assert "signs in with the password alone" in staff("remove-second-factor", "amira.haddad")
    assert staff("list").splitlines()[1].split()[3] == "off"
    store.update("STAFF", {"username": "amira.haddad"}, totp_secret=secret)
    assert staff("list").splitlines()[1].split()[3] == "on", "sign-in asks for a code"
    staff("remove-second-factor", "amira.haddad")
    assert "totp_secret" not in store.get("STAFF", username="amira.haddad")


def test_reset_sets_a_new_password(store, agent, monkeypatch):
    said = staff("reset", "amira.haddad")
    password = re.search(r"Password, shown only this once: (\S+)", said).group(1)
    assert passwords.verify(password, accounts.get("amira.haddad").password_hash)[0]
    type_password(monkeypatch, "typed in by hand\n")
    staff("reset", "amira.haddad", "--password-stdin")
    assert passwords.verify("typed in by hand", accounts.get("amira.haddad").password_hash)[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["create", "amira.haddad", "--role", "agent"], "already an account"),
        (["create", "a@b.example", "--role", "agent"], "username"),
        (["create", "one", "--role", "king"], "invalid choice: 'king'"),
        (["create", "one"], "--role"),
        (["create", "one", "--role", "agent", "--time-zone", "Mars"], "not a time zone"),
        (["disable", "nobody"], "no account named 'nobody'"),
        (["reset", "nobody"], "no account named 'nobody'"),
        (["remove-second-factor", "nobody"], "no account named 'nobody'"),
        (["role", "amira.haddad", "king"], "invalid choice"),
        (["scope", "amira.haddad", "company:a#b"], "not a company"),
        ([], "ACTION"),
    ],
)
def test_mistakes_are_said_in_a_line(store, agent, arguments, complaint):
    with pytest.raises(CommandError, match=re.escape(complaint)):
        staff(*arguments)


def test_failing_database_is_said_in_a_line(store):
    with faults.fail_before(), pytest.raises(CommandError, match="did not answer"):
        staff("list")


def test_absent_tables_are_said_with_what_to_do(bare_store):
    with pytest.raises(CommandError, match="tables create"):
        staff("list")


def test_old_scopes_are_listed_with_what_is_there_and_confirmed_by_choice(store):
    member("amira.haddad", scope=["outlocks", "ci-aaa-001", "x-1"])
    member("tom.becker", scope=["outlocks", "company:ci-aaa-001"])
    store.put("TENANTS", {"pk": "TENANT#outlocks", "sk": "META", "tenant_id": "outlocks", "name": "Outlocks"})
    store.put("CONSOLE", {"pk": "COMPANIES", "sk": "ci-aaa-001", "name": "Aardvark"})
    said = staff("confirm-scopes")
    assert "outlocks: there is a tenant with this id, in the scope of amira.haddad, tom.becker" in said
    assert "ci-aaa-001: there is a company with this id, in the scope of amira.haddad" in said
    assert "x-1: there is nothing with this id" in said
    staff("confirm-scopes", "--tenant", "outlocks", "--company", "ci-aaa-001", "--neither", "x-1")
    assert store.get("STAFF", username="amira.haddad")["scope"] == ["company:ci-aaa-001", "tenant:outlocks"]
    assert store.get("STAFF", username="tom.becker")["scope"] == ["company:ci-aaa-001", "tenant:outlocks"]
    changes = [item for item in store.all("AUDIT") if item["action_type"] == "staff.changed"]
    assert {item["actor"] for item in changes} == {"command-line"}
    assert len(changes) == 2
    assert "Every scope says" in staff("confirm-scopes")


def test_an_id_is_confirmed_as_one_thing_and_in_one_account_where_that_is_asked(store):
    member("amira.haddad", scope=["x-1"])
    member("tom.becker", scope=["x-1"])
    with pytest.raises(CommandError, match="Choose one meaning for each"):
        staff("confirm-scopes", "--tenant", "x-1", "--both", "x-1")
    staff("confirm-scopes", "--both", "x-1", "--username", "tom.becker")
    assert store.get("STAFF", username="tom.becker")["scope"] == ["company:x-1", "tenant:x-1"]
    assert store.get("STAFF", username="amira.haddad")["scope"] == ["x-1"]
    assert "Nothing was changed" in staff("confirm-scopes", "--both", "unheard-of")
