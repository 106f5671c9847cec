"""The order of calls of an action, what each step answers where the store does not, and what its records say."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from console import clock
from console.errors import ConsoleError, NotAccepted, NotFound, StoreUnavailable, Throttled
from console.trail.actions import Action, Result
from console.trail.recording import Actor
from conversations.handoff import HandOffAction, LostRace, perform, release_all
from conversations.handoff.protocol import (
    HandOffAct,
    RecordedAction,
    Sent,
    announce_resend,
    begin,
    close,
    event_key,
    lookup,
    record_of,
    recorded_of,
    send,
)
from conversations.handoff.service import derive_action_id, perform_as
from conversations.handoff.stored import Expression, as_seen, update_item
from conversations.models import Conversation
from tests import faults
from tests.store.conversations.handoff.test_resolution import left_open
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    CHANNEL,
    COMPANY,
    CONVERSATION,
    KEY,
    ON_CONVERSATION,
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
LOAD = READ_AGAIN = "GetItem CONVERSATIONS"
BEGIN = CLOSE = "TransactWriteItems"
WRITE, PREVIOUS = "UpdateItem CONVERSATIONS", "GetItem IDEMPOTENCY"
# The row of the partition that it enters, and the queue's revision.
ENTER = TELL = "UpdateItem CONSOLE"


def calls_of(store, work) -> list[str]:
    """The calls in their order; reads of colleagues' names are for the words alone."""
    with store.calls() as calls:
        work()
    found = [(each.operation, each.tables) for each in calls if each.tables[0] != "STAFF"]
    return [operation if operation == BEGIN else f"{operation} {tables[0]}" for operation, tables in found]


# --- Calls ------------------------------------------------------------------------------------------------------------


def test_an_action_is_a_read_and_five_writes_and_looks_at_the_one_before(store):
    put(store, **WAITING)
    first = form(A.TAKE)
    assert calls_of(store, lambda: perform(first, ANA)) == [LOAD, ENTER, BEGIN, WRITE, CLOSE, TELL]
    second = form(A.RELEASE)
    assert calls_of(store, lambda: perform(second, ANA)) == [LOAD, ENTER, BEGIN, WRITE, CLOSE, TELL, PREVIOUS]


def test_a_form_sent_again_is_found_and_does_not_write_the_conversation(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    perform(intent, ANA)
    assert calls_of(store, lambda: perform(intent, ANA)) == [LOAD, ENTER, BEGIN, READ_AGAIN]


def test_a_lost_answer_is_found_on_the_item(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.fail_after(**ON_CONVERSATION):
        assert calls_of(store, lambda: perform(intent, ANA)) == [LOAD, ENTER, BEGIN, WRITE, READ_AGAIN, CLOSE, TELL]


def test_where_nobody_acted_the_trail_is_not_read(store):
    put(store, **WAITING)
    intent = form(A.TAKE)

    def work() -> None:
        with faults.fail_before(**ON_CONVERSATION), pytest.raises(StoreUnavailable, match="may have worked") as error:
            perform(intent, ANA)
        assert isinstance(error.value.__cause__, StoreUnavailable)

    assert calls_of(store, work) == [LOAD, ENTER, BEGIN, WRITE, READ_AGAIN]


def test_without_any_answer_nothing_further_is_asked(store):
    put(store, **WAITING)
    intent = form(A.TAKE)

    def work() -> None:
        unread = faults.fail_before("GetItem", table_key="CONVERSATIONS", nth=2, times=faults.ALWAYS)
        with faults.fail_before(**ON_CONVERSATION), unread, pytest.raises(StoreUnavailable, match="may have worked"):
            perform(intent, ANA)

    assert calls_of(store, work) == [LOAD, ENTER, BEGIN, WRITE, READ_AGAIN]
    assert results(store) == {intent.action_id: "pending"}


def test_a_rate_limit_is_told_though_nothing_could_be_read(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    busy = faults.refuse(**ON_CONVERSATION, code="ProvisionedThroughputExceededException", times=faults.ALWAYS)
    unread = faults.fail_before("GetItem", table_key="CONVERSATIONS", nth=2, times=faults.ALWAYS)
    with busy, unread, pytest.raises(Throttled):
        perform(intent, ANA)


def test_a_trail_that_cannot_be_read_leaves_the_outcome_unknown(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with (
        faults.before(**ON_CONVERSATION, do=lambda: perform(form(A.TAKE), BEN)),
        faults.refuse("Query", table_key="AUDIT", code="ProvisionedThroughputExceededException", times=faults.ALWAYS),
        pytest.raises(StoreUnavailable, match="may have worked"),
    ):
        perform(intent, ANA)
    assert results(store)[intent.action_id] == "pending"


# --- Sending ----------------------------------------------------------------------------------------------------------


def an_update(flag: bool = True) -> dict[str, Any]:
    return update_item(CHANNEL, CONVERSATION, Expression({"x": {"S": "y"}}), as_seen(flag, "", "", {}))


def test_what_was_written_is_answered(store):
    put(store, **WAITING)
    sent = send(an_update())
    assert (sent.accepted, sent.only_write, sent.error) == (True, False, None)
    assert sent.item is not None
    assert sent.item["x"] == {"S": "y"}


def test_a_refusal_brings_the_item_along(store):
    put(store, **WAITING)
    with store.calls() as calls:
        sent = send(an_update(flag=False))
    assert [each.operation for each in calls] == ["UpdateItem"]
    assert (sent.accepted, sent.only_write) == (False, True)
    assert sent.item is not None
    assert sent.item["conversation_id"] == {"S": CONVERSATION}


def test_what_the_store_does_not_accept_is_read_to_know_how_it_stands(store):
    put(store, **WAITING)
    with faults.refuse(**ON_CONVERSATION, code="ValidationException"):
        sent = send(an_update())
    assert (sent.accepted, isinstance(sent.error, NotAccepted)) == (False, True)
    assert sent.item is not None
    assert sent.item["hand_off_to_human"] == {"BOOL": True}


def test_a_refusal_that_cannot_be_looked_into_is_unknown(store):
    put(store, **WAITING)
    unread = faults.fail_before("GetItem", table_key="CONVERSATIONS")
    with faults.refuse(**ON_CONVERSATION, code="ValidationException"), unread:
        sent = send(an_update())
    assert sent == Sent(None, None, error=sent.error)
    assert type(sent.error) is StoreUnavailable


# --- Recording --------------------------------------------------------------------------------------------------------


def act(**changes: Any) -> HandOffAct:
    made = HandOffAct(
        Action.HAND_OFF_TAKE, Actor("ana", "agent"), CHANNEL, CONVERSATION, COMPANY, "mine", "before", {"a": 1, "b": 2}
    )
    return replace(made, **changes)


# Refused for the sake of the record, which is not in the answer.
CANCELLED = {
    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "message": "cancelled",
    "CancellationReasons": [{"Code": "ConditionalCheckFailed"}, {"Code": "None"}],
}


def test_a_refusal_that_does_not_bring_the_record_along_has_it_read(store):
    at = clock.now()
    first, is_new = begin(act(), at)
    assert is_new
    with faults.answer("TransactWriteItems", body=CANCELLED, status=400):
        assert begin(act(), at) == (first, False)


def test_a_refusal_without_any_record_changes_nothing(store):
    refused = faults.answer("TransactWriteItems", body=CANCELLED, status=400)
    with refused, pytest.raises(StoreUnavailable, match="nothing was changed"):
        begin(act(), clock.now())


AT = datetime(2026, 2, 1, 10, tzinfo=UTC)


def record(**changes: Any) -> dict[str, Any]:
    made = act(**changes)
    return record_of(made, made.entry(AT, Result.PENDING), AT).serialize()


def test_a_record_says_when_it_was_worked_on_and_how_much_was_sent():
    raw = record()
    now = {"S": "2026-02-01T10:00:00.000Z"}
    assert {name: raw[name] for name in ("created_at", "received_at", "last_processed_at")} == dict.fromkeys(
        ("created_at", "received_at", "last_processed_at"), now
    )
    assert raw["attempts"] == {"N": "1"}


@pytest.mark.parametrize(
    "changes",
    [
        {"action": Action.HAND_OFF_RELEASE},
        {"actor": Actor("ben", "agent")},
        {"conversation_id": "another"},
        {"action_id": "another"},
        {"seen": {"a": 1, "b": 3}},
    ],
)
def test_the_hash_of_a_record_is_of_all_that_was_asked(changes):
    assert record(**changes)["payload_sha256"] != record()["payload_sha256"]


def test_a_record_of_which_little_is_known_is_one_all_the_same():
    assert recorded_of({"event_id": {"S": "x"}}) == RecordedAction("x", "", "", "", 0, "", False)


def test_a_write_of_what_is_closed_is_not_announced(store):
    recorded, _ = begin(act(), AT)
    assert close(recorded, Result.SUCCESS, AT + timedelta(seconds=5))
    raw = store.get("IDEMPOTENCY", event_id=recorded.event_id)
    assert announce_resend(recorded, AT + timedelta(minutes=1)) is None
    assert store.get("IDEMPOTENCY", event_id=recorded.event_id) == raw
    assert (raw["last_processed_at"], raw["attempts"]) == ("2026-02-01T10:00:05.000Z", 1)


def test_a_record_whose_entry_was_closed_otherwise_is_left_as_it_is(store):
    recorded, _ = begin(act(), AT)
    entry = {"conversation_id": CONVERSATION, "ts_action_id": recorded.sort_key}
    store.update("AUDIT", entry, result="unknown")
    assert close(recorded, Result.SUCCESS, AT) is False
    assert store.get("IDEMPOTENCY", event_id=recorded.event_id)["status"] == "pending"


def test_a_close_for_the_only_write_closes_both_records_or_none(store):
    recorded, _ = begin(act(), AT)
    store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=recorded.sort_key)
    assert close(recorded, "failed: x", AT, only_write=True) is False
    assert store.get("IDEMPOTENCY", event_id=recorded.event_id)["status"] == "pending"


def test_where_only_the_record_is_left_and_is_closed_nothing_is_written(store):
    recorded, _ = begin(act(), AT)
    assert close(recorded, "failed: x", AT)
    store.delete("AUDIT", conversation_id=CONVERSATION, ts_action_id=recorded.sort_key)
    assert close(recorded, Result.SUCCESS, AT) is False
    assert store.get("IDEMPOTENCY", event_id=recorded.event_id)["status"] == "failed"


# --- A form sent again while its first submission ends ----------------------------------------------------------------

ANNOUNCE = {"operation": "UpdateItem", "table_key": "IDEMPOTENCY"}


def test_it_is_done_where_the_first_submission_was_closed_as_done_meanwhile(store):
    put(store, **WAITING)
    intent = left_open()
    recorded = lookup(event_key(CONVERSATION, intent.action_id))
    assert recorded is not None
    with faults.before(**ANNOUNCE, do=lambda: close(recorded, Result.SUCCESS, clock.now())):
        assert perform(intent, ANA).replayed


def test_it_is_done_even_where_the_conversation_went_after_that(store):
    put(store, **WAITING)
    intent = left_open()
    recorded = lookup(event_key(CONVERSATION, intent.action_id))
    assert recorded is not None

    def end() -> None:
        assert close(recorded, Result.SUCCESS, clock.now())
        store.delete("CONVERSATIONS", **KEY)

    with faults.before(**ON_CONVERSATION, do=end):
        assert perform(intent, ANA).replayed
    assert store.all("CONVERSATIONS") == []


@pytest.mark.parametrize("ends", ["fails", "expires"])
def test_it_is_lost_where_the_first_submission_ended_otherwise(store, ends):
    put(store, **WAITING)
    intent = left_open()
    recorded = lookup(event_key(CONVERSATION, intent.action_id))
    assert recorded is not None

    def end() -> None:
        perform(form(A.TAKE), BEN)
        if ends == "fails":
            assert close(recorded, "failed: x", clock.now())
        else:
            store.delete("IDEMPOTENCY", event_id=recorded.event_id)

    with faults.before(**ANNOUNCE, do=end), pytest.raises(LostRace, match="ben took this conversation first"):
        perform(intent, ANA)


def test_it_is_not_found_where_the_conversation_has_gone_meanwhile(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    perform(intent, ANA)
    with (
        faults.after("TransactWriteItems", lambda: store.delete("CONVERSATIONS", **KEY)),
        pytest.raises(NotFound),
    ):
        perform(intent, ANA)


def test_a_loss_is_told_in_the_persons_time_zone_each_time(store):
    put(store, **WAITING)
    tokyo = replace(ANA, time_zone="Asia/Tokyo")
    intent = form(A.TAKE)
    perform(form(A.TAKE), BEN)
    for _ in range(2):
        with pytest.raises(LostRace, match=r"ben took this conversation first at \d\d:\d\d on .* \(JST\)"):
            perform(intent, tokyo)


# --- Services, and all that a person holds ----------------------------------------------------------------------------


def test_a_service_loses_to_a_username_and_not_to_itself(store):
    put(store, **WAITING)
    item = Conversation.get(CHANNEL, CONVERSATION, consistent_read=True)
    intent = form(A.HAND_BACK)
    perform(form(A.TAKE), BEN)
    with pytest.raises(LostRace) as error:
        perform_as(Actor("ben", "service"), intent, item, reason="")
    assert str(error.value).startswith("ben took this conversation first at ")


def test_what_was_overridden_is_left_with_the_ai_when_all_is_released(store):
    put(store, **held_by("ana", hand_off_to_human=False))
    report = release_all("ana", ROOT, [(CHANNEL, CONVERSATION)])
    assert report.released == ((CHANNEL, CONVERSATION),)
    assert [entry["action_type"] for entry in trail(store)] == ["hand_off.acknowledge"]
    assert "hand_off_agent" not in stored(store)


def test_what_is_gone_or_nobodys_is_passed_over_when_all_is_released(store):
    put(store, **held_by("ana"))
    gone = (CHANNEL, "gone")
    other = {**stored(store), "conversation_id": "other", "hand_off_agent": "ben"}
    store.put("CONVERSATIONS", other)
    held = [(CHANNEL, CONVERSATION), gone, (CHANNEL, "other")]
    report = release_all("ana", ROOT, held)
    assert (report.released, report.failed, report.routing_left) == (((CHANNEL, CONVERSATION),), (), 0)


def test_the_routing_that_was_left_is_counted_when_all_is_released(store, settings):
    settings.HAND_OFF_ROUTING = "held"
    settings.HANDOFF_QUEUE_URL = "https://sqs.example/handoff"
    held = held_by("ana", auto_queue_reply_message=False, hand_off_routing_before=[True])
    put(store, **held)
    store.put("CONVERSATIONS", {**stored(store), "conversation_id": "second"})
    report = release_all("ana", ROOT, [(CHANNEL, CONVERSATION), (CHANNEL, "second")])
    assert (len(report.released), report.routing_left) == (2, 2)


def test_who_takes_it_has_left_no_routing(store, settings):
    settings.HAND_OFF_ROUTING = "held"
    settings.HANDOFF_QUEUE_URL = "https://sqs.example/handoff"
    put(store, **WAITING, auto_queue_reply_message=False, hand_off_routing_before=[True])
    assert perform(form(A.TAKE), ANA).routing_left is False


def test_texts_may_be_as_long_as_they_may_be(store):
    put(store, **WAITING)
    perform(form(A.TAKE), ANA, note="n" * 2000)
    perform(form(A.RELEASE), ANA, reason="r" * 2000)
    assert stored(store)["hand_off_note"] == "n" * 2000
    with pytest.raises(ConsoleError, match="1 too many: a reason or note can have up to 2,000 characters"):
        perform(form(A.TAKE), ANA, note="n" * 2001)


def test_a_receiver_that_is_no_text_of_the_store_has_an_id_too():
    made = derive_action_id("0123456789", "\ud800")
    assert len(made) == 10
    assert made != derive_action_id("0123456789", "ben")
