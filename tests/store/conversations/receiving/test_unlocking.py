"""Locks that the platform's dead workers left behind: how old they are, and when they end while people have it."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from console import clock
from console.store.calls import table_name
from conversations.handoff import HandOffAction as A
from conversations.handoff import perform
from conversations.indexer.handling import handle, handle_item
from conversations.receiving.recording import STAGE
from conversations.receiving.stage import take_fragment
from conversations.timers.looking import process_conversation
from conversations.workers.lease import write_heartbeat
from conversations.workers.streams.records import StreamChange, change_of
from tests import faults
from tests.dynamodb import to_dynamodb
from tests.items import url_of
from tests.people import member, signed_in
from tests.store.conversations.attention.test_attention import ring, set_levels
from tests.store.conversations.receiving.test_stage import fragment, take
from tests.support.conversations.handoff.kit import ANA, COMPANY, CONVERSATION, KEY, form, held_by, put, stored, trail
from tests.support.tenants.kit import Killed

LOCK = "processing_reply"
START = datetime(2026, 2, 1, 10, tzinfo=UTC)


class Time:
    """The clock of everything, which moves by hand."""

    def __init__(self) -> None:
        self.now = START

    def goes_to(self, **span: float) -> None:
        self.now = START + timedelta(**span)


@pytest.fixture(autouse=True)
def at(settings):
    settings.TABLE_NAMES = settings.TABLE_NAMES | {"CONVERSATIONS_STAGE": table_name("CONVERSATIONS_STAGE")}
    settings.HAND_OFF_ROUTING = "held"
    time = Time()
    with mock.patch.object(clock, "now", side_effect=lambda: time.now):
        yield time


def seen(store, before: dict[str, Any]) -> None:
    """Let the indexer see a change."""
    handle(StreamChange(to_dynamodb(before), to_dynamodb(stored(store)), clock.now()))


def change(store, **changes: Any) -> None:
    before = stored(store)
    store.update("CONVERSATIONS", KEY, **changes)
    seen(store, before)


def lock(store, **attributes: Any) -> None:
    """The platform's worker begins: it sets the status and nothing else."""
    put(store, updated_at="2026-01-01T09:00:00Z", **attributes)
    change(store, conversation_status=LOCK)


def taken(store) -> None:
    before = stored(store)
    perform(form(A.TAKE_OVER), ANA)
    seen(store, before)


def follows(**more: Any) -> None:
    """The receiver of the stage follows its stream now."""
    write_heartbeat(STAGE, beat_at=clock.now(), mode="stream", lag=0.0, **more)


def stage(store, sid: str = "SM1", text: str = "orders can be cancelled?", **changes: Any) -> None:
    received_at = clock.to_iso(clock.now()).removesuffix("Z")
    store.put("CONVERSATIONS_STAGE", fragment(sid, **{"body": text, "received_at": received_at, **changes}))


def staged(store) -> list[str]:
    return [row["message_sid"] for row in store.all("CONVERSATIONS_STAGE")]


def ended(store) -> list[dict[str, Any]]:
    return [each for each in trail(store) if each["action_type"] == "lock.ended"]


def status(store) -> str:
    return str(stored(store)["conversation_status"])


# --- Its age ------------------------------------------------------------------------------------------------------


def test_a_lock_on_an_old_conversation_is_not_stuck_before_its_own_time(store, at):
    lock(store)
    assert "hand_off_attention" not in stored(store)
    at.goes_to(minutes=14, seconds=59)
    ring()
    assert "hand_off_attention" not in stored(store)
    at.goes_to(minutes=15)
    ring()
    found = stored(store)
    assert (found["hand_off_attention"], found["hand_off_requested_at"]) == ("stuck", clock.to_iso(START))


def test_a_sweep_counts_from_when_it_first_saw_the_lock(store, at):
    put(store, conversation_status=LOCK, updated_at=clock.to_iso(START - timedelta(days=1)))
    for minutes in (0, 10, 20):
        at.goes_to(minutes=minutes)
        handle_item(to_dynamodb(stored(store)))
        assert ("hand_off_attention" in stored(store)) is (minutes == 20)


def test_an_old_lock_that_a_first_sweep_meets_is_history(store, at):
    put(store, conversation_status=LOCK, updated_at=clock.to_iso(START - timedelta(days=15)))
    for minutes in (0, 20):
        at.goes_to(minutes=minutes)
        handle_item(to_dynamodb(stored(store)))
    assert "hand_off_attention" not in stored(store)


def test_the_next_lock_has_an_age_of_its_own(store, at):
    lock(store, **held_by("ana"))
    at.goes_to(minutes=10)
    change(store, conversation_status="reply_sent", updated_at=clock.to_iso(clock.now()))
    at.goes_to(minutes=15)
    change(store, conversation_status=LOCK)
    stage(store)
    at.goes_to(minutes=30)
    ring()
    assert (status(store), ended(store)) == (LOCK, [])
    at.goes_to(minutes=31)
    ring()
    assert (status(store), len(ended(store))) == ("retry", 1)


def test_a_lock_that_the_indexer_has_not_seen_yet_is_never_ended_as_the_one_before(store, at):
    lock(store, **held_by("ana"))
    # The indexer lags: the worker has written its answer, and another one has just begun.
    store.update("CONVERSATIONS", KEY, updated_at=clock.to_iso(START + timedelta(minutes=15)))
    stage(store)
    at.goes_to(minutes=17)
    ring()
    assert (status(store), ended(store)) == (LOCK, [])


def test_a_record_that_comes_again_moves_nothing(store, at):
    lock(store, **held_by("ana"))
    first = StreamChange(to_dynamodb({**stored(store), "conversation_status": "x"}), to_dynamodb(stored(store)), START)
    before = stored(store)
    at.goes_to(minutes=3)
    store.update("CONVERSATIONS", KEY, updated_at=clock.to_iso(clock.now()))
    second = StreamChange(to_dynamodb(before), to_dynamodb(stored(store)), clock.now())
    for each in (second, first, second):
        handle(each)
    at.goes_to(minutes=16)
    ring()
    assert (status(store), ended(store)[0]["action_payload_redacted"].count("2026-02-01T10:00:00")) == ("retry", 1)


# --- After the worker's limit -------------------------------------------------------------------------------------


def test_the_lock_of_a_dead_worker_ends_once_its_limit_is_over(store, at):
    lock(store)
    stage(store)
    at.goes_to(minutes=1)
    taken(store)
    for minutes in range(2, 16):
        at.goes_to(minutes=minutes)
        ring()
        assert status(store) == LOCK
    at.goes_to(minutes=16)
    ring()
    ring()
    found, [entry] = stored(store), ended(store)
    assert (found["conversation_status"], found["updated_at"]) == ("retry", clock.to_iso(clock.now()))
    assert (entry["actor"], entry["result"], entry["company_id"]) == ("timer", "success", COMPANY)
    assert "2026-02-01T10:00:00.000Z" in entry["action_payload_redacted"]


def test_a_taker_of_an_old_lock_has_it_ended_within_a_minute(store, at):
    lock(store)
    stage(store)
    at.goes_to(minutes=40, seconds=30)
    taken(store)
    assert status(store) == LOCK
    at.goes_to(minutes=41)
    ring()
    assert status(store) == "retry"


def test_a_lock_stays_while_the_ai_has_the_conversation(store, at):
    lock(store)
    at.goes_to(minutes=20)
    ring()
    assert (status(store), stored(store)["hand_off_attention"]) == (LOCK, "stuck")


@pytest.mark.parametrize(("setting", "level", "ends"), [(16, 25, 25), (30, 15, 30)])
def test_the_longer_of_both_limits_counts(store, at, settings, setting, level, ends):
    settings.PLATFORM_WORKER_MINUTES = setting
    set_levels(store, stuck_after=level)
    lock(store, **held_by("ana"))
    stage(store)
    for minutes in (ends - 1, ends):
        at.goes_to(minutes=minutes)
        ring()
        assert status(store) == (LOCK if minutes < ends else "retry")


def test_a_slow_worker_keeps_its_lock_until_it_has_written(store, at):
    lock(store)
    stage(store)
    at.goes_to(minutes=11)
    taken(store)
    at.goes_to(minutes=12)
    ring()
    assert status(store) == LOCK
    written = [
        {
            "message_id": "SM1",
            "role": "user",
            "content": "orders can be cancelled?",
            "timestamp": "2026-02-01T10:12:00Z",
        },
        {"message_id": "SM2", "role": "assistant", "content": "Yes.", "timestamp": "2026-02-01T10:12:00Z"},
    ]
    changes = {"messages": [*stored(store)["messages"], *written], "updated_at": "2026-02-01T10:12:00Z"}
    change(store, conversation_status="reply_sent", **changes)
    at.goes_to(minutes=30)
    ring()
    assert (status(store), ended(store)) == ("reply_sent", [])
    page = signed_in(member("ana", scope=[COMPANY])).get(url_of(stored(store))).content.decode()
    assert "the AI answered after you took over" in page


@pytest.mark.parametrize(
    "other",
    [
        {"conversation_status": "reply_sent"},
        {"updated_at": "2026-02-01T10:16:00.001Z"},
        {"hand_off_agent": "ben"},
        {"hand_off_to_human": False},
    ],
)
def test_whoever_writes_at_that_moment_keeps_what_they_wrote(store, at, other):
    lock(store, **held_by("ana"))
    stage(store)
    at.goes_to(minutes=16)
    with faults.before("TransactWriteItems", lambda: store.update("CONVERSATIONS", KEY, **other)) as fault:
        process_conversation(to_dynamodb(KEY))
    assert fault.struck
    assert {name: stored(store)[name] for name in other} == other
    assert (status(store) != "retry", ended(store)) == (True, [])


def test_two_that_ring_at_once_leave_one_entry(store, at):
    lock(store, **held_by("ana"))
    stage(store)
    at.goes_to(minutes=16)
    with faults.before("TransactWriteItems", lambda: process_conversation(to_dynamodb(KEY))):
        process_conversation(to_dynamodb(KEY))
    assert (status(store), len(ended(store))) == ("retry", 1)


# --- What is staged -----------------------------------------------------------------------------------------------


def test_what_the_transcript_has_is_removed_from_the_stage_with_the_lock(store, at):
    lock(store, **held_by("ana"))
    stage(store)
    stage(store, "SM2", "nobody has this")
    messages = [
        *stored(store)["messages"],
        {"message_id": "SM1", "role": "user", "content": "orders can be cancelled?"},
    ]
    change(store, messages=messages)
    at.goes_to(minutes=16)
    ring()
    assert (status(store), staged(store)) == ("retry", ["SM2"])


@pytest.mark.parametrize("operation", ["Query", "DeleteItem", "TransactWriteItems"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_call_the_next_one_ends_it_with_one_entry(store, at, operation, when):
    lock(store, **held_by("ana"))
    stage(store)
    change(store, messages=[{"message_id": "SM1", "role": "user", "content": "orders can be cancelled?"}])
    at.goes_to(minutes=16)

    def die() -> None:
        raise Killed

    kill = getattr(faults, when)
    with kill(operation, die) as fault, pytest.raises(Killed):
        process_conversation(to_dynamodb(KEY))
    assert fault.struck
    process_conversation(to_dynamodb(KEY))
    assert (status(store), staged(store), len(ended(store))) == ("retry", [], 1)


# --- A trigger that found nothing -----------------------------------------------------------------------------------


def test_a_lock_with_nothing_staged_ends_after_a_minute(store, at):
    lock(store, **held_by("ana"))
    for seconds in (30, 59, 60):
        at.goes_to(seconds=seconds)
        follows()
        ring()
        assert status(store) == (LOCK if seconds < 60 else "retry")
    [entry] = ended(store)
    assert "nothing is staged for it" in entry["action_payload_redacted"]


def test_it_stays_while_anything_is_staged(store, at):
    lock(store, **held_by("ana"))
    stage(store)
    at.goes_to(minutes=2)
    follows()
    ring()
    assert status(store) == LOCK
    store.delete("CONVERSATIONS_STAGE", conversation_id=CONVERSATION, message_sid="SM1")
    at.goes_to(minutes=3)
    follows()
    ring()
    assert status(store) == "retry"


TTL = [
    {"userIdentity": {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}},
    {"userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}},
]


def removed(**more: Any) -> StreamChange:
    keys = to_dynamodb({"conversation_id": CONVERSATION, "message_sid": "SM1"})
    return change_of({"dynamodb": {"Keys": keys, "ApproximateCreationDateTime": clock.now()}, **more})


@pytest.mark.parametrize("by", TTL)
def test_it_stays_if_ttl_may_have_taken_what_a_live_worker_has_read(store, at, by):
    lock(store, **held_by("ana"))
    at.goes_to(seconds=50)
    take_fragment(removed(**by))
    for minutes in (1, 15):
        at.goes_to(minutes=minutes)
        follows()
        ring()
        assert status(store) == LOCK
    at.goes_to(minutes=16)
    ring()
    assert status(store) == "retry"


def test_what_somebody_removed_is_not_taken_for_ttl(store, at):
    lock(store, **held_by("ana"))
    take_fragment(removed())
    at.goes_to(minutes=1)
    follows()
    ring()
    assert status(store) == "retry"


@pytest.mark.parametrize(
    "receiver",
    [
        {},
        {"beat_at": START - timedelta(minutes=2), "mode": "stream"},
        {"beat_at": START + timedelta(minutes=1), "mode": ""},
        {"beat_at": START + timedelta(minutes=1), "mode": "stream", "lag": 90.0},
        {"beat_at": START + timedelta(minutes=1), "mode": "stream", "missed_at": START},
    ],
)
def test_it_stays_if_nobody_can_tell_what_ttl_took(store, at, receiver):
    lock(store, **held_by("ana"))
    at.goes_to(minutes=1)
    if receiver:
        write_heartbeat(STAGE, **receiver)
    ring()
    assert status(store) == LOCK


def test_an_empty_trigger_silences_the_customer_for_a_minute_only(store, at):
    """Written just before the take, answered by a person, and the worker's trigger then finds nothing."""
    put(store)
    at.goes_to(seconds=2)
    taken(store)
    at.goes_to(seconds=10)
    change(store, conversation_status=LOCK)
    at.goes_to(seconds=70)
    follows()
    ring()
    assert status(store) == "retry"
    take("SM2", at=clock.now(), body="are you there?", received_at=clock.to_iso(clock.now()).removesuffix("Z"))
    assert stored(store)["messages"][-1]["content"] == "are you there?"
