"""Whoever has a conversation gets what its customer says next: the platform's routing goes with every action."""

import pytest

from console.trail.recording import COMMAND_LINE
from conversations.handoff import HandOffAction, LostRace, perform, release_all
from tests import faults
from tests.refusals import refused
from tests.support.conversations.handoff.kit import (
    ANA,
    BEN,
    CHANNEL,
    KEY,
    WAITING,
    foreign,
    form,
    held_by,
    ours,
    put,
    results,
    stored,
    trail,
)
from tests.support.conversations.indexer.kit import sweep
from tests.support.conversations.platform_routing import AI, PEOPLE, route

A = HandOffAction
SWITCH, BEFORE = "auto_queue_reply_message", "hand_off_routing_before"
# What a service may have written: its own routing, or drift.
STOOD = [..., False, True, None, "true", 0, 1.5, [], ["a", {"b": 1}], {"a": None}, {"x"}, b"\x00\xff", ""]


@pytest.fixture(params=["held", "waiting"])
def routing(request, settings) -> str:
    settings.HAND_OFF_ROUTING = request.param
    settings.HANDOFF_QUEUE_URL = "https://sqs.example/handoff"
    return request.param


@pytest.fixture
def held(settings) -> None:
    settings.HAND_OFF_ROUTING = "held"
    settings.HANDOFF_QUEUE_URL = "https://sqs.example/handoff"


def routed(store) -> str:
    """Where the customer's next message goes."""
    return route(stored(store), CHANNEL)


def switch(store):
    return stored(store).get(SWITCH, ...)


def put_with(store, stood, **changes):
    return put(store, **changes) if stood is ... else put(store, **{SWITCH: stood}, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("stood", STOOD, ids=repr)
def test_taking_routes_to_people_and_handing_back_restores_what_stood_there(store, routing, stood):
    before = put_with(store, stood, **WAITING)
    perform(form(A.TAKE), ANA)
    assert routed(store) == PEOPLE
    perform(form(A.HAND_BACK), ANA)
    after = stored(store)
    assert foreign(after) == foreign(before)
    assert BEFORE not in after
    assert switch(store) == stood


@pytest.mark.parametrize("stood", [..., False, True], ids=repr)
def test_a_take_over_and_a_colleague_s_take_keep_what_stood_there_first(store, routing, stood):
    before = put_with(store, stood)
    perform(form(A.TAKE_OVER), ANA)
    perform(form(A.TAKE_FROM_COLLEAGUE), BEN, reason="Ana is away")
    assert routed(store) == PEOPLE
    perform(form(A.HAND_BACK), BEN)
    assert foreign(stored(store)) == foreign(before)


@pytest.mark.parametrize("stood", [..., False, True], ids=repr)
def test_a_released_conversation_goes_where_the_setting_says(store, routing, stood):
    before = put_with(store, stood, **WAITING)
    perform(form(A.TAKE), ANA)
    perform(form(A.RELEASE), ANA)
    if routing == "waiting":
        assert routed(store) == PEOPLE
    else:
        assert foreign(stored(store)) == foreign(before)


def test_a_request_routes_to_people_only_where_waiting_does(store, routing):
    put(store)
    perform(form(A.REQUEST), ANA, reason="wants a refund")
    assert routed(store) == (PEOPLE if routing == "waiting" else AI)


def test_what_a_disabled_account_held_is_released_with_its_routing(store, held):
    before = put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    report = release_all("ana", COMMAND_LINE, [(KEY["primary_channel"], KEY["conversation_id"])])
    assert not report.failed
    assert foreign(stored(store)) == foreign(before)


def test_an_overridden_conversation_left_with_the_ai_goes_where_it_went(store, routing):
    before = put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    store.update("CONVERSATIONS", KEY, hand_off_to_human=False)
    assert routed(store) == PEOPLE
    perform(form(A.ACKNOWLEDGE), ANA)
    assert routed(store) == AI
    assert SWITCH not in stored(store)
    assert BEFORE not in before


@pytest.mark.parametrize("theirs", [False, None, "no", {"a": 1}], ids=repr)
def test_what_somebody_else_changed_meanwhile_is_left_and_said(store, routing, theirs):
    put(store, **WAITING, **{SWITCH: True})
    perform(form(A.TAKE), ANA)
    store.update("CONVERSATIONS", KEY, **{SWITCH: theirs})
    outcome = perform(form(A.HAND_BACK), ANA)
    assert outcome.routing_left
    assert switch(store) == theirs
    assert BEFORE not in stored(store)
    assert "kept as changed in the meantime" in trail(store)[-1]["action_payload_redacted"]


def test_who_takes_it_then_gets_the_messages_all_the_same(store, routing):
    put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    store.update("CONVERSATIONS", KEY, **{SWITCH: False})
    perform(form(A.TAKE_FROM_COLLEAGUE), BEN, reason="Ana is away")
    assert routed(store) == PEOPLE
    assert not perform(form(A.HAND_BACK), BEN).routing_left
    assert switch(store) is False


def test_a_routing_that_changes_between_read_and_write_is_a_lost_race(store, held):
    put(store, **WAITING)
    intent = form(A.TAKE)

    def meddle():
        store.update("CONVERSATIONS", KEY, **{SWITCH: False})

    with (
        faults.before("UpdateItem", meddle, table_key="CONVERSATIONS"),
        pytest.raises(LostRace, match="changed at the same moment"),
    ):
        perform(intent, ANA)
    assert "hand_off_agent" not in stored(store)
    assert results(store)[intent.action_id].startswith("conflict")
    perform(form(A.TAKE), ANA)
    assert routed(store) == PEOPLE


@pytest.mark.parametrize("action", [A.TAKE_OVER, A.REQUEST])
def test_switched_off_it_writes_what_it_wrote(store, settings, action):
    settings.HAND_OFF_ROUTING = "off"
    before = put(store, **{SWITCH: False})
    perform(form(action), ANA, reason="because")
    assert foreign(stored(store)) == foreign(before)


def test_what_was_routed_before_it_was_switched_off_is_restored(store, settings, held):
    before = put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    settings.HAND_OFF_ROUTING = "off"
    perform(form(A.HAND_BACK), ANA)
    assert foreign(stored(store)) == foreign(before)


# --- the indexer ----------------------------------------------------------------------------------------------------


def test_the_platforms_own_request_is_routed_where_waiting_is(store, routing):
    put(store, **WAITING)
    sweep()
    assert routed(store) == (PEOPLE if routing == "waiting" else AI)


def test_a_flag_that_the_platform_clears_ends_the_routing(store, settings):
    settings.HAND_OFF_ROUTING = "waiting"
    before = put(store, **WAITING)
    sweep()
    store.update("CONVERSATIONS", KEY, hand_off_to_human=False)
    sweep()
    assert foreign(stored(store)) == foreign(before)


def test_a_conversation_that_was_held_before_it_was_switched_on_is_routed(store, held):
    put(store, **held_by("ana"))
    sweep()
    assert routed(store) == PEOPLE


def test_the_indexer_leaves_what_somebody_else_changed(store, held):
    put(store, **WAITING)
    perform(form(A.TAKE), ANA)
    store.update("CONVERSATIONS", KEY, **{SWITCH: False})
    held_item = ours(stored(store))
    sweep()
    assert switch(store) is False
    assert ours(stored(store)) == held_item


def test_switched_off_the_indexer_restores_and_then_touches_nothing(store, settings, held):
    before = put(store, **WAITING, **{SWITCH: False})
    perform(form(A.TAKE), ANA)
    settings.HAND_OFF_ROUTING = "off"
    sweep()
    assert foreign(stored(store)) == foreign(before)
    item = stored(store)
    sweep()
    assert stored(store) == item


def test_an_expired_conversation_is_not_written_at_all(store, settings):
    settings.HAND_OFF_ROUTING = "waiting"
    put(store, **WAITING, ttl=1)
    item = stored(store)
    sweep()
    assert stored(store) == item


# --- the setting ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["held", "waiting"])
def test_routing_to_people_without_a_source_of_messages_is_refused(settings, mode):
    settings.HAND_OFF_ROUTING, settings.HANDOFF_QUEUE_URL, settings.TABLE_NAMES = mode, "", {}
    assert "conversations.E002" in refused()
    settings.TABLE_NAMES = {"CONVERSATIONS_STAGE": "conversations-stage-test"}
    assert refused() == ""


def test_an_unknown_mode_is_refused(settings):
    settings.HAND_OFF_ROUTING = "yes"
    assert "off, held or waiting" in refused()
