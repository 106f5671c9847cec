"""What is read of a stored hand-off whatever was written there, its routing, and the conditions of a write."""

import pytest

from console.schema.tables import RECIPIENT_NAMES
from conversations.handoff.stored import (
    ATTRIBUTES,
    Conditions,
    Expression,
    as_seen,
    describe_routing_change,
    involves_routing,
    is_same_reason,
    is_set_by_console,
    leads_back_to_ai,
    reason_digest,
    reason_in,
    status_in,
    update_item,
    was_switch_changed,
    went_to_people,
)
from tests.support.conversations.handoff.kit import HAND_OFF

SWITCH, BEFORE = "auto_queue_reply_message", "hand_off_routing_before"
ON, OFF, NULL = {"BOOL": True}, {"BOOL": False}, {"NULL": True}
REASON = "hand_off_to_human_reason"
FLAG, AGENT, LAST = "hand_off_to_human", "hand_off_agent", "hand_off_action_id"


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ({}, ""),
        ({REASON: NULL}, ""),
        ({REASON: {"S": ""}}, ""),
        ({REASON: {"S": "why"}}, "why"),
        ({REASON: ON}, "True"),
    ],
)
def test_a_reason_of_any_type_is_text(stored, expected):
    assert reason_in(stored) == expected


def test_what_is_read_of_a_conversation_for_an_action():
    """Its hand-off, what tells scope, age, expiry, routing and whether a service is at work, and the names to mask."""
    ours = HAND_OFF | {"hand_off_routing_before", "hand_off_no_answer_at"}
    known = {
        "primary_channel",
        "conversation_id",
        "company_id",
        "created_at",
        "updated_at",
        "conversation_status",
        "ttl",
        *RECIPIENT_NAMES,
    }
    assert sorted(ATTRIBUTES) == sorted(ours | known | {SWITCH})


@pytest.mark.parametrize("length", [60, 61])
def test_a_status_is_short(length):
    assert status_in({"conversation_status": {"S": "s" * length}}) == "s" * 60


def test_a_reason_is_the_same_under_the_key_before_and_no_other(settings):
    stored = {REASON: {"S": "wants a person"}}
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "b" * 50, ["a" * 50]
    before = reason_digest("c", stored, secret="a" * 50)
    assert len(before) == 64, "SHA-256"
    assert is_same_reason(before, "c", stored)
    assert is_same_reason(reason_digest("c", stored), "c", stored)
    assert reason_digest("c", stored) == reason_digest("c", stored, secret="b" * 50) != before
    settings.SECRET_KEY_FALLBACKS = []
    assert not is_same_reason(before, "c", stored)
    assert not is_same_reason(reason_digest("c", stored), "another", stored)
    assert not is_same_reason(None, "c", stored)


# --- Routing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "went", "ours", "changed"),
    [
        ({}, False, False, False),
        ({SWITCH: OFF}, False, False, False),
        ({SWITCH: ON}, True, False, False),
        ({SWITCH: {"S": "true"}}, False, False, False),
        ({SWITCH: ON, BEFORE: {"L": []}}, False, True, False),
        ({SWITCH: ON, BEFORE: {"L": [OFF]}}, False, True, False),
        ({SWITCH: ON, BEFORE: {"L": [ON]}}, True, True, False),
        ({SWITCH: OFF, BEFORE: {"L": [ON]}}, True, False, True),
        ({SWITCH: OFF, BEFORE: {"L": [OFF]}}, False, False, True),
        ({BEFORE: {"L": []}}, False, False, True),
    ],
)
def test_whose_routing_it_is(stored, went, ours, changed):
    assert went_to_people(stored) is went
    assert is_set_by_console(stored) is ours
    assert was_switch_changed(stored) is changed


@pytest.mark.parametrize(
    ("stored", "to_people", "back"),
    [
        ({}, "to people", ""),
        ({SWITCH: ON, BEFORE: {"L": [OFF]}}, "", "as before"),
        ({SWITCH: OFF, BEFORE: {"L": [OFF]}}, "to people", "kept as changed in the meantime"),
    ],
)
def test_the_trail_says_what_an_action_does_to_the_routing(stored, to_people, back):
    assert describe_routing_change(stored, for_people=True) == to_people
    assert describe_routing_change(stored, for_people=False) == back


@pytest.mark.parametrize(
    ("stage", "queues", "expected"),
    [
        ("stage", {"sms": "https://sqs.example/1/q", "email": ""}, True),
        ("stage", {"sms": "", "email": ""}, False),
        ("stage", {}, False),
        ("", {"sms": "https://sqs.example/1/q"}, False),
    ],
)
def test_messages_lead_back_to_the_ai_by_the_stage_table_and_a_queue(settings, stage, queues, expected):
    settings.TABLE_NAMES, settings.CHANNEL_QUEUE_URLS = {"CONVERSATIONS_STAGE": stage}, queues
    assert leads_back_to_ai() is expected


def test_routing_is_involved_where_it_is_on_or_was(settings):
    settings.HAND_OFF_ROUTING = "off"
    assert not involves_routing({SWITCH: ON})
    assert involves_routing({BEFORE: {"L": []}})
    settings.HAND_OFF_ROUTING = "held"
    assert involves_routing({})


# --- Conditions -------------------------------------------------------------------------------------------------------


def of(conditions: Conditions) -> tuple[str, dict]:
    """The clause after the one that the item exists, and the values that it names."""
    exists, *clauses = conditions.clauses
    assert exists == "attribute_exists(primary_channel)"
    return " AND ".join(clauses), conditions.values


def nothing(name: str) -> str:
    return f"attribute_not_exists(#{name}) OR attribute_type(#{name}, :null)"


@pytest.mark.parametrize(
    ("seen", "stored", "further"),
    [
        (True, {FLAG: ON}, ""),
        (True, {FLAG: {"S": "true"}}, f" OR #{FLAG} = :drifted_flag"),
        (True, {FLAG: {"S": "no"}}, ""),
        (True, {FLAG: NULL}, ""),
        (False, {}, f" OR {nothing(FLAG)}"),
        (False, {FLAG: OFF}, f" OR {nothing(FLAG)}"),
        (False, {FLAG: NULL}, f" OR {nothing(FLAG)}"),
        (False, {FLAG: {"N": "0"}}, f" OR {nothing(FLAG)} OR #{FLAG} = :drifted_flag"),
        (False, {FLAG: {"S": "true"}}, f" OR {nothing(FLAG)}"),
    ],
)
def test_a_flag_is_as_seen_in_every_spelling_of_it_and_in_no_other(seen, stored, further):
    conditions = Conditions()
    conditions.flag(seen, stored)
    clause, values = of(conditions)
    assert clause == f"(#{FLAG} = :seen_flag{further})"
    drifted = {":drifted_flag": stored[FLAG]} if "drifted" in further else {}
    assert values == {":seen_flag": {"BOOL": seen}} | drifted | ({} if seen else {":null": {"S": "NULL"}})


@pytest.mark.parametrize(
    ("seen", "stored", "further"),
    [
        ("ana", {AGENT: {"S": "ana"}}, ""),
        ("ana", {AGENT: {"L": []}}, ""),
        ("", {}, f" OR {nothing(AGENT)}"),
        ("", {AGENT: {"S": ""}}, f" OR {nothing(AGENT)}"),
        ("", {AGENT: NULL}, f" OR {nothing(AGENT)}"),
        ("", {AGENT: {"N": "7"}}, f" OR {nothing(AGENT)} OR #{AGENT} = :drifted_{AGENT}"),
    ],
)
def test_a_text_is_as_seen_and_nothing_is_only_as_nothing(seen, stored, further):
    conditions = Conditions()
    conditions.text(AGENT, seen, stored)
    clause, values = of(conditions)
    assert clause == f"(#{AGENT} = :seen_{AGENT}{further})"
    drifted = {f":drifted_{AGENT}": stored[AGENT]} if "drifted" in further else {}
    assert values == {f":seen_{AGENT}": {"S": seen}} | drifted | ({} if seen else {":null": {"S": "NULL"}})


def test_a_request_that_names_no_value_carries_none():
    request = update_item("+44", "c", Expression(removed=("x",)), Conditions())
    assert "ExpressionAttributeValues" not in request
    assert request["UpdateExpression"] == "REMOVE #x"


def test_as_seen_is_of_flag_holder_and_last_action():
    conditions = as_seen(True, "ana", "before", {})
    assert set(conditions.names.values()) == {FLAG, AGENT, LAST}
    assert len(conditions.clauses) == 4


READ = [
    ({}, "attribute_not_exists(#x)", {}),
    ({"x": NULL}, "attribute_type(#x, :null)", {":null": {"S": "NULL"}}),
    ({"x": {"N": "7"}}, "#x = :read_x", {":read_x": {"N": "7"}}),
    ({"x": {"M": {"S": {"S": "a"}}}}, "#x = :read_x", {":read_x": {"M": {"S": {"S": "a"}}}}),
]
OF_A_LENGTH = [
    ({"x": {"S": "aé😀"}}, "7"),
    ({"x": {"S": ""}}, "0"),
    ({"x": {"L": [{"S": "long text"}, NULL]}}, "2"),
    ({"x": {"L": []}}, "0"),
]


@pytest.mark.parametrize(("stored", "clause", "values"), READ)
def test_as_read_is_exactly_the_value(stored, clause, values):
    conditions = Conditions()
    conditions.as_read("x", stored)
    assert of(conditions) == (clause, values)
    assert conditions.names == {"#x": "x"}


@pytest.mark.parametrize("stored", [stored for stored, _ in OF_A_LENGTH])
def test_as_read_is_of_the_content_of_a_text_or_list(stored):
    conditions = Conditions()
    conditions.as_read("x", stored)
    assert of(conditions) == ("#x = :read_x", {":read_x": stored["x"]})


@pytest.mark.parametrize(("stored", "length"), OF_A_LENGTH)
def test_as_long_as_read_counts_bytes_of_a_text_and_elements_of_a_list(stored, length):
    conditions = Conditions()
    conditions.as_long_as_read("x", stored)
    assert of(conditions) == ("size(#x) = :length_x", {":length_x": {"N": length}})
    assert conditions.names == {"#x": "x"}


@pytest.mark.parametrize(("stored", "clause", "values"), READ)
def test_what_has_no_length_is_exactly_as_read(stored, clause, values):
    conditions = Conditions()
    conditions.as_long_as_read("x", stored)
    assert of(conditions) == (clause, values)
