"""The middleware's state in words: every attribute of the schema, drift flagged, identifiers masked."""

from datetime import UTC, datetime, timedelta

import pytest

from console import clock
from console.audit.queries import has_record_index
from console.audit.state import NOTHING, panel_of, read_panel, read_state
from console.trail.models import ConversationState
from console.trees import per_cent, share_of
from tests import faults
from tests.dynamodb import to_dynamodb

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def at(minutes: float) -> str:
    return clock.to_iso(NOW - timedelta(minutes=minutes))


WHOLE = {
    "conversation_id": "c1",
    "last_routed_team": "Returns team",
    "last_routing_confidence": 0.87,
    "last_intent": "document_question",
    "risk_flags": {"chargeback", "fraud_suspected"},
    "pending_flow": {
        "type": "need_order_number",
        "requested_at": at(12),
        "attempts": 2,
        "order_number": "N484-65899",
        "step": "asked",
    },
    "last_auto_reply": {"type": "order_status", "sent_at": at(60), "source_message_id": "SM1"},
    "last_processed_at": at(5),
    "last_processed_message_id": "+447700900123",
    "version": 7,
    "updated_at": at(4),
    "expires_at": clock.to_epoch(NOW + timedelta(days=12, hours=1)),
    "assigned_phone": "+447700900123",
}


def panel(**changes):
    item = {name: value for name, value in (WHOLE | changes).items() if value is not ...}
    return panel_of(ConversationState.from_raw_data(to_dynamodb(item)), NOW)


def test_every_attribute_of_the_schema_is_said_in_words():
    shown = panel()
    facts = {fact.label: (fact.value, fact.note) for fact in (*shown.facts, *shown.technical)}
    assert facts == {
        "Routed to": ("Returns team", ""),
        "Routing confidence": ("87 %", "stored as 0.87"),
        "Intent": ("Document question", ""),
        "Pending flow": ("Need order number", ""),
        "Pending flow asked": ("12 min ago", ""),
        "Pending flow attempts": ("2", ""),
        "Pending flow: order number": ("***5899", ""),
        "Pending flow: step": ("asked", ""),
        "Last auto reply": ("Order status", ""),
        "Auto reply sent": ("1 h ago", ""),
        "Auto reply to message": ("SM1", ""),
        "Last processed": ("5 min ago", ""),
        "Last processed message": ("***-***-0123", ""),
        "Updated": ("4 min ago", ""),
        "Expires": ("in 12 days", ""),
        "Version": ("7", ""),
        "assigned phone": ("***-***-0123", ""),
    }
    assert shown.flags == ("Chargeback", "Fraud suspected")
    assert shown.drift == ()
    named = {each.attr_name for each in ConversationState.get_attributes().values()}
    assert named <= set(WHOLE), "an attribute of the schema is not told"


def test_a_number_in_a_name_in_code_is_masked_in_words_too():
    shown = panel(last_intent="ring_44_7700_900123")
    assert [fact.value for fact in shown.facts if fact.label == "Intent"] == ["Ring ***-***-0123"]


def test_what_the_state_dates_are_moments():
    moments = {each.name: (each.at, each.words, each.note) for each in panel().moments}
    assert moments == {
        "processed": (NOW - timedelta(minutes=5), "Last message processed", "Routed to Returns team (87 %)"),
        "auto-reply": (NOW - timedelta(minutes=60), "Last automatic reply", "Order status"),
        "pending-flow": (NOW - timedelta(minutes=12), "Waits for the customer", "Need order number"),
        "updated": (NOW - timedelta(minutes=4), "State updated", "Version 7"),
    }


@pytest.mark.parametrize(
    ("changes", "flaw", "shown"),
    [
        ({"risk_flags": ["a", 3]}, "risk_flags: list instead of text set", None),
        ({"risk_flags": "a,b"}, "risk_flags: text instead of text set", None),
        ({"risk_flags": {"x": 1}}, "risk_flags: map instead of text set", None),
        ({"pending_flow": "need_photo"}, "pending_flow: text instead of map", ("Pending flow", "need_photo")),
        ({"pending_flow": {"attempts": 1}}, "pending_flow.type: not text", ("Pending flow", "of no type")),
        (
            {"pending_flow": {"type": "x", "requested_at": "soon"}},
            "pending_flow.requested_at: not a time",
            ("Pending flow asked", "soon"),
        ),
        ({"last_auto_reply": ["x"]}, "last_auto_reply: list instead of map", ("Last auto reply", "x")),
        (
            {"last_auto_reply": {"type": "x", "sent_at": "then"}},
            "last_auto_reply.sent_at: not a time",
            ("Auto reply sent", "then"),
        ),
        (
            {"last_routing_confidence": "high"},
            "last_routing_confidence: text instead of number",
            ("Routing confidence", "high"),
        ),
        ({"last_routing_confidence": 87}, "last_routing_confidence: not between 0 and 1", ("Routing confidence", "87")),
        ({"expires_at": "later"}, "expires_at: text instead of number", ("Expires", "later")),
        ({"expires_at": ...}, "expires_at: missing", ("Expires", "")),
        ({"updated_at": None}, "updated_at: missing", ("Updated", "")),
        ({"last_processed_at": "x"}, "last_processed_at: not a time", ("Last processed", "x")),
        ({"last_routed_team": 7}, "last_routed_team: number instead of text", ("Routed to", "7")),
        ({"version": "7"}, "version: text instead of number", ("Version", "7")),
        ({"last_intent": {"a": 1}}, "last_intent: map instead of text", None),
    ],
)
def test_what_drifted_is_flagged_and_shown_as_it_is(changes, flaw, shown):
    found = panel(**changes)
    assert flaw in found.drift
    if shown:
        assert shown in [(fact.label, fact.value) for fact in (*found.facts, *found.technical)]


@pytest.mark.parametrize(
    "changes",
    [
        {"last_routed_team": "call +447700900999"},
        {"last_intent": "+447700900999"},
        {"risk_flags": {"+447700900999"}},
        {"risk_flags": ["x", {"y": "+447700900999"}]},
        {"pending_flow": {"type": "+447700900999", "+447700900999": "+447700900999"}},
        {"pending_flow": "+447700900999"},
        {"last_auto_reply": {"type": "x", "source_message_id": "+447700900999", "sent_at": "+447700900999"}},
        {"last_processed_message_id": "+447700900999"},
        {"+447700900999": {"+447700900999": ["+447700900999"]}},
        {"version": "+447700900999"},
        {"updated_at": "+447700900999"},
    ],
    ids=str,
)
def test_no_number_stands_in_it_whatever_drifts(changes):
    assert "7700900999" not in repr(panel(**changes))


@pytest.mark.parametrize(
    ("stored", "words"), [(0, "0 %"), (1, "100 %"), (0.995, "99.5 %"), ("0.5", "50 %"), (0.123456, "12.3 %")]
)
def test_confidence_in_per_cent(stored, words):
    assert per_cent(share_of(stored)) == words


@pytest.mark.parametrize("stored", [1.01, -0.1, "nan", "high", True, {}, [], float("inf")])
def test_what_is_no_share_of_one_has_no_per_cent(stored):
    assert share_of(stored) is None


# --- Reading ------------------------------------------------------------------------------------------------------


def test_state_past_its_ttl_is_gone(store):
    store.put("CONVERSATION_STATE", WHOLE | {"expires_at": clock.to_epoch(NOW) - 5})
    assert read_state("c1", NOW).notice == NOTHING
    store.put("CONVERSATION_STATE", WHOLE)
    assert read_state("c1", NOW).facts


def test_what_cannot_be_read_is_one_line(bare_store):
    assert read_state("c1", NOW).notice == "This environment has no middleware state table."
    bare_store.create_tables("CONVERSATION_STATE")
    with faults.fail_before("GetItem", table_key="CONVERSATION_STATE", times=faults.ALWAYS):
        assert read_state("c1", NOW).notice == "The middleware's state could not be read. Try again in a moment."


def test_trails_that_are_of_no_conversation_have_no_state(store):
    with store.calls() as seen:
        for trail in ("SYSTEM", "STAFF#tom", "TENANT#t1", "THREAD#x"):
            assert read_panel(trail, NOW, ()) is None
    assert not seen
    assert has_record_index()
    with store.calls() as seen:
        assert read_panel("c1", NOW, ()).notice == NOTHING
    assert sorted(call.operation for call in seen) == ["GetItem", "Query"]
