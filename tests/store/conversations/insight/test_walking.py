"""The workers that walk over the other stores: page by page, on from where another was, and nothing twice."""

from collections import Counter
from functools import partial

import pytest
from django.core.management import call_command

from console import clock
from console.errors import StoreUnavailable
from conversations.insight import sources, walking
from conversations.insight.facts import FactKind
from conversations.insight.walking import FactWalker, lease_name, walk_all
from conversations.workers import leased
from conversations.workers.leased import retry_while_unavailable
from tests import faults
from tests.items import event as mw_event
from tests.store.conversations.indexer.test_worker import Clock
from tests.support.conversations.handoff.kit import conversation
from tests.support.conversations.insight.kit import stored_facts
from tests.support.conversations.stores.chats.kit import ago, event, session
from tests.support.conversations.stores.tenant_conversations.kit import item
from tests.support.conversations.stores.threads.kit import message

THREADS = FactKind.THREADS


@pytest.fixture
def ticking() -> Clock:
    return Clock()


def walker(ticking: Clock, kind: FactKind = THREADS, owner: str = "one", say=lambda _: None) -> FactWalker:
    return FactWalker(kind, wait=ticking.wait, now=ticking.now, owner=owner, say=say)


def rounds(one: FactWalker, ticking: Clock, number: int = 6) -> None:
    for _ in range(number):
        ticking.wait(one.cycle())


def lease(store, kind: FactKind = THREADS) -> dict:
    return store.get("CONSOLE", pk=lease_name(kind), sk="LEASE") or {}


def scans(seen) -> int:
    return sum(each.operation == "Scan" for each in seen)


def some_threads(store, number: int = 5) -> None:
    store.put_all("THREADS", [message("MSG", "q", PK=f"org#user#thread-{each}") for each in range(number)])


def test_it_reads_a_page_each_round_with_rests_and_then_waits_for_hours(store, ticking, monkeypatch, settings):
    monkeypatch.setattr(walking, "PAGE", 2)
    some_threads(store)
    one = walker(ticking)
    with store.calls() as seen:
        rounds(one, ticking, 8)
    assert (scans(seen), one.counts["read"], one.counts["counted"]) == (3, 5, 5)
    assert set(ticking.waits) == {1.0}
    assert len(stored_facts(store, THREADS)) == 5
    assert clock.parse_instant(lease(store)["ran_at"]) is not None
    settings.INSIGHT_WALK_HOURS = 2
    ticking.wait(3600)
    with store.calls() as seen:
        rounds(one, ticking)
    assert scans(seen) == 0
    ticking.wait(3700)
    with store.calls() as seen:
        rounds(one, ticking)
    assert scans(seen) == 3


def test_who_walks_once_reads_all_that_is_due_with_rests_and_ends(store, ticking, monkeypatch):
    monkeypatch.setattr(walking, "PAGE", 2)
    some_threads(store)
    one = walker(ticking)
    with store.calls() as seen:
        one.run(once=True)
    assert (scans(seen), one.counts["read"]) == (3, 5)
    # A rest after each page but the last, and none in order to end.
    assert [each for each in ticking.waits if each] == [1.0, 1.0]
    with store.calls() as seen:
        one.run(once=True)
    assert scans(seen) == 0


def test_what_has_not_changed_is_not_read_again(store, ticking):
    some_threads(store)
    one = walker(ticking)
    rounds(one, ticking)
    store.put("THREADS", message("LLM", "a", PK="org#user#thread-3", verso="up"))
    ticking.wait(7 * 3600)
    with store.calls() as seen:
        rounds(one, ticking)
    assert sum(each.operation == "Query" for each in seen) == 1
    assert one.counts["counted"] == 6


def test_another_worker_goes_on_where_one_ended(store, ticking, monkeypatch):
    monkeypatch.setattr(walking, "PAGE", 2)
    some_threads(store)
    first = walker(ticking, owner="first")
    rounds(first, ticking, 1)
    place = lease(store)["place"]
    assert "thread-" not in place
    first._give_back()
    second = walker(ticking, owner="second")
    rounds(second, ticking, 4)
    assert first.counts["read"] + second.counts["read"] == 5
    assert "place" not in lease(store) or second._table is None


@pytest.mark.parametrize("place", ["no seal", 5, ""])
def test_a_place_that_cannot_be_opened_is_the_beginning(store, ticking, place):
    some_threads(store)
    store.put("CONSOLE", {"pk": lease_name(THREADS), "sk": "LEASE", "epoch": 1, "place": place})
    one = walker(ticking)
    rounds(one, ticking)
    assert one.counts["read"] == 5


def test_a_page_that_could_not_be_handled_is_read_again(store, ticking):
    some_threads(store)
    one = walker(ticking)
    with faults.fail_before("PutItem", table_key="INSIGHT", nth=4, times=1):
        rounds(one, ticking)
    assert len(stored_facts(store, THREADS)) == 5
    assert one.counts["failed"] == 1


def test_one_that_fails_keeps_no_other_and_is_tried_again_next_time(store, ticking, monkeypatch, caplog):
    some_threads(store)
    keep = sources.write_facts

    def failing(subject, *, again=False):
        if subject.key.thread_id == "thread-2":
            raise ValueError("+447700900123")
        return keep(subject, again=again)

    monkeypatch.setattr(walking, "write_facts", failing)
    one = walker(ticking)
    rounds(one, ticking)
    assert (one.counts["counted"], one.counts["failed"]) == (4, 1)
    assert "The facts of a thread could not be written: ValueError" in caplog.text
    assert "447700900123" not in caplog.text
    monkeypatch.setattr(walking, "write_facts", keep)
    ticking.wait(7 * 3600)
    rounds(one, ticking)
    assert one.counts["counted"] == 5


def test_sessions_are_looked_at_each_hour_and_chats_are_not(store, ticking):
    begun = ago(minutes=5)
    store.put("SESSIONS", session(begun))
    store.put("CHATS", event(begun, begun + 1))
    one = walker(ticking, FactKind.CHATS)
    rounds(one, ticking)
    ticking.wait(3700)
    with store.calls() as seen:
        rounds(one, ticking)
    assert [each.tables for each in seen if each.operation == "Scan"] == [("SESSIONS",)]


def test_a_table_that_is_not_there_is_said_once_and_the_others_are_read(bare_store, ticking):
    bare_store.create_tables("INSIGHT", "CONSOLE", "IDEMPOTENCY")
    said: list[str] = []
    one = walker(ticking, FactKind.MIDDLEWARE, say=said.append)
    rounds(one, ticking, 12)
    assert [line.split()[1] for line in said] == ["AUDIT", "CONVERSATION_STATE"]
    assert lease(bare_store, FactKind.MIDDLEWARE)["ran_at"]


def test_without_the_table_of_facts_it_reads_nothing(bare_store, ticking):
    bare_store.create_tables("CONSOLE", "THREADS")
    some_threads(bare_store)
    with bare_store.calls() as seen:
        rounds(walker(ticking), ticking)
    assert scans(seen) == 0


@pytest.mark.slow
def test_the_command_writes_all_anew_and_sums_up(store, capsys):
    some_threads(store)
    store.put("CHATS", event(ago(hours=1), ago(minutes=50)))
    store.put("TENANT_CONVERSATIONS", item(messages=[{"role": "user"}]))
    store.put("IDEMPOTENCY", mw_event(clock.now(), event_id="evt:rp:c:1", conversation_id="c"))
    call_command("insight", "--rebuild", verbosity=0)
    told = capsys.readouterr().out
    for line in (
        "Threads: 5 read, 5 changed.",
        "Chats: 1 read, 1 changed.",
        "The middleware's records: 1 read, 1 changed.",
        "Tenants' conversations: 1 read, 1 changed.",
    ):
        assert line in told
    call_command("insight", "--rebuild", verbosity=0)
    assert "Threads: 5 read, 0 changed." in capsys.readouterr().out
    assert [each["pk"] for each in store.all("INSIGHT") if each["pk"].startswith("SUMS#threads#org#usage")]


REBUILDS = {"conversations": partial(walk_all, FactKind.CONVERSATIONS), "threads": partial(walk_all, THREADS)}


def _some_of_each(store) -> None:
    some_threads(store)
    store.put_all("CONVERSATIONS", [conversation(conversation_id=f"c{each}") for each in range(5)])


@pytest.mark.parametrize("of", list(REBUILDS))
@pytest.mark.parametrize("operation", ["Scan", "PutItem"])
def test_rebuilding_goes_on_where_the_database_did_not_answer(store, monkeypatch, of, operation):
    monkeypatch.setattr(walking, "PAGE", 2)
    _some_of_each(store)
    waited: list[float] = []
    trying = partial(retry_while_unavailable, wait=waited.append)
    with store.calls() as seen, faults.fail_before(operation, nth=2, times=3):
        done = sum(REBUILDS[of](trying), Counter())
    assert (done["read"], done["failed"]) == (5, 0)
    # Three pages; of reads that are not answered each is one more. Writes of a page are made at once.
    assert scans(seen) == (6 if operation == "Scan" else 3)
    assert waited == [1, 2, 4] if operation == "Scan" else waited[0] == 1
    assert sum(REBUILDS[of](), Counter())["counted"] == 0


@pytest.mark.parametrize("of", list(REBUILDS))
def test_rebuilding_gives_up_where_the_database_does_not_answer_for_half_a_minute(store, of):
    _some_of_each(store)
    waited: list[float] = []
    with faults.fail_before("Scan", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        list(REBUILDS[of](partial(retry_while_unavailable, wait=waited.append)))
    assert waited == [1, 2, 4, 8, 16]


def test_the_command_goes_on_too(store, capsys, monkeypatch):
    some_threads(store)
    waited: list[float] = []
    monkeypatch.setattr(leased.time, "sleep", waited.append)
    with faults.fail_before("Scan", table_key="THREADS", times=2):
        call_command("insight", "--rebuild", verbosity=0)
    assert "Threads: 5 read, 5 changed." in capsys.readouterr().out
    assert waited == [1, 2]
