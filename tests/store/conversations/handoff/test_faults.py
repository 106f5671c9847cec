"""Lost answers, repeated forms, late packets: the truth is stored, and people are told no more than is known."""

from contextlib import ExitStack, suppress
from datetime import timedelta

import pytest
from botocore.exceptions import ReadTimeoutError

from console import clock
from console.errors import ConsoleError, NotAccepted, NotFound, StoreUnavailable, Throttled
from conversations.handoff import HandOffAction, LostRace, perform, settle
from tests import faults
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    CONVERSATION,
    KEY,
    ON_CONVERSATION,
    WAITING,
    foreign,
    form,
    held_by,
    put,
    results,
    stored,
    trail,
)

A = HandOffAction
LATER = timedelta(minutes=11)


def flips(store, intent):
    return stored(store).get("hand_off_action_id") == intent.action_id


# --- the same form again -----------------------------------------------------------------------------------------


def test_the_same_form_twice_and_eleven_minutes_later_is_one_flip_and_one_entry(store, eleven_minutes_later):
    put(store, **WAITING)
    intent = form(A.TAKE)
    first = perform(intent, ANA)
    after = stored(store)
    second = perform(intent, ANA)
    eleven_minutes_later()
    assert settle(CONVERSATION) == []
    third = perform(intent, ANA)
    assert [first.replayed, second.replayed, third.replayed] == [False, True, True]
    assert second.hand_off == third.hand_off == first.hand_off
    assert second.action is third.action is A.TAKE
    assert stored(store) == after
    assert results(store) == {intent.action_id: "success"}


def test_a_repeated_form_does_not_undo_what_came_after_it(store):
    put(store, **WAITING)
    take = form(A.TAKE)
    perform(take, ANA)
    perform(form(A.HAND_BACK), ANA)
    after = stored(store)
    outcome = perform(take, ANA)
    assert outcome.replayed
    assert outcome.hand_off.agent == ""
    assert stored(store) == after
    assert len(trail(store)) == 2


def test_a_form_that_lost_loses_again(store):
    put(store, **WAITING)
    take = form(A.TAKE)
    perform(form(A.TAKE), BEN)
    for _ in range(2):
        with pytest.raises(LostRace, match="ben took this conversation first"):
            perform(take, ANA)
    assert len(trail(store)) == 2


def test_a_repeated_form_whose_conversation_is_gone(store):
    put(store, **WAITING)
    take = form(A.TAKE)
    perform(take, ANA)
    store.delete("CONVERSATIONS", **KEY)
    with pytest.raises(NotFound):
        perform(take, ANA)
    assert store.all("CONVERSATIONS") == []


# --- answers lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("retried", [False, True], ids=["lost", "sent again by the client"])
def test_answer_lost_after_the_write_is_success(store, retried):
    before = put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.fail_after(**ON_CONVERSATION, retried=retried) as fault:
        outcome = perform(intent, ANA)
    assert len(fault.struck) == 1
    assert outcome.hand_off.agent == "ana"
    assert flips(store, intent)
    assert foreign(stored(store)) == foreign(before)
    assert results(store) == {intent.action_id: "success"}


@pytest.mark.parametrize("retried", [False, True], ids=["lost", "sent again by the client"])
def test_answer_lost_and_a_colleague_already_acted_on_top(store, retried):
    """The stamp is another's, and yet it took effect: the successor names it."""
    put(store, **WAITING)
    intent = form(A.TAKE)

    def steal_and_lose_the_answer():
        perform(form(A.TAKE_FROM_COLLEAGUE), BEN, reason="urgent")
        raise ReadTimeoutError(endpoint_url="") if retried else faults.Lost()

    with faults.after(**ON_CONVERSATION, do=steal_and_lose_the_answer):
        outcome = perform(intent, ANA)
    assert outcome.hand_off.agent == "ben"
    assert set(results(store).values()) == {"success"}
    assert len(trail(store)) == 2


def test_no_answer_and_no_write_says_that_it_may_have_happened(store, eleven_minutes_later):
    before = put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.fail_before(**ON_CONVERSATION), pytest.raises(StoreUnavailable, match="may have worked"):
        perform(intent, ANA)
    assert stored(store) == before
    assert results(store) == {intent.action_id: "pending"}
    # The same form, sent again, goes on where it stood.
    assert perform(intent, ANA).hand_off.agent == "ana"
    assert results(store) == {intent.action_id: "success"}


def test_no_answer_but_a_colleague_was_first_is_a_conflict(store):
    put(store, **WAITING)
    intent = form(A.TAKE)

    def overtake_and_lose_the_connection():
        perform(form(A.TAKE), BEN)
        raise faults.Lost

    strike = faults.before(**ON_CONVERSATION, do=overtake_and_lose_the_connection)
    with strike, pytest.raises(LostRace, match="ben took this conversation first"):
        perform(intent, ANA)
    assert results(store)[intent.action_id] == "conflict: ben was first"


def test_neither_answer_nor_reading_leaves_it_pending(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with (
        faults.fail_after(**ON_CONVERSATION),
        faults.fail_before("GetItem", nth=2, table_key="CONVERSATIONS"),
        pytest.raises(StoreUnavailable, match="may have worked"),
    ):
        perform(intent, ANA)
    assert flips(store, intent)
    assert results(store) == {intent.action_id: "pending"}
    assert perform(intent, ANA).replayed
    assert results(store) == {intent.action_id: "success"}


def test_a_lost_result_does_not_fail_the_action_and_the_next_one_settles_it(store):
    put(store, **WAITING)
    take = form(A.TAKE)
    with faults.fail_before("TransactWriteItems", nth=2):
        assert perform(take, ANA).hand_off.agent == "ana"
    assert results(store) == {take.action_id: "pending"}
    back = form(A.HAND_BACK)
    perform(back, ANA)
    assert results(store) == {take.action_id: "success", back.action_id: "success"}


@pytest.mark.parametrize("retried", [False, True], ids=["lost", "sent again by the client"])
def test_a_lost_answer_of_the_first_transaction(store, retried):
    """moto forgets the request token, so the repeated transaction meets its own records: it goes on all the same."""
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.fail_after("TransactWriteItems", retried=retried):
        if retried:
            assert perform(intent, ANA).hand_off.agent == "ana"
        else:
            with pytest.raises(StoreUnavailable):
                perform(intent, ANA)
            assert results(store) == {intent.action_id: "pending"}
            assert perform(intent, ANA).hand_off.agent == "ana"
    assert results(store) == {intent.action_id: "success"}


CONFLICT = {
    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "message": "Transaction cancelled",
    "CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}],
}


def test_a_conflict_of_transactions_is_tried_again(store):
    put(store, **WAITING)
    with faults.answer("TransactWriteItems", body=CONFLICT, status=400, times=2) as fault:
        assert perform(form(A.TAKE), ANA).hand_off.agent == "ana"
    assert len(fault.seen) == 4
    assert set(results(store).values()) == {"success"}


def test_lasting_conflicts_of_transactions_change_nothing(store):
    before = put(store, **WAITING)
    lasting = faults.answer("TransactWriteItems", body=CONFLICT, status=400, times=faults.ALWAYS)
    with lasting as fault, pytest.raises(Throttled):
        perform(form(A.TAKE), ANA)
    assert len(fault.seen) == 3
    assert stored(store) == before
    assert trail(store) == []


def test_a_transaction_of_another_service_over_the_conversation_is_waited_out(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.refuse(**ON_CONVERSATION, code="TransactionConflictException", times=2) as fault:
        assert perform(intent, ANA).hand_off.agent == "ana"
    assert len(fault.seen) == 3
    assert results(store) == {intent.action_id: "success"}


def test_throttled_on_the_conversation_can_be_repeated(store):
    before = put(store, **WAITING)
    intent = form(A.TAKE)
    strike = faults.refuse(**ON_CONVERSATION, code="ProvisionedThroughputExceededException", times=faults.ALWAYS)
    with strike, pytest.raises(Throttled):
        perform(intent, ANA)
    assert stored(store) == before
    assert results(store) == {intent.action_id: "pending"}
    assert perform(intent, ANA).hand_off.agent == "ana"
    assert results(store) == {intent.action_id: "success"}


def test_what_the_store_refuses_as_invalid_has_failed(store):
    """Such as an item that a note would take beyond 400 KB."""
    before = put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.refuse(**ON_CONVERSATION, code="ValidationException"), pytest.raises(NotAccepted):
        perform(intent, ANA)
    assert stored(store) == before
    assert results(store) == {intent.action_id: "failed: the database refused it as invalid"}


def test_a_conversation_deleted_under_the_form_makes_no_ghost(store):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.before("UpdateItem", lambda: store.delete("CONVERSATIONS", **KEY)), pytest.raises(NotFound):
        perform(intent, ANA)
    assert store.all("CONVERSATIONS") == []
    assert results(store) == {intent.action_id: "failed: the conversation is gone"}


def test_a_refusal_that_may_not_be_the_last_word_stays_open(store, eleven_minutes_later):
    """The first packet got no answer and may still arrive; the second was refused: the platform moved the flag."""
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.hold(**ON_CONVERSATION) as late, pytest.raises(StoreUnavailable):
        perform(intent, ANA)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=False)
    with pytest.raises(LostRace):
        perform(intent, ANA)
    assert results(store) == {intent.action_id: "pending"}
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True)
    assert late.deliver() == [200]
    assert flips(store, intent)
    eleven_minutes_later()
    settle(CONVERSATION)
    assert results(store) == {intent.action_id: "success"}


def test_a_refusal_after_the_client_sent_it_again_stays_open(store, eleven_minutes_later):
    """As above, but both packets came from one submission: the store's client repeats what got no answer."""
    put(store, **WAITING)
    intent = form(A.TAKE)

    def lose_the_first_while_the_platform_clears_the_flag():
        store.update("CONVERSATIONS", KEY, hand_off_to_human=False)
        raise ReadTimeoutError(endpoint_url="")

    strike = faults.before(**ON_CONVERSATION, do=lose_the_first_while_the_platform_clears_the_flag)
    with strike as fault, pytest.raises(LostRace):
        perform(intent, ANA)
    assert len(fault.seen) == 2
    assert results(store) == {intent.action_id: "pending"}
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True)
    store.client.update_item(**fault.struck[0])
    assert flips(store, intent)
    eleven_minutes_later()
    settle(CONVERSATION)
    assert results(store) == {intent.action_id: "success"}


def test_a_refusal_beside_a_second_click_stays_open(store, eleven_minutes_later):
    """The first click was refused; before it says so, a second click on the same form sends another write."""
    put(store, **WAITING)
    intent = form(A.TAKE)
    packets = []

    def click_again():
        with faults.hold(**ON_CONVERSATION) as late, pytest.raises(StoreUnavailable):
            perform(intent, ANA)
        packets.append(late)

    def clear():
        store.update("CONVERSATIONS", KEY, hand_off_to_human=False)

    with (
        faults.before(**ON_CONVERSATION, do=clear),
        faults.before("TransactWriteItems", click_again, nth=2),
        pytest.raises(LostRace),
    ):
        perform(intent, ANA)
    assert results(store) == {intent.action_id: "pending"}
    store.update("CONVERSATIONS", KEY, hand_off_to_human=True)
    assert packets[0].deliver() == [200]
    eleven_minutes_later()
    settle(CONVERSATION)
    assert results(store) == {intent.action_id: "success"}


# --- late packets ------------------------------------------------------------------------------------------------


def test_a_packet_that_arrives_after_the_fence_is_refused(store, eleven_minutes_later):
    before = put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.hold(**ON_CONVERSATION) as late, pytest.raises(StoreUnavailable):
        perform(intent, ANA)
    eleven_minutes_later()
    (settled,) = settle(CONVERSATION)
    assert settled.result == "failed: it had not taken effect and was fenced off"
    fenced = stored(store)
    assert late.deliver() == [400]
    assert stored(store) == fenced
    fence = fenced.pop("hand_off_action_id")
    assert fenced == before
    assert results(store) == {intent.action_id: settled.result, fence: "success"}
    (entry,) = [entry for entry in trail(store) if entry["action_id"] == fence]
    assert (entry["action_type"], entry["actor"], entry.get("previous_action_id")) == (
        "hand_off.fence",
        "command-line",
        None,
    )
    with pytest.raises(LostRace, match="too old"):
        perform(intent, ANA)
    assert stored(store)["hand_off_action_id"] == fence


def test_the_chain_stays_whole_over_a_fence(store, eleven_minutes_later):
    put(store, **WAITING)
    take = form(A.TAKE)
    with faults.fail_before("TransactWriteItems", nth=2):
        perform(take, ANA)
    back = form(A.HAND_BACK)
    with faults.hold(**ON_CONVERSATION), pytest.raises(StoreUnavailable):
        perform(back, ANA)
    eleven_minutes_later()
    settle(CONVERSATION)
    told = results(store)
    assert told[take.action_id] == "success"
    assert told[back.action_id].startswith("failed")
    assert stored(store)["hand_off_agent"] == "ana"
    perform(form(A.HAND_BACK), ANA)
    assert stored(store)["hand_off_to_human"] is False


def test_a_packet_that_arrives_after_the_hand_back_is_refused(store):
    """Taken over (the answer lost, the packet copied on its way), handed back: flag and agent are as they were seen."""
    put(store)
    take_over = form(A.TAKE_OVER)
    with faults.hold(**ON_CONVERSATION) as late, pytest.raises(StoreUnavailable):
        perform(take_over, ANA)
    perform(take_over, ANA)
    perform(form(A.HAND_BACK), ANA)
    after = stored(store)
    assert late.deliver() == [400]
    assert stored(store) == after
    assert set(results(store).values()) == {"success"}


# --- every call --------------------------------------------------------------------------------------------------


SITUATIONS = {
    "take": ({**WAITING}, A.TAKE),
    "take over": ({}, A.TAKE_OVER),
    "hand back": (held_by("ana"), A.HAND_BACK),
    "release": (held_by("ana", hand_off_action_id=None), A.RELEASE),
    "take from a colleague": (held_by("ben"), A.TAKE_FROM_COLLEAGUE),
}


@pytest.mark.slow
@pytest.mark.parametrize("strike", [faults.fail_before, faults.fail_after], ids=["before", "after"])
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_fault_at_any_call_never_leaves_a_flip_without_its_entry(store, strike, situation, monkeypatch):
    """Wherever it strikes: entry and flip agree once settled, and the person was not told the opposite."""
    changes, action = SITUATIONS[situation]
    real_now = clock.now
    for nth in range(1, 20):
        before = put(store, **changes)
        intent = form(action)
        with ExitStack() as stack:
            fault = stack.enter_context(strike(nth=nth))
            try:
                told = perform(intent, ANA, reason="r") is not None
            except StoreUnavailable:
                told = None
        if not fault.struck:
            break
        flipped = stored(store).get("hand_off_action_id") == intent.action_id
        entries = {entry["action_id"]: entry["result"] for entry in trail(store)}
        assert not flipped or intent.action_id in entries
        assert told is None or flipped
        monkeypatch.setattr(clock, "now", lambda: real_now() + LATER)
        settle(CONVERSATION)
        monkeypatch.setattr(clock, "now", real_now)
        final = results(store).get(intent.action_id)
        assert final == ("success" if flipped else final and "failed: it had not taken effect and was fenced off")
        assert foreign(stored(store)) == foreign(before)
        store.empty()
    assert nth > 4


@pytest.mark.parametrize("strike", [faults.fail_before, faults.fail_after], ids=["before", "after"])
def test_a_fault_at_any_call_of_settling_is_made_good_by_the_next_run(store, strike, eleven_minutes_later):
    put(store, **WAITING)
    intent = form(A.TAKE)
    with faults.hold(**ON_CONVERSATION), pytest.raises(StoreUnavailable):
        perform(intent, ANA)
    eleven_minutes_later()
    for nth in range(1, 30):
        with strike(nth=nth) as fault, suppress(ConsoleError):
            settle(CONVERSATION)
        if not fault.struck:
            break
    eleven_minutes_later()
    settle(CONVERSATION)
    told = results(store)
    assert told.pop(intent.action_id).startswith("failed")
    assert told[stored(store)["hand_off_action_id"]] == "success"
    assert "pending" not in told.values()
