"""What the hand-off reads strongly consistent, what its records say beside the result, and what it answers callers."""

import json
from datetime import timedelta

import pytest

from console import clock
from console.errors import BadReference
from console.refs import seal_data
from console.trail.actions import Result
from console.trail.recording import Actor
from conversations.handoff import (
    HandOffAction,
    LostRace,
    perform,
    reconciliation,
    release_all,
    settle,
    unseal_intent,
)
from conversations.handoff.protocol import announce_resend, close, event_key, lookup, read_raw
from conversations.handoff.stored import reason_digest
from tests import faults
from tests.store.conversations.handoff.test_resolution import left_open
from tests.support.conversations.handoff.kit import (
    ADMIN,
    ANA,
    BEN,
    CONVERSATION,
    KEY,
    WAITING,
    form,
    held_by,
    put,
    results,
    stored,
    trail,
)

A = HandOffAction
ROOT = Actor("root", "admin")
BOTH = [(KEY["primary_channel"], CONVERSATION)]


# --- Reads -----------------------------------------------------------------------------------------------------------


def act() -> None:
    perform(form(A.TAKE), ANA)


def act_twice() -> None:
    intent = form(A.TAKE)
    perform(intent, ANA)
    assert perform(intent, ANA).replayed


def lose_a_race() -> None:
    late = form(A.TAKE)
    perform(form(A.TAKE), BEN)
    with pytest.raises(LostRace):
        perform(late, ANA)


def settle_all() -> None:
    left_open()
    assert [trails for _, trails in reconciliation.pending_trails()] == [{CONVERSATION}]
    assert len(settle(CONVERSATION, older_than=timedelta(0))) == 1


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (act, {("GetItem", "CONVERSATIONS")}),
        (act_twice, {("GetItem", "CONVERSATIONS")}),
        (lose_a_race, {("GetItem", "CONVERSATIONS"), ("Query", "AUDIT")}),
        (
            settle_all,
            {("GetItem", "CONVERSATIONS"), ("GetItem", "IDEMPOTENCY"), ("Query", "AUDIT"), ("Scan", "IDEMPOTENCY")},
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_everything_that_the_protocol_rests_on_is_read_strongly_consistent(store, work, expected):
    put(store, **WAITING)
    with store.calls() as calls:
        work()
    reads = [each for each in calls if each.operation in ("GetItem", "Query", "Scan", "BatchGetItem")]
    # Names of colleagues are for the words alone.
    reads = [each for each in reads if each.tables[0] != "STAFF"]
    assert {(each.operation, each.tables[0]) for each in reads} == expected
    assert [each for each in reads if each.request.get("ConsistentRead") is not True] == []


def test_an_action_reads_what_it_needs_of_a_conversation_and_no_messages(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with store.calls() as calls:
        perform(intent, ANA)
    (read,) = [each.request for each in calls if each.operation == "GetItem"]
    assert set(read["ExpressionAttributeNames"].values()) >= {"hand_off_to_human", "hand_off_agent", "company_id"}
    assert "messages" not in read["ExpressionAttributeNames"].values()


# --- Records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "who", "expected"),
    [
        (A.TAKE_FROM_COLLEAGUE, ANA, {"reason": "ill", "held by": "ben"}),
        (A.RELEASE, ADMIN, {"reason": "ill", "held by": "ben"}),
        (A.HAND_BACK, ADMIN, {"reason": "ill", "held by": "ben"}),
        (A.RELEASE, BEN, {"reason": "ill"}),
    ],
    ids=["a colleague takes it", "an admin releases it", "an admin hands it back", "the holder releases it"],
)
def test_the_trail_says_from_whom_it_was_taken(store, action, who, expected):
    put(store, **held_by("ben"))
    perform(form(action), who, reason="ill")
    (entry,) = trail(store)
    assert json.loads(entry["action_payload_redacted"]) == expected


@pytest.mark.parametrize("reason", ["wants a person", None])
def test_what_a_service_at_work_may_write_back_is_kept_with_the_record(store, reason):
    put(store, **{"hand_off_to_human": True, "hand_off_to_human_reason": reason, "conversation_status": "processing"})
    seen = store.raw("CONVERSATIONS", **KEY)
    perform(form(A.TAKE), ANA)
    (record,) = store.all("IDEMPOTENCY")
    assert record["during_status"] == "processing"
    assert record["during_reason"] == reason_digest(CONVERSATION, seen)


def test_nothing_of_the_kind_is_kept_while_no_service_is_at_work(store):
    put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    (record,) = store.all("IDEMPOTENCY")
    assert not {"during_status", "during_reason"} & set(record)


# --- Answers ---------------------------------------------------------------------------------------------------------


def closing(store):
    """An action that is still pending, as recorded."""
    put(store, **WAITING)
    recorded = lookup(event_key(CONVERSATION, left_open().action_id))
    assert recorded is not None
    return recorded


def test_closing_answers_whether_it_was_this_result_that_was_written(store):
    recorded = closing(store)
    assert close(recorded, "conflict: ben was first", clock.now()) is True
    assert close(recorded, Result.SUCCESS, clock.now()) is False
    assert list(results(store).values()) == ["conflict: ben was first"]


def test_a_close_for_the_only_packet_is_refused_once_another_was_announced(store):
    recorded = closing(store)
    assert announce_resend(recorded, clock.now()) is not None
    assert close(recorded, "failed: x", clock.now(), only_write=True) is False
    assert list(results(store).values()) == ["pending"]
    assert close(recorded, Result.SUCCESS, clock.now()) is True


def test_a_close_for_the_only_packet_is_written_where_it_is_the_only_one(store):
    recorded = closing(store)
    assert close(recorded, "failed: x", clock.now(), only_write=True) is True
    assert list(results(store).values()) == ["failed: x"]


@pytest.mark.parametrize("gone", ["IDEMPOTENCY", "AUDIT", "both"])
def test_where_one_record_has_expired_the_other_is_closed_alone(store, gone):
    recorded = closing(store)
    (entry,) = trail(store)
    if gone in ("IDEMPOTENCY", "both"):
        store.delete("IDEMPOTENCY", event_id=recorded.event_id)
    if gone in ("AUDIT", "both"):
        store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=entry["ts_action_id"])
    assert close(recorded, Result.SUCCESS, clock.now()) is (gone != "both")
    left = [each["result"] for each in trail(store)] + [each["status"] for each in store.all("IDEMPOTENCY")]
    assert left == ([] if gone == "both" else ["success"])


def test_who_lost_to_themselves_is_told_so_however_often_the_form_is_sent(store):
    put(store, **WAITING)
    late = form(A.TAKE)
    perform(form(A.TAKE), ANA)
    for _ in range(2):
        with pytest.raises(LostRace, match="You took this conversation already"):
            perform(late, ANA)


@pytest.mark.parametrize(
    ("older_than", "note"), [(timedelta(0), "would be fenced"), (timedelta(hours=1), "still open")]
)
def test_a_dry_run_says_what_would_become_of_an_open_one(store, older_than, note):
    put(store, **WAITING)
    left_open()
    (settled,) = settle(CONVERSATION, older_than=older_than, dry_run=True)
    assert (settled.result, settled.note) == ("", note)


def test_a_fence_gives_way_to_whoever_acts_at_the_same_moment(store):
    put(store, **WAITING)
    late, quick = left_open(), form(A.TAKE)
    with faults.before("UpdateItem", lambda: perform(quick, BEN), table_key="CONVERSATIONS"):
        settled = {
            each.action_id: each.result.partition(":")[0] for each in settle(CONVERSATION, older_than=timedelta(0))
        }
    item = stored(store)
    assert (item["hand_off_action_id"], item["hand_off_agent"]) == (quick.action_id, "ben")
    assert len(settled) == 2, "the action and the fence itself"
    assert set(settled.values()) == {"failed"}
    assert late.action_id in settled
    assert results(store)[quick.action_id] == "success"


def test_what_was_read_again_after_a_refusal_holds_no_messages(store):
    put(store, **WAITING)
    raw = read_raw({name: {"S": value} for name, value in KEY.items()})
    assert raw is not None
    assert "hand_off_to_human" in raw
    assert "messages" not in raw


@pytest.mark.parametrize(
    "data",
    [
        "ana",
        {},
        [],
        ["ana"],
        ["ana", "take", 7, "", "", "", True, "", "", ""],
        ["ana", "no action", *"abcd", True, *"efg"],
    ],
    ids=["text", "object", "nothing", "short", "a number", "no action"],
)
def test_what_is_no_intent_is_none_though_it_was_sealed_here(data):
    with pytest.raises(BadReference):
        unseal_intent(seal_data("action", data), ANA)


def test_the_walk_over_pending_actions_counts_every_record_that_it_read(store):
    put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    left_open(A.RELEASE)
    assert list(reconciliation.pending_trails()) == [(2, frozenset({CONVERSATION}))]


# --- Releasing all ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lost", "released"), [(1, True), (2, True), (3, False)])
def test_a_release_that_loses_a_race_is_tried_three_times_and_then_reported(store, lost, released):
    put(store, **held_by("ana"))
    stamps = iter(range(lost))

    def somebody_acts() -> None:
        store.update("CONVERSATIONS", KEY, hand_off_action_id=f"other{next(stamps)}")

    with faults.before("UpdateItem", somebody_acts, table_key="CONVERSATIONS", times=lost) as fault:
        report = release_all("ana", ROOT, BOTH)
    assert len(fault.struck) == lost
    assert (report.released, report.failed) == ((tuple(BOTH), ()) if released else ((), tuple(BOTH)))
    assert ("hand_off_agent" in stored(store)) is not released


def test_what_the_store_refuses_is_reported_and_the_rest_released(store):
    put(store, **held_by("ana"))
    other = {**stored(store), "primary_channel": "+447700900999", "conversation_id": "second"}
    store.put("CONVERSATIONS", other)
    second = (other["primary_channel"], other["conversation_id"])
    refused = {"code": "ProvisionedThroughputExceededException", "table_key": "CONVERSATIONS"}
    with faults.refuse("UpdateItem", **refused, whole_calls=True):
        report = release_all("ana", ROOT, [*BOTH, second])
    assert (report.released, report.failed) == ((second,), tuple(BOTH))
