"""What each action writes and on which condition, to the attribute; who may do what; and what a form carries."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from console.errors import BadReference, Forbidden, Invalid
from console.permissions import Role
from console.refs import seal_data
from conversations.converting import hand_off_of
from conversations.handoff.actions import (
    BEGINS,
    ENDS_WITH_AI,
    TO_AI,
    HandOffAction,
    Intent,
    allowed_actions,
    check_allowed,
    effect_of,
    ends_for_people,
    intent_for,
    unseal_intent,
    update_of,
)
from conversations.handoff.stored import Expression
from conversations.models import Conversation
from conversations.records import HandOff, HandOffState
from tests.support.conversations.handoff.kit import ADMIN, ANA, BEN, CHANNEL, COMPANY, CONVERSATION, KEY, staff

A = HandOffAction
AT = datetime(2026, 2, 1, 10, tzinfo=UTC)
NOW, SEEN = "2026-02-01T10:00:00.000Z", "2026-01-31T09:00:00.000Z"
AI, WAITS, HELD, OVERRIDDEN = (False, ""), (True, ""), (True, "ana"), (False, "ana")
HELD_KEY, WAITING_KEY, URGENT_KEY = f"held#{COMPANY}", f"waiting#{COMPANY}", f"urgent#{COMPANY}"
# What is removed when people get it anew: all of the last time that they had it.
LAST_TIME = (
    *("hand_off_urgent", "hand_off_group", "hand_off_answered_at", "hand_off_unanswered_at", "hand_off_heard_at"),
    "hand_off_reply_failed_at",
)
ATTENTION, AGENT, TAKEN_AT = "hand_off_attention", "hand_off_agent", "hand_off_taken_at"


def intent(action: HandOffAction, seen: tuple[bool, str] = WAITS, **changes: Any) -> Intent:
    made = Intent(action, CHANNEL, CONVERSATION, COMPANY, "new", seen[0], seen[1], "before", SEEN)
    return replace(made, **changes)


def dynamodb(value: Any) -> dict[str, Any]:
    return {"BOOL": value} if isinstance(value, bool) else {"NULL": True} if value is None else {"S": value}


def effect(action: HandOffAction, seen: tuple[bool, str], stored: dict[str, Any], **options: Any) -> Expression:
    return effect_of(
        intent(action, seen), "ben", AT, {name: dynamodb(each) for name, each in stored.items()}, **options
    )


# --- What is written --------------------------------------------------------------------------------------------------


RAISED = {"flag": True, "requested_at": NOW, "reason": None}
CLEARED = {"flag": False, "reason": None, "wanted": False}
OWED = "hand_off_owed_at"
ANEW = (ATTENTION, *LAST_TIME, OWED)
GONE = (AGENT, TAKEN_AT, "hand_off_requested_at", "gsi_hand_off_queue", *LAST_TIME)
WITH_AI = ("gsi_hand_off_queue", "hand_off_requested_at")
LEFT = "hand_off_left_at"
TAKEN, OF_GROUP, UNHELD = (
    {"queue": HELD_KEY, "agent": "ben"},
    ("hand_off_group", ATTENTION),
    (AGENT, TAKEN_AT, ATTENTION),
)
RETURNED = {"left_at": NOW, "to_ai_at": NOW}
GIVEN = {"queue": HELD_KEY, "agent": "cy"}


@pytest.mark.parametrize(
    ("action", "seen", "values", "kept", "removed"),
    [
        (A.REQUEST, AI, RAISED | {"queue": WAITING_KEY}, False, (AGENT, TAKEN_AT, *ANEW)),
        (A.TAKE_OVER, AI, RAISED | TAKEN, False, ANEW),
        (A.TAKE_OVER, OVERRIDDEN, {"flag": True} | TAKEN, True, (ATTENTION,)),
        (A.TAKE, WAITS, TAKEN, True, OF_GROUP),
        (A.TAKE_FROM_COLLEAGUE, HELD, TAKEN, True, OF_GROUP),
        (
            A.ASSIGN,
            AI,
            RAISED | GIVEN,
            False,
            (*OF_GROUP, *(each for each in (*LAST_TIME, OWED) if each != "hand_off_group")),
        ),
        (A.ASSIGN, WAITS, GIVEN, True, OF_GROUP),
        (A.ASSIGN, HELD, GIVEN, True, OF_GROUP),
        (A.RELEASE, HELD, {"queue": WAITING_KEY}, True, UNHELD),
        (A.HAND_OVER, WAITS, {"queue": WAITING_KEY, "group": "cy"}, True, UNHELD),
        (A.MARK_URGENT, WAITS, {"queue": URGENT_KEY, "urgent": "by hand"}, True, (ATTENTION,)),
        (A.MARK_URGENT, HELD, {"queue": HELD_KEY, "urgent": "by hand"}, True, (ATTENTION,)),
        (A.MARK_NOT_URGENT, WAITS, {"queue": WAITING_KEY, "urgent": "no"}, True, (ATTENTION,)),
        (A.MARK_NOT_URGENT, HELD, {"queue": HELD_KEY, "urgent": "no"}, True, (ATTENTION,)),
        (A.HAND_BACK, HELD, CLEARED | RETURNED, False, (*GONE, OWED, ATTENTION)),
        (A.LEAVE_TO_AI, HELD, CLEARED | {"to_ai_at": NOW}, False, (*GONE, LEFT, OWED, ATTENTION)),
        (A.LEAVE_TO_AI, AI, {"wanted": False, "to_ai_at": NOW}, False, (*WITH_AI, LEFT, OWED, ATTENTION)),
        (A.LEAVE, AI, {"wanted": False, "left_at": NOW}, False, (*WITH_AI, OWED, ATTENTION)),
        (A.ACKNOWLEDGE, OVERRIDDEN, {"wanted": False} | RETURNED, False, (*GONE, OWED, ATTENTION)),
    ],
)
def test_an_action_writes_this_and_no_more(action, seen, values, kept, removed):
    """`kept`: the time of the request stays, and is written where there is none."""
    named = {"flag": "hand_off_to_human", "reason": "hand_off_to_human_reason", "queue": "gsi_hand_off_queue"}
    values = {"wanted": True} | values | ({"taken_at": NOW} if "agent" in values else {})
    expected = {named.get(name, f"hand_off_{name}"): dynamodb(value) for name, value in values.items()}
    change = effect(action, seen, {}, to="cy")
    assert change.values == expected | {"hand_off_action_id": {"S": "new"}, "updated_at": {"S": NOW}}
    assert change.if_absent == ({"hand_off_requested_at": {"S": SEEN}} if kept else {})
    assert change.removed == removed


@pytest.mark.parametrize(
    ("action", "seen", "queue"),
    [(A.RELEASE, HELD, URGENT_KEY), (A.HAND_OVER, HELD, URGENT_KEY), (A.REQUEST, AI, WAITING_KEY)],
)
def test_what_is_urgent_stays_so_until_people_get_it_anew(action, seen, queue):
    assert effect(action, seen, {"hand_off_urgent": "by hand"}).values["gsi_hand_off_queue"] == {"S": queue}


@pytest.mark.parametrize(
    ("stored", "is_kept"),
    [
        ({}, True),
        ({"hand_off_requested_at": "2026-01-30T00:00:00Z"}, True),
        ({"hand_off_requested_at": None}, False),
        ({"hand_off_requested_at": "2026-01-30T00:00:00Z", ATTENTION: "failed"}, False),
    ],
)
def test_the_time_of_a_request_is_kept_only_where_it_is_one(stored, is_kept):
    """A time of another type is no sort key, and beside a cause of attention it is not when a person was asked for."""
    change = effect(A.TAKE, WAITS, stored)
    assert ("hand_off_requested_at" in change.if_absent) is is_kept
    assert ("hand_off_requested_at" in change.values) is not is_kept
    assert (change.if_absent | change.values)["hand_off_requested_at"] == {"S": SEEN}


def test_where_no_time_was_seen_the_wait_begins_now():
    change = effect_of(intent(A.TAKE, requested_seen=""), "ben", AT, {})
    assert change.if_absent == {"hand_off_requested_at": {"S": NOW}}


@pytest.mark.parametrize(("seen", "expected"), [(AI, {"S": "refund"}), (OVERRIDDEN, {"S": "refund"})])
def test_a_reason_replaces_the_one_before(seen, expected):
    assert effect(A.TAKE_OVER, seen, {}, reason="refund").values["hand_off_to_human_reason"] == expected


@pytest.mark.parametrize(
    ("action", "seen", "status", "is_asked"),
    [
        (A.LEAVE_TO_AI, AI, "failed_unknown", True),
        (A.LEAVE_TO_AI, AI, "initial_message_sent", False),
        (A.LEAVE_TO_AI, HELD, "failed_unknown", False),
        (A.LEAVE, AI, "failed_unknown", False),
        (A.ACKNOWLEDGE, OVERRIDDEN, "failed_unknown", False),
    ],
)
def test_the_status_changes_only_where_a_service_gave_up_and_the_ai_is_asked_again(action, seen, status, is_asked):
    change = effect(action, seen, {"conversation_status": status, ATTENTION: "failed"})
    assert change.values.get("conversation_status") == ({"S": "retry"} if is_asked else None)


def test_a_request_begins_when_the_customer_began_to_wait():
    since = datetime(2026, 1, 15, tzinfo=UTC)
    assert effect(A.REQUEST, AI, {}, since=since).values["hand_off_requested_at"] == {"S": "2026-01-15T00:00:00.000Z"}


@pytest.mark.parametrize(("action", "is_again"), [(A.LEAVE_TO_AI, True), (A.LEAVE, False), (A.TAKE_OVER, False)])
def test_only_one_action_asks_the_ai_again(action, is_again):
    assert intent(action, AI).asks_again is is_again
    assert not intent(action, WAITS).asks_again
    assert not intent(action, OVERRIDDEN).asks_again


@pytest.mark.parametrize(("routing", "expected"), [("off", ()), ("held", (HELD,)), ("waiting", (HELD, WAITS))])
def test_urgency_leaves_the_routing_as_the_setting_says(settings, routing, expected):
    settings.HAND_OFF_ROUTING = routing
    for action in (A.MARK_URGENT, A.MARK_NOT_URGENT):
        assert tuple(seen for seen in (HELD, WAITS) if ends_for_people(intent(action, seen))) == expected


@pytest.mark.parametrize(
    ("routing", "expected"),
    [
        ("off", set()),
        ("held", {A.TAKE, A.TAKE_OVER, A.TAKE_FROM_COLLEAGUE, A.ASSIGN}),
        ("waiting", set(A) - {A.HAND_BACK, A.ACKNOWLEDGE, A.LEAVE_TO_AI, A.LEAVE}),
    ],
)
def test_which_actions_end_with_people(settings, routing, expected):
    settings.HAND_OFF_ROUTING = routing
    assert {each for each in A if ends_for_people(intent(each, WAITS))} == expected


# --- On which condition -----------------------------------------------------------------------------------------------


def conditioned(request: dict[str, Any]) -> set[str]:
    """The attributes that the condition names."""
    names = request["ExpressionAttributeNames"]
    return {names[each] for each in names if each in request["ConditionExpression"]}


FLAG, LAST = "hand_off_to_human", "hand_off_action_id"
SWITCHES = {"auto_queue_reply_message", "hand_off_routing_before"}


@pytest.mark.parametrize(
    ("action", "seen", "stored", "routing", "further"),
    [
        (A.TAKE, WAITS, {}, "off", set()),
        (A.TAKE_OVER, AI, {}, "off", set()),
        (A.LEAVE, AI, {}, "off", set()),
        (A.LEAVE_TO_AI, HELD, {}, "off", set()),
        (A.LEAVE_TO_AI, AI, {}, "off", {ATTENTION, "conversation_status"}),
        (A.TAKE, WAITS, {}, "held", SWITCHES),
        (A.HAND_BACK, HELD, {"hand_off_routing_before": "x"}, "off", SWITCHES),
    ],
)
def test_an_action_rests_on_what_it_read(settings, action, seen, stored, routing, further):
    settings.HAND_OFF_ROUTING = routing
    of = intent(action, seen)
    raw = {name: dynamodb(value) for name, value in stored.items()}
    request = update_of(of, effect_of(of, "ben", AT, raw), raw)
    assert conditioned(request) == {FLAG, AGENT, LAST} | further


# --- Who may ----------------------------------------------------------------------------------------------------------

LED_BACK = {
    "HANDOFF_QUEUE_URL": "https://sqs.example/1/q",
    "TABLE_NAMES": {"CONVERSATIONS_STAGE": "stage"},
    "CHANNEL_QUEUE_URLS": {"sms": "https://sqs.example/1/sms"},
}
FLAGGED = (HandOffState.WAITING, HandOffState.HELD)
GIVES, URGENCY = (A.ASSIGN, A.HAND_OVER), (A.MARK_URGENT, A.MARK_NOT_URGENT)


@pytest.mark.parametrize("leads_back", [False, True])
def test_what_each_may_do_in_each_state(settings, leads_back):
    for name, value in LED_BACK.items() if leads_back else {"TABLE_NAMES": {}, "CHANNEL_QUEUE_URLS": {}}.items():
        setattr(settings, name, value)
    leave = (A.LEAVE_TO_AI,) if leads_back else ()
    mine = (A.HAND_BACK, A.RELEASE, *leave)
    take_from = (A.TAKE_FROM_COLLEAGUE,)
    expected = {
        HandOffState.AI: dict.fromkeys((ANA, BEN, ADMIN), (A.TAKE_OVER, A.REQUEST, *leave, A.ASSIGN, A.LEAVE)),
        HandOffState.WAITING: dict.fromkeys((ANA, BEN, ADMIN), (A.TAKE, *leave, A.HAND_BACK, *GIVES, *URGENCY)),
        HandOffState.HELD: {
            ANA: (*mine, *GIVES, *URGENCY),
            BEN: take_from,
            ADMIN: (*take_from, *mine, *GIVES, *URGENCY),
        },
        HandOffState.OVERRIDDEN: {
            ANA: (A.TAKE_OVER, A.ACKNOWLEDGE, *leave),
            BEN: (A.TAKE_OVER,),
            ADMIN: (A.TAKE_OVER, A.ACKNOWLEDGE, *leave),
        },
    }
    for state, of_people in expected.items():
        agent = "ana" if state in (HandOffState.HELD, HandOffState.OVERRIDDEN) else ""
        for person, actions in of_people.items():
            assert allowed_actions(HandOff(state, flag=state in FLAGGED, agent=agent), person) == actions
        assert allowed_actions(HandOff(state, flag=state in FLAGGED, agent=agent), staff("ana", Role.AUDITOR)) == ()


@pytest.mark.parametrize("action", [A.RELEASE, A.HAND_BACK, A.LEAVE_TO_AI, A.ASSIGN, A.HAND_OVER])
def test_what_only_the_holder_may_do_is_forbidden_to_others(action):
    with pytest.raises(Forbidden, match="A colleague has this conversation"):
        check_allowed(intent(action, HELD), BEN)


@pytest.mark.parametrize(
    ("action", "seen"), [(A.TAKE, HELD), (A.LEAVE, HELD), (A.RELEASE, WAITS), (A.TAKE, OVERRIDDEN), (A.TAKE, AI)]
)
def test_what_the_state_does_not_allow_is_invalid_whoever_holds_it(action, seen):
    with pytest.raises(Invalid, match="while the conversation is in this state"):
        check_allowed(intent(action, seen), BEN)


# --- What a form carries ----------------------------------------------------------------------------------------------


def test_an_item_without_a_company_has_an_intent_and_a_given_id_is_kept():
    item = Conversation.from_raw_data({name: {"S": value} for name, value in KEY.items()})
    made = intent_for(A.TAKE, item, hand_off_of(item), "given")
    assert (made.company_id, made.action_id) == ("", "given")
    assert intent_for(A.TAKE, item, hand_off_of(item)).action_id not in ("", "given")


def test_which_actions_lead_to_people_and_which_to_the_ai():
    assert set(TO_AI) == {A.HAND_BACK, A.ACKNOWLEDGE, A.LEAVE_TO_AI}
    assert set(BEGINS) == {A.REQUEST, A.TAKE_OVER, A.ASSIGN}
    assert set(ENDS_WITH_AI) == {A.HAND_BACK, A.LEAVE_TO_AI, A.LEAVE}


def test_a_number_that_was_sealed_is_no_intent():
    with pytest.raises(BadReference):
        unseal_intent(seal_data("action", 7), ANA)
