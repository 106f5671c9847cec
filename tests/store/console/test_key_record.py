"""A SECRET_KEY that is not the one this installation began with is noticed at once, and says how to go on."""

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.test import Client

from console.key_record import accept_key, note_key, record_key, seal_again
from conversations.timers.looking import TIMERS
from conversations.workers.lease import read_heartbeats
from tests import faults
from tests.answers import body_of
from tests.people import admin, signed_in

OTHER = "pQ7_vd3mLx9Zt2Rk-8WcYhB5NfUe0SgJa4TiXo6KqCt1MnRw"


def ready() -> tuple[int, str]:
    answer = Client().get("/readyz")
    return answer.status_code, answer.content.decode().strip()


def checked() -> None:
    call_command("check", "--database", "default")


def shown() -> str:
    return body_of(signed_in(admin()).get("/system/")).decode()


def test_another_key_is_noticed_by_the_probe_the_check_and_the_system_page(store, settings):
    assert "No key is recorded yet." in shown()
    call_command("tables", "create")
    assert ready() == (200, "ready")
    checked()
    assert "SECRET_KEY is the one that this installation began with." in shown()
    settings.SECRET_KEY = OTHER
    # A second start records nothing over it.
    record_key()
    assert ready() == (503, "not ready: another SECRET_KEY")
    with pytest.raises(SystemCheckError, match=r"console\.E019"):
        checked()
    assert "is not the key that this installation began with" in shown()


def test_a_key_among_the_fallbacks_is_known_until_the_record_is_sealed_again(store, settings):
    record_key()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OTHER, [settings.SECRET_KEY]
    assert ready()[0] == 200
    assert (seal_again(), seal_again()) == (True, False)
    settings.SECRET_KEY_FALLBACKS = []
    assert ready()[0] == 200


def test_a_new_key_without_the_old_one_is_taken_on_demand_only(store, settings, capsys):
    record_key()
    settings.SECRET_KEY = OTHER
    call_command("seal_again", "--accept-key")
    assert "Record of the key: 1 current" in capsys.readouterr().out
    assert ready()[0] == 200


def test_the_background_work_records_the_first_key_and_logs_another(store, settings, caplog):
    assert note_key()
    assert note_key()
    assert ready() == (200, "ready")
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
    settings.SECRET_KEY = OTHER
    assert not note_key()
    assert "is not the key that this installation began with" in caplog.text
    with faults.fail_before("PutItem", times=faults.ALWAYS):
        assert note_key()
    assert "could not be read: StoreUnavailable" in caplog.text


def test_the_background_work_does_not_start_with_another_key(store, settings):
    record_key()
    settings.SECRET_KEY = OTHER
    with pytest.raises(CommandError, match="Nothing was started"):
        call_command("work", "--once")
    assert not read_heartbeats([TIMERS])[TIMERS]


def test_the_check_reads_nothing_unless_asked_and_says_when_it_could_not(store, capsys):
    accept_key()
    with faults.fail_before("GetItem", times=faults.ALWAYS):
        call_command("check")
        checked()
    assert "console.W004" in capsys.readouterr().err


def test_before_there_are_tables_the_check_finds_nothing_wrong(bare_store):
    checked()
