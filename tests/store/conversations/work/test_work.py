"""`manage.py work`: each part under its lease; one that fails ends no other; a signal ends all."""

import io
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.core.management import CommandError, call_command

from console import clock
from console.errors import StoreUnavailable
from console.store import queues
from conversations.handoff import perform
from conversations.handoff.reconciliation import Settlement, reconcile
from conversations.management.commands.work import parts_line
from conversations.receiving import handling
from conversations.receiving.recording import QUEUE, STAGE
from conversations.receiving.worker import Receiver, sweep
from conversations.timers.looking import Timers
from conversations.work.background import _recurring
from conversations.work.parts import (
    MESSAGE_SWEEP,
    PARTS,
    RECONCILE,
    RECONCILE_EVERY,
    Recurring,
    build_workers,
    message_sweep,
    reconciler,
)
from conversations.work.running import run_all, until_signal
from conversations.workers import leased
from conversations.workers.lease import LEASE, Lease
from tests import faults
from tests.store.conversations.indexer.test_worker import Clock
from tests.store.conversations.receiving.test_handling import body, left_undone, rows, said
from tests.store.conversations.receiving.test_stage import receiver, stage  # noqa: F401 (a fixture)
from tests.support.conversations.handoff.kit import ANA, CONVERSATION, WAITING, form, held_by, put, results
from tests.support.conversations.indexer.kit import indexed
from tests.support.processes import running

INSIGHT = "insight, walk of threads, walk of chats, walk of middleware, walk of tenants"
EVERYTHING = (
    "Running: indexer, timers, receiver of the hand-off queue, receiver of the stage table, message sweep, sender, "
    f"notifier, {INSIGHT}, reconcile."
)


def until(found: Callable[[], object]) -> object:
    deadline = time.monotonic() + 60
    while not (answer := found()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)
    return answer


# All of it.


def test_it_says_what_runs_and_what_is_not_configured(settings):
    settings.HANDOFF_QUEUE_URL, settings.TABLE_NAMES = "https://sqs.example/1/handoff", {}
    settings.CHANNEL_QUEUE_URLS = {}
    assert parts_line(build_workers(), is_all=True) == (
        f"Running: indexer, timers, receiver of the hand-off queue, message sweep, notifier, {INSIGHT}, reconcile. "
        "Not configured: the stage table (TABLE_CONVERSATIONS_STAGE), replies (OUTBOX_QUEUE_URL)."
    )
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": "stage-test"}
    settings.OUTBOX_QUEUE_URL = "https://sqs.example/1/outbox.fifo"
    assert parts_line(build_workers(), is_all=True) == EVERYTHING
    settings.OUTBOX_QUEUE_URL = ""
    settings.HANDOFF_QUEUE_URL, settings.TABLE_NAMES = "", {}
    assert parts_line(build_workers(), is_all=True) == (
        f"Running: indexer, timers, notifier, {INSIGHT}, reconcile. "
        "Not configured: the hand-off queue (HANDOFF_QUEUE_URL), the stage table (TABLE_CONVERSATIONS_STAGE), "
        "replies (OUTBOX_QUEUE_URL)."
    )


@pytest.mark.slow
def test_a_signal_ends_all_in_order_and_their_leases_are_given_back(store, receiver, settings):  # noqa: F811
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put(store, hand_off_to_human=True, auto_queue_reply_message=True)
    with running("work", environment=store.environment()) as process:
        # Behind its time, and before which process it is of.
        first = process.stdout.readline()
        until(lambda: (store.get("CONSOLE", pk=STAGE, sk=LEASE) or {}).get("owner"))
        stage(store, "1")
        until(lambda: rows(store))
        until(lambda: indexed(store)["waiting"])
        leases = ["INDEXER", STAGE, MESSAGE_SWEEP, RECONCILE]
        until(lambda: all((store.get("CONSOLE", pk=each, sk=LEASE) or {}).get("owner") for each in leases))
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=40)
    assert process.returncode == 0, rest
    assert (
        f"Running: indexer, timers, receiver of the stage table, message sweep, notifier, {INSIGHT}, reconcile. "
        "Not configured: the hand-off queue (HANDOFF_QUEUE_URL), replies (OUTBOX_QUEUE_URL)."
    ) in first
    assert "Ended." in rest.splitlines()[-1]
    assert not [each for each in leases if "owner" in store.get("CONSOLE", pk=each, sk=LEASE)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_another_thread_gets_ends_them_too(number):
    before = signal.getsignal(number)

    def get_it() -> None:
        got_by.append(threading.get_ident())
        signal.pthread_kill(got_by[0], number)

    got_by: list[int] = []
    with until_signal() as ended:
        threading.Timer(0.2, get_it).start()
        assert ended.wait(20)
    assert got_by != [threading.main_thread().ident]
    assert signal.getsignal(number) is before
    assert signal.set_wakeup_fd(-1) == -1


def test_other_signals_end_nothing():
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with until_signal() as ended:
            signal.raise_signal(signal.SIGUSR1)
            assert not ended.wait(0.2)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_one_part_that_fails_ends_no_other_and_is_tried_again(caplog):
    began, ended, tries, worked = threading.Event(), threading.Event(), [], []

    def failing() -> None:
        began.wait()
        tries.append(1)
        if len(tries) == 3:
            ended.set()
        raise RuntimeError("+447700900123")

    def working() -> None:
        began.set()
        ended.wait()
        worked.append(1)

    run_all({"one": failing, "other": working}, ended, pause=lambda failures: 0.01)
    assert (len(tries), worked) == (3, [1])
    assert "One failed: RuntimeError" in caplog.text
    assert "7700" not in caplog.text


def test_a_part_that_ends_too_early_is_begun_again():
    ended, tries = threading.Event(), []

    def hasty() -> None:
        tries.append(1)
        if len(tries) == 3:
            ended.set()

    run_all({"one": hasty}, ended, pause=lambda failures: 0.01)
    assert len(tries) == 3


# The parts that are due again and again.


def test_reconcile_settles_what_was_left_pending_and_says_when_it_ran(store, monkeypatch):
    monkeypatch.setattr("conversations.work.parts.reconcile", partial(reconcile, older_than=timedelta(0)))
    put(store, **WAITING)
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS"), pytest.raises(StoreUnavailable):
        perform(form("take"), ANA)
    assert "pending" in results(store).values()
    one = reconciler()
    while not one.cycle():
        pass
    assert "pending" not in results(store).values()
    assert one.counts["settled"] == 1
    assert clock.parse_instant(store.get("CONSOLE", pk=RECONCILE, sk=LEASE)["ran_at"])


def test_the_sweep_of_messages_finishes_what_was_left(store, monkeypatch):
    left_undone(store)
    later = clock.now() + timedelta(minutes=2)
    one = message_sweep()
    monkeypatch.setattr("conversations.work.parts.sweep", lambda now: sweep(later))
    while not one.cycle():
        pass
    assert said(store)[-1] == "Where is my parcel?"


def test_one_row_that_cannot_be_finished_holds_up_no_other(store, monkeypatch):
    put(store, auto_queue_reply_message=True)
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=faults.ALWAYS):
        for number in range(2):
            with pytest.raises(StoreUnavailable):
                handling.handle(body(message_sid=f"SM{number}", body=f"line {number}"), clock.now(), "queue", "d1")
    append = handling.appending.append

    def picky(row, item):
        if row.content == "line 0":
            raise StoreUnavailable
        return append(row, item)

    monkeypatch.setattr(handling.appending, "append", picky)
    later = clock.now() + timedelta(minutes=2)
    assert sweep(later) == 1
    assert said(store)[-1] == "line 1"
    monkeypatch.undo()
    # It is put off rather than tried again at once.
    assert sweep(later) == 0
    assert sweep(clock.now() + timedelta(minutes=20)) == 1
    assert sorted(said(store)[1:]) == ["line 0", "line 1"]


def test_what_ran_just_now_is_not_due(store):
    runs = []

    def steps():
        runs.append(1)
        yield Counter()
        yield Counter()

    def recurring() -> Recurring:
        return Recurring("again", "Again", timedelta(minutes=1), steps)

    one = recurring()
    assert [one.cycle() for _ in range(4)] == [0.0, 0.0, one.interval, one.interval]
    assert len(runs) == 1
    one._give_back()
    # Nor for another one, who takes over.
    other = recurring()
    assert other.cycle() == other.interval
    assert len(runs) == 1


def test_what_reads_a_whole_table_is_due_the_more_rarely_the_longer_it_takes(store):
    ticking, runs = Clock(), []

    def steps():
        runs.append(1)
        for _ in range(2):
            ticking.wait(20)
            yield Counter()

    def recurring() -> Recurring:
        options = {"now": ticking.now, "wait": ticking.wait, "reads_whole_table": True}
        return Recurring(RECONCILE, "Reconcile", timedelta(minutes=5), steps, **options)

    recurring().run(once=True)
    # It took 40 seconds: a hundredth of 4,000.
    ticking.wait(3_900)
    recurring().run(once=True)
    assert len(runs) == 1
    assert _recurring(store.get("CONSOLE", pk=RECONCILE, sk=LEASE), "", "", RECONCILE_EVERY, ticking.at).runs
    ticking.wait(100)
    recurring().run(once=True)
    assert len(runs) == 2


def test_a_run_that_failed_is_begun_again_soon(store):
    tries = []

    def steps():
        tries.append(1)
        yield Counter()
        if len(tries) == 1:
            raise StoreUnavailable

    one = Recurring("again", "Again", timedelta(minutes=1), steps)
    pauses = [one.cycle() for _ in range(4)]
    assert len(tries) == 2
    assert pauses[1] > 0
    assert store.get("CONSOLE", pk="again", sk=LEASE).get("ran_at")


# Some of them, once.


def once(*parts: str) -> str:
    """What the command says of one run of these parts."""
    out = io.StringIO()
    call_command("work", *(("--only", *parts) if parts else ()), "--once", stdout=out)
    return out.getvalue()


def test_the_receiver_once_does_both_sources_and_the_sweep(store, queue, receiver, settings):  # noqa: F811
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": store.name("CONVERSATIONS_STAGE")}
    put(store, **held_by("ana", auto_queue_reply_message=True))
    queues.send(queue, body(message_sid="Q"))
    stage(store, "S")
    assert once("receiver") == (
        "Receiver of the hand-off queue: 1 received.\n"
        "Receiver of the stage table: 1 read, 1 received.\n"
        "Message sweep: nothing.\n"
    )
    assert {row["source"] for row in rows(store)} == {"queue", "stage"}


def test_everything_once_does_what_is_due_and_gives_all_leases_back(fresh_store, settings):
    store, settings.HANDOFF_QUEUE_URL = fresh_store, ""
    put(store, hand_off_to_human=True)
    said = once()
    assert [line.partition(":")[0].lower() for line in said.splitlines()] == list(build_workers())
    assert "1 requested" in said.splitlines()[0]
    assert indexed(store)["waiting"]
    assert store.get("CONSOLE", pk="SECRET_KEY", sk="RECORD")
    leases = [each for each in store.all("CONSOLE") if each["sk"] == LEASE]
    assert len(leases) == len(build_workers())
    assert not [each for each in leases if "owner" in each]


def test_named_parts_alone_run(store):
    put(store, hand_off_to_human=True)
    assert once("timers", "notifier") == "Timers: nothing.\nNotifier: nothing.\n"
    assert indexed(store)["waiting"] == set()
    # Its policy does not reach the record of the key.
    assert store.get("CONSOLE", pk="SECRET_KEY", sk="RECORD") is None


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("everything", f"There is no part everything. The parts are {', '.join(PARTS)}."),
        ("receiver", "The receiver is not configured. Set HANDOFF_QUEUE_URL or TABLE_CONVERSATIONS_STAGE to "),
        ("sender", "The sender is not configured. Set OUTBOX_QUEUE_URL to "),
    ],
)
def test_a_part_that_cannot_run_is_refused_with_what_to_do(settings, part, words):
    settings.HANDOFF_QUEUE_URL, settings.TABLE_NAMES = "", {}
    with pytest.raises(CommandError, match=words):
        once("timers", part)


def test_a_part_that_cannot_do_everything_fails_and_the_others_do_their_work(fresh_store, monkeypatch, capsys):
    put(fresh_store, hand_off_to_human=True)
    monkeypatch.setattr("conversations.indexer.sweep.handle_item", lambda stored: 1 / 0)
    monkeypatch.setattr(Timers, "_work", lambda _: 1 / 0)
    with pytest.raises(CommandError, match=r"^Failed: indexer, timers\. The log says why\.$"):
        call_command("work", "--only", "indexer", "timers", "notifier", "--once")
    assert "Notifier: nothing." in capsys.readouterr().out


def test_reconcile_fails_if_it_cannot_settle_a_trail(store, monkeypatch):
    monkeypatch.setattr("conversations.work.parts.pending_trails", lambda: iter([(1, frozenset({CONVERSATION}))]))
    monkeypatch.setattr("conversations.work.parts.reconcile", lambda _: iter([Settlement(error="Throttled")]))
    with pytest.raises(CommandError, match="Failed: reconcile"):
        once("reconcile")


def test_a_part_says_in_the_log_which_table_it_lacks(bare_store, monkeypatch, caplog):
    monkeypatch.setattr(leased, "MOST_ERRORS", 1)
    with pytest.raises(CommandError, match="The log says why"):
        call_command("work", "--only", "timers", "--once")
    assert "could not go on: TableMissing: The table CONSOLE is missing in this environment." in caplog.text


def test_parts_may_be_separated_by_commas(store):
    out = io.StringIO()
    call_command("work", "--only", "timers,notifier", "--once", stdout=out)
    assert [line.split(":")[0] for line in out.getvalue().splitlines()] == ["Timers", "Notifier"]


def test_a_part_that_another_process_does_is_left_to_it(store, monkeypatch, caplog):
    put(store, hand_off_to_human=True)
    another = Lease("another")
    assert another.take()
    monkeypatch.setattr(leased, "STAND_BY_SECONDS", 0.01)
    with faults.before("UpdateItem", another.renew, nth=2, table_key="CONSOLE"):
        once("indexer")
    assert "Another worker is doing it." in caplog.text
    assert indexed(store)["waiting"] == set()


def test_the_receiver_of_the_queue_tells_how_it_goes(store, queue):
    put(store, **held_by("ana"))
    queues.send(queue, body())
    Receiver().run(once=True)
    noted = store.get("CONSOLE", pk=QUEUE, sk=LEASE)
    assert clock.parse_instant(noted["beat_at"])
    assert clock.parse_instant(noted["received_at"])
    assert noted["waited"] >= 0


def test_that_it_cannot_tell_is_no_reason_to_stop(store, queue):
    put(store, **held_by("ana"))
    queues.send(queue, body())
    with faults.fail_before("UpdateItem", table_key="CONSOLE", times=faults.ALWAYS):
        Receiver().run(once=True)
    assert len(rows(store)) == 1
