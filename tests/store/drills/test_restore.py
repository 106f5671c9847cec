"""Each of the console's own tables is restored to an earlier time, as docs/drills.md says, and people work on."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta, timezone
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console import caching, clock
from console.permissions import Role
from console.provisioning.definition import create_table_request
from console.schema.tables import TABLES
from console.staff import accounts, password_links, passwords, second_factor, services
from console.staff.models import StaffAccount
from console.trail.recording import COMMAND_LINE
from conversations.companies import register
from conversations.handoff import perform
from conversations.receiving.approvals import approve
from tests.dynamodb import Store
from tests.people import admin, member, signed_in
from tests.store.conversations.receiving.test_approvals import first_message, forwarded, hold, sent, waiting  # noqa: F401 (a fixture)
from tests.support.conversations.handoff.kit import ANA, BEN, COMPANY, WAITING, form, put
from tests.support.conversations.replies import held, replies, send_all_due, states, write

OLD_PASSWORD = "the old pass phrase 1"
HALF_AN_HOUR, TIMES = timedelta(minutes=30), ("due_at", "not_before", "begun_at", "sent_at")
OWN = sorted(key for key, spec in TABLES.items() if spec.ours)


class Backup:
    """What the console's own tables held at a time; `restore` goes back to that, as DynamoDB does: in a new table."""

    def __init__(self, store: Store, settings: Any) -> None:
        self.at, self.store, self.settings = clock.now(), store, settings
        self.kept = {key: store.all(key) for key in OWN}

    def restore(self, key: str) -> None:
        name = self.store.name(key)
        self.settings.TABLE_NAMES = {**self.settings.TABLE_NAMES, key: f"{name}-restored"}
        # It has its indexes, and neither TTL, stream, recovery nor protection.
        self.store.client.create_table(**create_table_request(key))
        self.store.put_all(key, self.kept[key])
        caching.invalidate_all()


@pytest.fixture
def back_up(store, settings) -> Iterator[Callable[[], Backup]]:
    """Called: the backup of now."""
    names, made = dict(settings.TABLE_NAMES), []

    def make() -> Backup:
        made.append(Backup(store, settings))
        return made[-1]

    yield make
    for key in OWN:
        if store.name(key).endswith("-restored"):
            store.client.delete_table(TableName=store.name(key))
    settings.TABLE_NAMES = names


def half_an_hour_passes(store: Store) -> None:
    """A restore takes as long: what waited then has been due for a while."""
    for row in store.all("MESSAGES"):
        key = {name: row[name] for name in ("conversation", "position")}
        times = {name: at for name in TIMES if (at := clock.parse_instant(row.get(name))) is not None}
        store.update("MESSAGES", key, **{name: clock.to_iso(at - HALF_AN_HOUR) for name, at in times.items()})


def run(capsys, *command: str) -> str:
    call_command(*command)
    return capsys.readouterr().out


def test_a_reply_that_left_since_is_not_sent_again(store, outbox, provider, back_up, capsys):
    held(store)
    write(ANA, "It is on its way.")
    backup = back_up()
    send_all_due()
    assert [len(provider.messages()), *states(store)] == [1, "sent"]
    backup.restore("MESSAGES")
    half_an_hour_passes(store)
    assert states(store) == ["queued"]
    assert run(capsys, "after_restore", "MESSAGES").startswith("Replies whose provider will be asked: 1.")
    send_all_due()
    assert [len(provider.messages()), *states(store)] == [1, "sent"]
    assert replies(store)[0]["provider_id"] == provider.messages()[0]["id"]
    # To run it again does no harm.
    assert run(capsys, "after_restore", "MESSAGES").startswith("Replies whose provider will be asked: 0.")


def test_a_reply_that_never_left_is_told_to_its_author_who_may_send_it_again(
    store,
    outbox,
    provider,
    back_up,
    capsys,
):
    held(store)
    write(ANA, "It is on its way.")
    backup = back_up()
    backup.restore("MESSAGES")
    half_an_hour_passes(store)
    run(capsys, "after_restore", "MESSAGES")
    send_all_due()
    assert (states(store), provider.messages()) == (["not sent"], [])
    assert "did not get it" in replies(store)[0]["error"]


def test_without_the_command_it_would_reach_the_customer_twice(store, outbox, provider, back_up):
    """Why there is one."""
    held(store)
    write(ANA, "It is on its way.")
    backup = back_up()
    send_all_due()
    backup.restore("MESSAGES")
    half_an_hour_passes(store)
    send_all_due()
    assert len(provider.messages()) == 2


def test_a_first_message_that_was_approved_since_says_that_it_may_have_been_sent(
    store,
    channel,
    back_up,
    capsys,
    forwarded,  # noqa: F811
):
    register(COMPANY, "Cucumber", "test", clock.to_iso(clock.now()))
    hold(first_message())
    hold(first_message(note="approved, not yet sent"), "d2")
    approve(waiting([COMPANY])[1].reference, ANA)
    backup = back_up()
    approve(waiting([COMPANY])[0].reference, ANA)
    forwarded()
    backup.restore("MESSAGES")
    assert run(capsys, "after_restore", "MESSAGES").endswith("First messages to check before they are approved: 2.\n")
    forwarded()
    assert len(sent(channel)) == 2
    shown = waiting([COMPANY])
    assert [each.is_unknown for each in shown] == [True, True]
    # A person who has checked decides.
    approve(shown[0].reference, BEN)
    forwarded()
    assert len(sent(channel)) == 1


def test_who_was_disabled_since_stays_out_and_is_listed(store, back_up, capsys):
    leaver, moved = member("lea.ver"), member("mo.ved")
    stays = signed_in(member("sta.ys"))
    backup = back_up()
    services.disable("lea.ver", actor=COMMAND_LINE)
    services.change("mo.ved", scope=["company:ci-bbb-002"], actor=COMMAND_LINE)
    # Whose session was over begins none anew: the restored account knows of none that ended.
    old = signed_in(moved)
    backup.restore("STAFF")
    assert not accounts.get("lea.ver").disabled
    told = run(capsys, "after_restore", "STAFF", "--since", clock.to_iso(backup.at))
    assert accounts.get(leaver.username).disabled
    assert "lea.ver: staff.disabled at " in told
    assert "mo.ved: staff.changed at " in told
    summary = f"Every session has ended. Accounts changed since {clock.to_iso(backup.at)}: 2. Disabled again: 1."
    assert summary in told
    assert [each.get("/queue/").status_code for each in (old, stays)] == [302, 302]
    # Again: it is disabled already.
    assert "Disabled again: 0." in run(capsys, "after_restore", "STAFF", "--since", clock.to_iso(backup.at))


def add_second_factor(username: str) -> str:
    """An account with a second factor; returns one of its recovery codes."""
    codes = second_factor.new_recovery_codes()
    secret = second_factor.sealed_secret(username, second_factor.new_secret())
    member(username).update(
        actions=[
            StaffAccount.totp_secret.set(secret),
            StaffAccount.second_factor_at.set(clock.to_iso(clock.now())),
            StaffAccount.recovery_codes.set(second_factor.hashed(username, codes)),
        ]
    )
    return codes[0]


def test_who_changed_how_they_sign_in_gets_a_link_instead_of_the_old_password(store, back_up, capsys):
    services.create("ben.mora", OLD_PASSWORD, role=Role.AGENT, scope=["company:ci-aaa-001"], actor=COMMAND_LINE)
    add_second_factor("lost.phone")
    backup = back_up()
    for number in range(3):
        services.reset_password("ben.mora", f"another good word {number}", actor=COMMAND_LINE)
        ended = signed_in(accounts.get("ben.mora"))
    services.reset_password("ben.mora", "the last good word", actor=COMMAND_LINE)
    services.remove_second_factor("lost.phone", actor=COMMAND_LINE)
    assert ended.get("/queue/").status_code == 302
    backup.restore("STAFF")
    told = run(capsys, "after_restore", "STAFF", "--since", clock.to_iso(backup.at))
    # Nor does the restored account, whose epoch went back, let a session in that ended since.
    assert ended.get("/queue/").status_code == 302
    assert told.count("ben.mora: staff.password_reset at ") == 4
    assert "lost.phone: staff.second_factor_removed at " in told
    assert not passwords.verify(OLD_PASSWORD, accounts.get("ben.mora").password_hash)[0]
    assert not second_factor.is_on(accounts.get("lost.phone"))
    links = dict(re.findall(r"(\S+): the password no longer works\. .*/set-password/#(\S+)", told))
    assert sorted(links) == ["ben.mora", "lost.phone"]
    # Again: nobody needs another link, and the links work.
    assert "no longer works" not in run(capsys, "after_restore", "STAFF", "--since", clock.to_iso(backup.at))
    password_links.redeem(links["ben.mora"], "a quite new pass phrase")
    assert passwords.verify("a quite new pass phrase", accounts.get("ben.mora").password_hash)[0]


def test_recovery_codes_used_since_do_not_work_again(store, back_up, capsys):
    code = add_second_factor("lost.phone")
    backup = back_up()
    assert second_factor.verify(accounts.get("lost.phone"), code)
    backup.restore("STAFF")
    run(capsys, "after_restore", "STAFF", "--since", clock.to_iso(backup.at))
    assert not second_factor.verify(accounts.get("lost.phone"), code)
    assert second_factor.is_on(accounts.get("lost.phone"))


def test_the_only_administrator_left_stays_enabled_and_is_named(store, back_up, capsys):
    admin("first.admin")
    backup = back_up()
    admin("second.admin")
    services.disable("first.admin", actor=COMMAND_LINE)
    backup.restore("STAFF")
    told = run(capsys, "after_restore", "STAFF", "--since", clock.to_iso(backup.at))
    assert "first.admin: still enabled, because no other administrator would be left." in told
    assert "Every session has ended." in told


@pytest.mark.parametrize("since", ["", "yesterday", "2026-11-24"])
def test_a_time_is_needed_for_accounts(store, since):
    with pytest.raises(CommandError, match="Give the day and the time"):
        call_command("after_restore", "STAFF", "--since", since)


def test_a_time_in_the_future_is_refused_and_changes_nothing(store):
    client = signed_in(member("sta.ys"))
    later = clock.to_iso(clock.now() + timedelta(minutes=1))
    with pytest.raises(CommandError, match=f"{later} is in the future"):
        call_command("after_restore", "STAFF", "--since", later)
    assert client.get("/queue/").status_code == 200


def test_the_time_is_said_in_utc(store, capsys):
    restored = clock.now() - timedelta(days=1)
    given = restored.astimezone(timezone(timedelta(hours=2))).isoformat()
    assert f"Accounts changed since {clock.to_iso(restored)}: 0." in run(
        capsys, "after_restore", "STAFF", "--since", given
    )


def test_sessions_begin_anew_in_an_empty_table(store, back_up):
    """The table of sessions is not restored: sessions that ended since would go on."""
    client = signed_in(member())
    backup = back_up()
    backup.kept["STAFF_SESSIONS"] = []
    backup.restore("STAFF_SESSIONS")
    assert client.get("/queue/").status_code == 302
    assert signed_in(accounts.get("amira.haddad")).get("/queue/").status_code == 200


def test_figures_are_made_again_from_what_is_there(store, back_up, capsys):
    put(store)
    run(capsys, "insight", "--rebuild")
    backup = back_up()
    put(store, conversation_status="failed", failure_reason="timeout")
    run(capsys, "insight", "--rebuild")
    wanted = figures(store)
    backup.restore("INSIGHT")
    assert figures(store) != wanted
    run(capsys, "insight", "--rebuild")
    assert figures(store) == wanted


def figures(store: Store) -> list[tuple[str, str, Any]]:
    return [(each["pk"], each["sk"], each["counts"]) for each in store.all("INSIGHT") if each.get("counts")]


@pytest.mark.slow
def test_work_goes_on_from_an_earlier_place_and_tells_nobody_twice(store, back_up, capsys):
    """CONSOLE has where the indexer is, what is due, and what is to be told."""
    admin()
    put(store, **WAITING)
    run(capsys, "work", "--only", "indexer", "--once")
    backup = back_up()
    perform(form("take"), ANA)
    run(capsys, "work", "--only", "indexer", "--once")
    trail = store.all("AUDIT")
    backup.restore("CONSOLE")
    run(capsys, "tables", "create")
    run(capsys, "work", "--only", "indexer", "--once")
    run(capsys, "work", "--only", "timers", "--once")
    assert store.all("AUDIT") == trail
    [item] = store.all("CONVERSATIONS")
    assert (item["hand_off_agent"], item["gsi_hand_off_queue"]) == ("ana", f"held#{COMPANY}")


@pytest.mark.parametrize("key", OWN)
def test_what_a_restored_table_lacks_is_created(store, back_up, capsys, key):
    person = admin()
    back_up().restore(key)
    run(capsys, "tables", "create")
    described = store.client.describe_time_to_live(TableName=store.name(key))["TimeToLiveDescription"]
    assert described["TimeToLiveStatus"] in (("ENABLED", "ENABLING") if TABLES[key].ttl else ("DISABLED",))
    client = signed_in(person)
    assert [client.get(path).status_code for path in ("/queue/", "/team/", "/staff/", "/insight/", "/system/")] == [
        200
    ] * 5
