"""The indexer as a Lambda: records in order, partial failures reported, a heartbeat."""

import pytest

from conversations.work.lambdas import handle_conversations_stream
from conversations.workers.beats import read_health
from conversations.workers.streams import events
from tests import faults
from tests.support.conversations.handoff.kit import CONVERSATION, put
from tests.support.conversations.indexer.kit import Stream, asks, drops, indexed, times

T1, T2, T3 = (f"2026-01-31T10:0{minute}:00.000Z" for minute in (1, 2, 3))


@pytest.fixture
def stream(store) -> Stream:
    events._beat.clear()
    put(store)
    return Stream()


def event(stream: Stream) -> dict:
    return {"Records": stream.records()}


def test_it_handles_the_records_and_tells_that_it_ran(store, stream):
    asks(store, T1)
    assert handle_conversations_stream(event(stream)) == {"batchItemFailures": []}
    assert times(store) == [T1]
    assert indexed(store)["waiting"] == {CONVERSATION}
    health = read_health()
    assert (health.ran, health.mode, health.is_stale, health.backfilled) == (True, "lambda", False, False)


def test_what_may_succeed_later_is_reported_and_all_behind_it_left(store, stream):
    asks(store, T1)
    drops(store, T2)
    asks(store, T3)
    records = event(stream)
    with faults.fail_before("UpdateItem", table_key="CONVERSATIONS"):
        told = handle_conversations_stream(records)
    assert told == {"batchItemFailures": [{"itemIdentifier": records["Records"][0]["dynamodb"]["SequenceNumber"]}]}
    assert times(store) == []
    assert handle_conversations_stream(records) == {"batchItemFailures": []}
    assert times(store) == [T1, T3]


def test_what_can_never_be_handled_is_left_out(store, stream, caplog):
    asks(store, T1)
    records = event(stream)
    records["Records"].insert(
        0, {"dynamodb": {"SequenceNumber": "1", "NewImage": {"primary_channel": {"S": "+44 7700"}}}}
    )
    records["Records"].insert(0, {"nonsense": True})
    assert handle_conversations_stream(records) == {"batchItemFailures": []}
    assert times(store) == [T1]
    assert "7700" not in caplog.text


def test_the_heartbeat_is_written_every_few_seconds_at_most(store, stream):
    with store.calls() as calls:
        for _ in range(3):
            handle_conversations_stream({"Records": []})
    assert [call.tables for call in calls] == [("CONSOLE",)]


def test_a_heartbeat_that_fails_is_no_failure_of_the_records(store, stream):
    asks(store, T1)
    handle_conversations_stream(event(stream))
    events._beat.clear()
    # The company is known already: what fails is the heartbeat alone.
    with faults.fail_before("UpdateItem", table_key="CONSOLE"):
        assert handle_conversations_stream(event(stream)) == {"batchItemFailures": []}
