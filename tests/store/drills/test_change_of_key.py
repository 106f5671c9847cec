"""SECRET_KEY is changed, and nothing that is stored needs the one before any more."""

import pyotp
import pytest
from django.core.management import CommandError, call_command

from console import caching, clock
from console.staff import accounts, second_factor
from console.staff.models import StaffAccount
from conversations.companies import register
from conversations.insight.identity import pseudonym_of
from tests.people import member
from tests.support.conversations.handoff.kit import COMPANY
from tests.support.conversations.notifications import add, entries, found

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
NEW = "pQ7_vd3mLx9Zt2Rk-8WcYhB5NfUe0SgJa4TiXo6KqCt1MnRw"


@pytest.fixture
def old(store, settings) -> str:
    """The key until now, with which a second factor is sealed; tests seal more."""
    register(COMPANY, "Cucumber", "test", clock.to_iso(clock.now()))
    add_second_factor("amira.haddad")
    return settings.SECRET_KEY


def add_second_factor(username: str) -> None:
    member(username)
    sealed = second_factor.sealed_secret(username, SECRET)
    accounts.get(username).update(actions=[StaffAccount.totp_secret.set(sealed)])


def seal_again(capsys) -> list[str]:
    call_command("seal_again")
    return capsys.readouterr().out.splitlines()


def change_key(settings, old: str) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [old]
    caching.invalidate_all()


def test_nothing_stored_needs_the_key_before(store, settings, old, capsys):
    ours, of_all, who = add(COMPANY), add(""), pseudonym_of("staff", "ana")
    change_key(settings, old)
    add_second_factor("tom.baker")
    assert seal_again(capsys) == [
        "Second factors: 1 sealed again, 1 current",
        "Webhook secrets: 2 sealed again",
        "Key of Insight: 1 sealed again",
        "Record of the key: none",
    ]
    settings.SECRET_KEY_FALLBACKS = []
    caching.invalidate_all()
    assert seal_again(capsys) == [
        "Second factors: 2 current",
        "Webhook secrets: 2 current",
        "Key of Insight: 1 current",
        "Record of the key: none",
    ]
    for username in ("amira.haddad", "tom.baker"):
        assert second_factor.verify(accounts.get(username), pyotp.TOTP(SECRET).now()) == second_factor.CODE
    assert [found(each.id, each.company_id).secrets for each in (ours, of_all)] == [ours.secrets, of_all.secrets]
    assert pseudonym_of("staff", "ana") == who
    [entry] = [each for each in entries(store, "destination.changed") if each.get("gsi_company_id") == COMPANY][1:]
    assert entry["actor"] == "command-line"


def test_what_no_key_opens_is_told(store, settings, old, capsys):
    lost = add(COMPANY)
    change_key(settings, "another key, which sealed nothing of what is here")
    add_second_factor("tom.baker")
    with pytest.raises(CommandError, match="2 could not be sealed again"):
        call_command("seal_again")
    assert capsys.readouterr().out.splitlines() == [
        "Second factors: 1 cannot be read, 1 current",
        "Webhook secrets: 1 cannot be read",
        "Key of Insight: none",
        "Record of the key: none",
    ]
    settings.SECRET_KEY_FALLBACKS = [old]
    assert found(lost.id, COMPANY).secrets == lost.secrets


def test_what_is_changed_meanwhile_is_left_to_the_next_run(store, settings, old, capsys, monkeypatch):
    change_key(settings, old)
    real = second_factor.seal_again

    def beaten(account: StaffAccount) -> bool:
        StaffAccount(account.username).update(actions=[StaffAccount.totp_secret.set("another")])
        return real(account)

    with monkeypatch.context() as patch:
        patch.setattr(second_factor, "seal_again", beaten)
        with pytest.raises(CommandError, match="1 could not be sealed again"):
            call_command("seal_again")
    assert accounts.get("amira.haddad").totp_secret == "another"


def test_it_writes_nothing_where_nothing_is_sealed(store, capsys):
    before = store.all("CONSOLE"), store.all("STAFF")
    kinds = ("Second factors", "Webhook secrets", "Key of Insight", "Record of the key")
    assert seal_again(capsys) == [f"{each}: none" for each in kinds]
    assert (store.all("CONSOLE"), store.all("STAFF")) == before
