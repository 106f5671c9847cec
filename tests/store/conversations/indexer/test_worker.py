"""The worker: one at a time, on from where it was, a sweep where something was missed, and it tells how it goes."""

from collections import Counter
from datetime import timedelta

import pytest

from console import clock
from console.errors import StoreUnavailable
from conversations.indexer import sweep as sweeping
from conversations.indexer import worker as workers
from conversations.indexer.worker import SWEEP_EVERY, Worker
from conversations.workers import lease as leases
from conversations.workers.beats import IndexerHealth, read_health
from conversations.workers.counts import WorkOutcome
from conversations.workers.leased import MOST_ERRORS, QUIET_ROUNDS
from conversations.workers.streams import following, shards
from tests import faults
from tests.support.conversations.handoff.kit import CONVERSATION, put, stored
from tests.support.conversations.indexer.kit import asks, drops, indexed, oracle, times

T1, T2, T3 = (f"2026-01-31T10:0{minute}:00.000Z" for minute in (1, 2, 3))


class Clock:
    """A clock that moves when told, or when somebody waits."""

    def __init__(self) -> None:
        self.at = clock.now()
        self.waits: list[float] = []

    def now(self):
        return self.at

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.at += timedelta(seconds=seconds)
        return False


@pytest.fixture
def ticking() -> Clock:
    return Clock()


def worker(ticking: Clock, owner: str = "") -> Worker:
    return Worker(wait=ticking.wait, now=ticking.now, owner=owner)


def rounds(one: Worker, ticking: Clock, number: int = 12) -> None:
    for _ in range(number):
        ticking.wait(one.cycle())


def lease_item(store) -> dict:
    return store.get("CONSOLE", pk="INDEXER", sk="LEASE") or {}


def begun(store, ticking: Clock) -> Worker:
    """A worker that has done all there is."""
    one = worker(ticking, "one")
    while one._quiet < QUIET_ROUNDS:
        ticking.wait(one.cycle())
    return one


def test_it_sweeps_first_and_then_follows(store, ticking):
    put(store, hand_off_to_human=True, updated_at=T1)
    one = begun(store, ticking)
    assert indexed(store) == oracle(store) == {"waiting": {CONVERSATION}, "held": set()}
    drops(store, T2)
    rounds(one, ticking)
    assert indexed(store)["waiting"] == set()
    asks(store, T3)
    rounds(one, ticking)
    assert indexed(store) == oracle(store) == {"waiting": {CONVERSATION}, "held": set()}
    assert T3 in times(store)
    assert one.counts[WorkOutcome.FAILED] == 0


def test_the_queues_index_is_complete_before_facts_are_kept(store, ticking, monkeypatch):
    put(store, hand_off_to_human=True, updated_at=T1)
    one, relied_on = worker(ticking), []
    real = sweeping.note_seen
    monkeypatch.setattr(
        sweeping, "note_seen", lambda stored: relied_on.append(read_health(ticking.now()).backfilled) or real(stored)
    )
    rounds(one, ticking)
    assert relied_on == [True]
    assert lease_item(store)["sweep_owed"] is False


def test_a_second_worker_stands_by_and_takes_over_when_the_first_dies(store, ticking):
    put(store)
    one, two = begun(store, ticking), worker(ticking, "two")
    assert two.cycle() > 0
    assert not two.lease.is_held
    asks(store, T1)
    ticking.wait(leases.LEASE_SECONDS - 1)
    two.cycle()
    assert not two.lease.is_held
    ticking.wait(1)
    rounds(two, ticking)
    assert two.lease.is_held
    assert lease_item(store)["owner"] == "two"
    assert times(store) == [T1]
    # The first was only cut off: it sees that it has lost the lease, and stands by.
    rounds(one, ticking, 3)
    assert not one.lease.is_held
    assert lease_item(store)["owner"] == "two"


def test_the_lease_is_given_back_at_the_end(store, ticking):
    put(store)
    one = Worker(wait=lambda seconds: True, now=ticking.now, owner="one")
    one.run()
    assert "owner" not in lease_item(store)
    two = worker(ticking, "two")
    two.cycle()
    assert two.lease.is_held


def test_another_goes_on_where_the_first_was(store, ticking, monkeypatch):
    put(store)
    one = begun(store, ticking)
    one.lease.give_back()
    asks(store, T1)
    seen = []
    real = workers.handle
    monkeypatch.setattr(workers, "handle", lambda change: seen.append(change) or real(change))
    two = worker(ticking, "two")
    rounds(two, ticking)
    assert next(change.new["updated_at"]["S"] for change in seen if change.new) == T1
    assert times(store) == [T1]
    # No sweep: nothing was missed.
    assert lease_item(store)["last_sweep_at"] == clock.to_iso(one._swept_at)


def test_who_was_away_for_longer_than_the_stream_keeps_sweeps_first(store, ticking):
    put(store)
    one = begun(store, ticking)
    one.lease.give_back()
    ticking.at += timedelta(hours=25)
    two = worker(ticking, "two")
    two.lease.take()
    two.lease.give_back()
    two._begin()
    assert two._sweep is not None
    # Until it has ended, no page relies on the index.
    assert not read_health(ticking.now()).backfilled
    rounds(two, ticking)
    assert read_health(ticking.now()).backfilled


def test_records_that_were_trimmed_ask_for_a_sweep(store, ticking, monkeypatch):
    put(store)
    one = begun(store, ticking)
    real, trimmed = shards.Shards._call, []

    def trim_once(self, operation, **request):
        if operation == "GetRecords" and not trimmed:
            trimmed.append(operation)
            raise shards.Trimmed
        return real(self, operation, **request)

    monkeypatch.setattr(shards.Shards, "_call", trim_once)
    store.update("CONVERSATIONS", {k: stored(store)[k] for k in ("primary_channel", "conversation_id")}, x=1)
    ticking.at += timedelta(minutes=11)
    one.lease.take()
    before = one._swept_at
    rounds(one, ticking)
    assert trimmed
    assert one._swept_at > before
    assert not one.is_failing


def test_an_iterator_that_expired_is_had_anew(store, ticking, monkeypatch):
    put(store)
    one = begun(store, ticking)
    real, expired = shards.Shards._call, []

    def expire_once(self, operation, **request):
        if operation == "GetRecords" and not expired:
            expired.append(operation)
            raise shards.IteratorExpired
        return real(self, operation, **request)

    monkeypatch.setattr(shards.Shards, "_call", expire_once)
    asks(store, T1)
    rounds(one, ticking)
    assert expired
    assert times(store) == [T1]


def test_a_store_that_does_not_answer_is_waited_for(store, ticking):
    put(store)
    one = begun(store, ticking)
    asks(store, T1)
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS", times=2):
        rounds(one, ticking)
    assert times(store) == [T1]
    assert indexed(store)["waiting"] == {CONVERSATION}
    assert one.counts[WorkOutcome.FAILED] == 0
    assert max(ticking.waits) > one.interval


def test_once_gives_up_where_the_store_does_not_answer(store, ticking):
    """A job that a timer runs every few minutes must end."""
    put(store)
    one = worker(ticking)
    with faults.fail_before("Query", table_key="CONSOLE", times=faults.ALWAYS), pytest.raises(StoreUnavailable):
        one.run(once=True)
    assert one.counts[WorkOutcome.FAILED] == MOST_ERRORS


def test_a_beginning_that_failed_is_made_again(store, ticking):
    put(store, hand_off_to_human=True, updated_at=T1)
    one = worker(ticking)
    # Where the stream was left off cannot be read.
    with faults.fail_before("Query", table_key="CONSOLE", times=faults.ALWAYS):
        rounds(one, ticking, 2)
    rounds(one, ticking)
    assert indexed(store)["waiting"] == {CONVERSATION}
    drops(store, T2)
    rounds(one, ticking)
    assert indexed(store)["waiting"] == set()
    health = read_health(ticking.now())
    assert (health.backfilled, health.mode) == (True, "stream")


def test_one_bad_record_does_not_stop_the_others(store, ticking, monkeypatch, caplog):
    put(store)
    one = begun(store, ticking)
    real = one._following.handle

    def picky(change):
        if "x_bad" in (change.new or {}):
            raise ValueError("+447700900123")
        return real(change)

    monkeypatch.setattr(one._following, "handle", picky)
    store.put("CONVERSATIONS", {**stored(store), "conversation_id": "bad", "x_bad": True})
    asks(store, T1)
    # At once: nothing of it is worth a second try.
    rounds(one, ticking, 3)
    assert times(store) == [T1]
    assert one.counts[WorkOutcome.FAILED] == 1
    assert "7700" not in caplog.text


@pytest.mark.slow
def test_a_record_that_never_succeeds_is_passed_over_and_a_sweep_is_owed(store, ticking, monkeypatch):
    put(store)
    one = begun(store, ticking)

    def never(change):
        raise StoreUnavailable

    monkeypatch.setattr(one._following, "handle", never)
    asks(store, T1)
    rounds(one, ticking, following.ROUNDS + 2)
    monkeypatch.undo()
    assert one._sweep_owed
    ticking.at += timedelta(minutes=11)
    rounds(one, ticking, 20)
    assert indexed(store)["waiting"] == {CONVERSATION}
    assert times(store) == [T1]
    assert not one.is_failing


def test_a_sweep_that_failed_in_part_is_told_and_repeated(store, ticking, monkeypatch):
    put(store, hand_off_to_human=True, updated_at=T1)
    monkeypatch.setattr(sweeping, "handle_item", lambda stored: 1 / 0)
    one = worker(ticking)
    rounds(one, ticking)
    assert one.is_failing
    assert not read_health(ticking.now()).backfilled
    monkeypatch.undo()
    ticking.at += timedelta(minutes=11)
    rounds(one, ticking)
    assert not one.is_failing
    assert read_health(ticking.now()).backfilled


def test_a_record_passed_over_while_a_sweep_ran_asks_for_another(store, ticking, monkeypatch):
    put(store)
    for number in range(3):
        store.put("CONVERSATIONS", {**stored(store), "conversation_id": f"other-{number}"})
    one = begun(store, ticking)

    def never(change):
        raise StoreUnavailable

    asks(store, T1)
    with monkeypatch.context() as patch:
        # The sweep has read the conversation before it asks, the stream does not let its record be handled.
        patch.setattr(sweeping, "PAGE", 1)
        patch.setattr(sweeping, "handle_item", lambda stored: Counter({WorkOutcome.READ: 1}))
        patch.setattr(following, "ROUNDS", 1)
        patch.setattr(one._following, "handle", never)
        one._sweep_owed = True
        ticking.at += timedelta(minutes=11)
        rounds(one, ticking)
        assert one._sweep is None
    assert one.is_failing
    assert lease_item(store)["sweep_owed"] is True
    ticking.at += timedelta(minutes=11)
    rounds(one, ticking, 20)
    assert indexed(store)["waiting"] == {CONVERSATION}
    assert not one.is_failing


def test_what_was_trimmed_before_a_sweep_asks_for_no_other(store, ticking):
    put(store)
    one = begun(store, ticking)
    one.lease.give_back()
    store.put("CONSOLE", {"pk": "INDEXER", "sk": "SHARD#gone", "arn": one._arn, "sequence": "1", "done": False})
    ticking.at += timedelta(hours=25)
    two = begun(store, ticking)
    assert not two.is_failing


def test_without_a_stream_it_sweeps_again_and_again(store, ticking, monkeypatch):
    monkeypatch.setattr("conversations.workers.leased.stream_of_table", lambda _: "")
    put(store)
    one = worker(ticking)
    rounds(one, ticking, 4)
    asks(store, T1)
    ticking.at += SWEEP_EVERY
    rounds(one, ticking, 4)
    assert times(store) == [T1]
    assert indexed(store)["waiting"] == {CONVERSATION}
    assert read_health(ticking.now()).mode == "sweep"


def test_a_stream_that_is_switched_off_and_on_is_noticed(store, ticking, monkeypatch):
    put(store)
    one = begun(store, ticking)
    with monkeypatch.context() as patch:
        patch.setattr("conversations.workers.leased.stream_of_table", lambda _: "")
        ticking.at += timedelta(minutes=2)
        asks(store, T1)
        rounds(one, ticking, 4)
        assert one.mode == "sweep"
        assert indexed(store)["waiting"] == {CONVERSATION}
    ticking.at += timedelta(minutes=2)
    rounds(one, ticking, 4)
    assert one.mode == "stream"
    assert times(store) == [T1]


def test_children_are_read_after_their_parents(monkeypatch):
    one = shards.Shards("arn", [shards.Shard("a", sequence="5")])
    listed = [{"ShardId": "b", "ParentShardId": "a"}, {"ShardId": "a"}, {"ShardId": "c", "ParentShardId": "gone"}]
    monkeypatch.setattr(shards.Shards, "_call", lambda self, *_, **__: {"StreamDescription": {"Shards": listed}})
    one.refresh()
    assert {shard.shard_id for shard in one.ready()} == {"a", "c"}
    one._shards["a"].done = True
    assert {shard.shard_id for shard in one.ready()} == {"b", "c"}
    assert not one.lost
    # A shard that was not at its end and is no longer listed took its records along.
    listed.pop()
    one.refresh()
    assert one.lost


def test_health_before_the_first_run(store):
    assert read_health() == IndexerHealth()
    assert "never run" in read_health().describe(clock.now())


def test_health_tells_how_it_goes(store, ticking):
    put(store)
    one = begun(store, ticking)
    ticking.wait(6)
    rounds(one, ticking, 2)
    health = read_health(ticking.now())
    assert (health.ran, health.backfilled, health.is_stale, health.mode) == (True, True, False, "stream")
    assert health.lag_seconds == 0
    assert health.is_reliable
    assert health.describe(ticking.now()) == "The queue's indexer is up to date."
    late = read_health(ticking.now() + timedelta(seconds=61))
    assert late.is_stale
    assert not late.is_reliable
    assert "No sign of the queue's indexer for" in late.describe(ticking.now() + timedelta(minutes=5))


def test_health_costs_one_read(store):
    with store.calls() as calls:
        read_health()
    assert [call.operation for call in calls] == ["BatchGetItem"]
