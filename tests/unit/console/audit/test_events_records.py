"""Idempotency records as pages see them: every attribute of the schema, redacted, drift flagged and never an error."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.audit.events.records import record_of
from console.audit.state import panel_of
from console.clock import to_iso
from console.refs import seal, unseal
from console.trail.models import ConversationState, IdempotencyRecord
from tests import items
from tests.dynamodb import to_dynamodb

NOW = clock.now().replace(microsecond=0)
CONVERSATION = "ci-aaa-001#pi-aaa-001#req1#447700900123"
MASKED = "ci-aaa-001#pi-aaa-001#req1#***-***-0123"
KEY = f"evt:rp:{CONVERSATION}:m1"


def event(key: str = KEY, **more):
    return items.event(NOW, **{"event_id": key, "conversation_id": CONVERSATION} | more)


def record(**more):
    return record_of(IdempotencyRecord.from_raw_data(to_dynamodb(event(**more))), NOW)


def facts(found):
    return {fact.label: fact for fact in (*found.facts, *found.switches)}


# --- One record -----------------------------------------------------------------------------------------------------


def test_a_record_shows_every_attribute_of_the_schema():
    found = record()
    told = facts(found)
    assert found.words == f"Message m1 of conversation {MASKED} came in"
    assert (found.key, found.status, found.tone, found.mode) == (
        f"evt:rp:{MASKED}:m1",
        "processed",
        "good",
        "route only",
    )
    assert {label: fact.value for label, fact in told.items() if not fact.at} == {
        "Mode": "route only",
        "Intent": "order_status",
        "Conversation": MASKED,
        "Source message": "m1",
        "Payload digest": "ab" * 32,
        "Payload size": "1,234 bytes",
        "Safe mode": "off",
        "Automation": "enabled",
    }
    assert {label: fact.at for label, fact in told.items() if fact.at} == {
        "Created": NOW - timedelta(hours=3),
        "Received": NOW - timedelta(hours=3, seconds=1),
        "Last processed": NOW - timedelta(hours=3),
        "Expires": NOW + timedelta(days=12, hours=1),
    }
    assert (told["Created"].note, told["Expires"].note) == ("(3 h ago)", "(in 12 days)")
    assert (told["Payload digest"].note, found.flaws, found.other) == ("payload_sha256", (), None)
    assert unseal("event", found.reference, 1) == (KEY,)


@pytest.mark.parametrize("message", ["wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhgU", "SMa119b9c78124375b5e0183f147e06066"])
def test_the_source_message_is_shown_as_the_key_shows_it(message):
    found = record(event_id=f"evt:rp:{CONVERSATION}:{message}", source_message_id=message)
    shown = facts(found)["Source message"].value
    assert found.key == f"evt:rp:{MASKED}:{shown}"
    state = panel_of(ConversationState.from_raw_data(to_dynamodb({"last_processed_message_id": message})), NOW)
    assert shown in [fact.value for fact in (*state.facts, *state.technical)]


def test_the_digest_is_shown_in_either_spelling_and_a_difference_said():
    older = facts(record(payload_sha256=..., payload_hash="cd" * 32))["Payload digest"]
    assert (older.value, older.note) == ("cd" * 32, "payload_hash")
    both = record(payload_hash="ab" * 32)
    assert [fact.note for fact in both.facts if fact.label == "Payload digest"] == ["payload_sha256", "payload_hash"]
    assert (both.flaws, both.other) == ((), None)
    assert record(payload_hash="cd" * 32).flaws == ("payload_sha256 and payload_hash differ",)


def test_what_the_console_adds_is_shown():
    found = record(
        key=f"act:hand_off:{CONVERSATION}:{'a1' * 16}",
        mode="console",
        safe_mode=False,
        automation_enabled=False,
        ts_action_id=f"{to_iso(NOW)}#{'a1' * 16}",
        attempts=2,
        reference=seal("conversation", "+447700900123", CONVERSATION),
        status="pending",
    )
    told = facts(found)
    assert (told["Attempts"].value, told["Reference"].value) == ("2", "sealed, of the conversation")
    assert told["Trail entry"].value == f"{to_iso(NOW)}#{'a1' * 16}"
    assert "no switch applies" in told["Automation"].note
    assert (found.tone, found.mode, found.flaws) == ("human", "console: a person acted", ())


@pytest.mark.parametrize(
    ("status", "tone"),
    [("processed", "good"), ("pending", "human"), ("conflict", "bad"), ("failure: x", "bad"), ("odd", "plain")],
)
def test_a_status_has_its_tone(status, tone):
    assert record(status=status).tone == tone


def test_a_switch_that_holds_automation_back_stands_out():
    told = facts(record(safe_mode=True, automation_enabled=False))
    assert [(told[name].value, told[name].tone) for name in ("Safe mode", "Automation")] == [
        ("on", "human"),
        ("disabled", "human"),
    ]


@pytest.mark.parametrize(
    ("drift", "flaw"),
    [
        ({"created_at": 7}, "created_at: number instead of text"),
        ({"last_processed_at": "yesterday"}, "last_processed_at: not a readable time"),
        ({"expires_at": ...}, "missing: expires_at"),
        ({"expires_at": "soon"}, "expires_at: text instead of number"),
        ({"safe_mode": "false"}, "safe_mode: text instead of boolean"),
        ({"payload_bytes": "12"}, "payload_bytes: text instead of number"),
        ({"payload_sha256": ...}, "missing: payload_sha256"),
        ({"status": None, "mode": ...}, "missing: status, mode"),
        ({"intent": {"a": [1]}}, "intent: map instead of text"),
        ({"conversation_id": ...}, "missing: conversation_id"),
        ({"conversation_id": "c2"}, "the key names another conversation: ci-aaa-001#pi-aaa-001#req1#***-***-0123"),
        ({"novelty": {"deep": [1]}}, "unknown attributes: novelty"),
        ({"attempts": 1.5}, ""),
        ({"received_at": ...}, ""),
    ],
)
def test_what_does_not_fit_the_schema_is_flagged_and_the_rest_is_shown(drift, flaw):
    found = record(**drift)
    assert found.flaws == ((flaw,) if flaw else ())
    assert facts(found)["Payload size"].value


def test_personal_data_of_careless_writers_is_masked_everywhere():
    found = record(
        status="failed for +447700900123",
        mode={"customer_name": "Jo Doe", "at": "jo@doe.example"},
        intent="call 07700 900123",
        source_message_id="wamid.HBgMNDQ3NzAwOTAwMTIz",
        payload_bytes=447700900123,
        payload_hash="+447700900123",
        **{"jo@doe.example": "x", "phone": "07700 900123", "note": "order 1048211"},
    )
    everything = repr(found)
    for secret in ("7700900123", "7700 900123", "jo@doe.example", "HBgMNDQ3", "1048211", "Jo Doe"):
        assert secret not in everything
    assert found.words.endswith(f"of conversation {MASKED} came in")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(max_size=30) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.dictionaries(st.sampled_from([*event(), "payload_hash", "attempts", "ts_action_id", "reference", "new"]), VALUES)
)
def test_any_item_is_a_record(attributes):
    found = record(**(attributes | {"event_id": KEY}))
    assert found.words
    repr(found).encode()
