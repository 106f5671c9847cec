"""What the console has of a conversation ends when the platform deletes it."""

from datetime import timedelta

import pytest

from console import clock
from conversations.attention.timers import AT_MOST_AHEAD, set_timer
from conversations.outbox.rows import LATEST, latest_partition, partition_of
from tests.dynamodb import to_dynamodb
from tests.items import conversation, key_of
from tests.support.conversations.indexer.kit import Stream, sweep

# Partitions that are no conversation's.
KEPT = ("to place\nci-aaa-001", "to approve\nci-aaa-001", "opted out\n+44\n+45", "not placed", "decided\nx", "full")


@pytest.fixture
def item(store):
    """A conversation with a message of its own, a reply that is being sent, and its row for lists."""
    stored = conversation()
    partition = partition_of(stored["primary_channel"], stored["conversation_id"])
    later = clock.to_epoch(clock.now() + timedelta(days=30))
    store.put_all(
        "MESSAGES",
        [
            {"conversation": partition, "position": "1", "content": "the heron", "expires_at": later},
            {"conversation": partition, "position": "2", "content": "sent", "gsi_due": "send", "expires_at": later},
            {"conversation": latest_partition(partition), "position": LATEST, "content": "the heron"},
            {"conversation": partition_of("+447700900999", "other"), "position": "1", "content": "another"},
        ],
    )
    return stored


def test_messages_of_a_deleted_conversation_are_removed_within_a_day(store, item):
    store.put("CONVERSATIONS", item)
    stream = Stream()
    store.delete("CONVERSATIONS", **key_of(item))
    stream.handle_all()
    left = {each["content"]: each.get("expires_at") for each in store.all("MESSAGES")}
    assert left.keys() == {"sent", "another"}
    assert left["sent"] <= clock.to_epoch(clock.now() + timedelta(days=1))


def test_a_sweep_finds_what_the_stream_missed_and_leaves_everything_else(store, item):
    store.put_all("MESSAGES", kept := [{"conversation": each, "position": "1"} for each in KEPT])
    assert sweep().is_complete
    left = store.all("MESSAGES")
    assert [each for each in kept if each not in left] == []
    assert {each.get("content") for each in left} == {"sent", "another", None}


def test_messages_of_a_conversation_that_exists_again_stay(store, item):
    store.put("CONVERSATIONS", item)
    stream = Stream()
    store.delete("CONVERSATIONS", **key_of(item))
    store.put("CONVERSATIONS", item)
    stream.handle_all()
    assert len(store.all("MESSAGES")) == 4


def test_a_timer_far_ahead_is_looked_at_within_a_day(store):
    set_timer(to_dynamodb(key_of(conversation())), clock.now() + timedelta(days=20))
    [timer] = [each for each in store.all("CONSOLE") if each["pk"].startswith("DUE#")]
    assert clock.parse_instant(timer["sk"].partition("#")[0]) <= clock.now() + AT_MOST_AHEAD
