"""`manage.py index_handoffs`: what it says, what it does, and how it ends."""

import io
import signal
import threading
from contextlib import nullcontext

import pytest
from django.core.management import CommandError, call_command

from conversations.indexer import sweep as sweeping
from conversations.workers.beats import read_health
from tests import faults
from tests.support.conversations.handoff.kit import CONVERSATION, put
from tests.support.conversations.indexer.kit import indexed, times
from tests.support.processes import running

T1 = "2026-01-31T10:01:00.000Z"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("index_handoffs", *arguments, stdout=out)
    return out.getvalue()


def test_a_sweep_says_what_it_did(store):
    put(store, hand_off_to_human=True, updated_at=T1)
    assert run("--sweep") == "1 read, 1 repaired, 1 requests recorded.\n"
    assert run("--sweep") == "1 read.\n"
    assert times(store) == [T1]
    health = read_health()
    assert (health.ran, health.backfilled, health.mode) == (True, True, "sweep")


def test_a_sweep_that_could_not_do_everything_fails(store, monkeypatch):
    put(store, hand_off_to_human=True)
    monkeypatch.setattr(sweeping, "handle_item", lambda stored: 1 / 0)
    with pytest.raises(CommandError, match="Not everything"):
        run("--sweep")
    assert not read_health().backfilled


def test_once_does_what_is_there_and_ends(store):
    put(store, hand_off_to_human=True, updated_at=T1)
    said = run("--once")
    assert "Indexing by stream, with a sweep of the whole table first." in said
    assert "Total:" in said
    assert indexed(store)["waiting"] == {CONVERSATION}
    assert "Indexing by stream.\n" in run("--once")


def test_once_while_another_worker_is_at_it(store, monkeypatch):
    from conversations.workers import leased
    from conversations.workers.lease import Lease

    put(store, hand_off_to_human=True)
    another = Lease("another")
    assert another.take()
    monkeypatch.setattr(leased, "STAND_BY_SECONDS", 0.01)
    with faults.before("UpdateItem", another.renew, nth=2, table_key="CONSOLE"):
        assert "Another worker is doing it." in run("--once")
    assert indexed(store)["waiting"] == set()


def test_without_the_tables_of_the_trail_nothing_is_indexed(bare_store):
    bare_store.create_tables("CONVERSATIONS", "CONSOLE")
    with pytest.raises(CommandError, match="AUDIT, IDEMPOTENCY"):
        run("--once")


@pytest.mark.parametrize("interval", ["0", "x", "600"])
def test_a_senseless_interval_is_refused(store, interval):
    with pytest.raises(CommandError, match=r"from 0\.2 to 60"):
        run("--interval", interval)


@pytest.mark.slow
def test_a_signal_ends_the_worker_and_gives_the_lease_back(store):
    put(store, hand_off_to_human=True, updated_at=T1)
    with running("index_handoffs", "--interval", "0.2", environment=store.environment()) as process:
        # The second line comes when the sweep is over.
        told = [process.stdout.readline(), process.stdout.readline()]
        assert store.get("CONSOLE", pk="INDEXER", sk="LEASE")["owner"]
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0, [*told, rest]
    assert told[0].startswith("Indexing by stream")
    assert told[1].startswith("Swept the table: 1 read, 1 repaired")
    assert rest.startswith("Total:")
    assert "owner" not in store.get("CONSOLE", pk="INDEXER", sk="LEASE")
    assert indexed(store)["waiting"] == {CONVERSATION}


def test_a_worker_waits_at_its_start_for_a_database_that_does_not_answer(store, monkeypatch):
    put(store, hand_off_to_human=True, updated_at=T1)
    waited, said = [], io.StringIO()

    class Ended(threading.Event):
        """Time passes at once, and the worker is told to end when it has nothing more to do."""

        def wait(self, timeout=None):
            waited.append(timeout)
            if "Swept" in said.getvalue():
                self.set()
            return self.is_set()

    monkeypatch.setattr(
        "conversations.management.commands.index_handoffs.running", lambda *_, **__: nullcontext(Ended())
    )
    with faults.fail_before("DescribeTable", times=7):
        call_command("index_handoffs", stdout=said)
    assert said.getvalue().startswith("Waiting for the database: The database did not answer.\n")
    assert waited[0] == 1.0
    assert indexed(store)["waiting"] == {CONVERSATION}


@pytest.mark.parametrize("option", ["--once", "--sweep"])
def test_what_is_done_once_does_not_wait_for_the_database(store, option):
    with faults.fail_before("DescribeTable", times=faults.ALWAYS), pytest.raises(CommandError, match="did not answer"):
        run(option)
