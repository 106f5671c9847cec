"""`manage.py index_handoffs --sweep`: what it says, what it does, and how it ends."""

import io

import pytest
from django.core.management import CommandError, call_command

from conversations.indexer import sweep as sweeping
from conversations.workers.beats import read_health
from tests import faults
from tests.support.conversations.handoff.kit import put
from tests.support.conversations.indexer.kit import times

T1 = "2026-01-31T10:01:00.000Z"


def run() -> str:
    out = io.StringIO()
    call_command("index_handoffs", "--sweep", stdout=out)
    return out.getvalue()


def test_a_sweep_says_what_it_did(store):
    put(store, hand_off_to_human=True, updated_at=T1)
    assert run() == "1 read, 1 repaired, 1 requests recorded.\n"
    assert run() == "1 read.\n"
    assert times(store) == [T1]
    health = read_health()
    assert (health.ran, health.backfilled, health.mode) == (True, True, "sweep")


def test_a_sweep_that_could_not_do_everything_fails(store, monkeypatch):
    put(store, hand_off_to_human=True)
    monkeypatch.setattr(sweeping, "handle_item", lambda stored: 1 / 0)
    with pytest.raises(CommandError, match="Not everything"):
        run()
    assert not read_health().backfilled


def test_without_the_tables_of_the_trail_nothing_is_indexed(bare_store):
    bare_store.create_tables("CONVERSATIONS", "CONSOLE")
    with pytest.raises(CommandError, match="AUDIT, IDEMPOTENCY"):
        run()


def test_a_sweep_does_not_wait_for_the_database(store):
    with faults.fail_before("DescribeTable", times=faults.ALWAYS), pytest.raises(CommandError, match="did not answer"):
        run()


@pytest.mark.parametrize(("command", "option"), [("index_handoffs", "--sweep"), ("insight", "--rebuild")])
def test_a_command_that_once_ran_a_part_asks_for_its_option(command, option):
    with pytest.raises(CommandError, match=f"required: {option}"):
        call_command(command)
