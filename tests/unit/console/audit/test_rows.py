"""Trail entries in words: what was done, tried or is open; redacted again; drift flagged and never an error."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console.audit.rows import row_of_entry, row_of_record
from console.audit.sentences import label_of, sentence
from console.trail.actions import Action
from console.trail.models import AuditEntry, IdempotencyRecord
from tests.dynamodb import to_dynamodb


def test_every_kind_of_action_has_a_label_of_its_own():
    labels = [label_of(each) for each in Action]
    assert sorted(each for each in labels if labels.count(each) > 1) == []


NAMES = {"amira.haddad": "Amira Haddad"}


def row(**attributes):
    values = {"conversation_id": "c1", "ts_action_id": "2026-03-02T09:00:00Z#a1", "result": "success", **attributes}
    entry = AuditEntry.from_raw_data(to_dynamodb(values))
    return row_of_entry(entry, NAMES, None)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"action_type": "hand_off.take_over", "actor": "amira.haddad"}, "Amira Haddad took over"),
        ({"action_type": "hand_off.take_over", "actor": "tom.becker"}, "tom.becker took over"),
        ({"action_type": "hand_off.request", "actor": "platform"}, "The platform asked for a human"),
        ({"action_type": "hand_off.request", "actor": "rule"}, "A rule asked for a human"),
        ({"action_type": "route", "action_payload_redacted": '{"team": "Returns team"}'}, "Routed to Returns team"),
        ({"action_type": "route", "action_payload_redacted": {"routed_team": "Sales"}}, "Routed to Sales"),
        ({"action_type": "route"}, "Routed"),
        ({"action_type": "tag", "action_payload_redacted": '{"tags": ["a", "b"]}'}, "Tagged a, b"),
        ({"action_type": "auto_reply", "action_payload_redacted": "no json"}, "Sent an automatic reply"),
        ({"action_type": "escalate", "action_payload_redacted": '{"reason": "angry"}'}, "Escalated: angry"),
        (
            {"action_type": "recipient.revealed", "actor": "amira.haddad"},
            "Amira Haddad revealed the recipient",
        ),
        (
            {
                "action_type": "hand_off.take_from_colleague",
                "actor": "amira.haddad",
                "action_payload_redacted": '{"held by": "tom.becker"}',
            },
            "Amira Haddad took it from tom.becker",
        ),
        (
            {
                "action_type": "hand_off.assign",
                "actor": "amira.haddad",
                "action_payload_redacted": '{"colleague": "ben.stone", "held by": "tom.becker"}',
            },
            "Amira Haddad transferred it to ben.stone",
        ),
        (
            {"action_type": "tenant.changed", "action_payload_redacted": '{"changed": "language, ai_model"}'},
            "Changed the tenant's settings: language, AI model",
        ),
        (
            {"action_type": "levels.changed", "action_payload_redacted": '{"company": "c", "of": "Returns of Acme"}'},
            "Changed the service levels of Returns of Acme",
        ),
        (
            {"action_type": "levels.changed", "action_payload_redacted": '{"company": "c"}'},
            "Changed the service levels of c",
        ),
        ({"action_type": "group.changed", "action_payload_redacted": '{"group": "Night"}'}, "Changed the group Night"),
        (
            {"action_type": "group.changed", "action_payload_redacted": '{"group": "Night", "added": true}'},
            "Added the group Night",
        ),
        (
            {
                "action_type": "destination.changed",
                "action_payload_redacted": '{"destination": "Pager", "deleted": true}',
                "result": "failed",
            },
            "Tried to remove the destination Pager",
        ),
        ({"action_type": "audit.exported"}, "Exported the audit review"),
        (
            {"action_type": "target.missed", "actor": "timer"},
            "An answer became overdue",
        ),
        ({"action_type": "warm_up", "actor": "worker"}, "worker: warm up"),
        ({"action_type": "warm_up"}, "Warm up"),
        ({}, "Unknown"),
    ],
)
def test_an_entry_is_a_sentence(attributes, words):
    assert row(**attributes).sentence == words


@pytest.mark.parametrize(
    ("result", "outcome", "words", "tone", "note"),
    [
        ("success", "success", "Amira Haddad took over", "human", ""),
        ("pending", "pending", "Amira Haddad is about to take over", "pending", ""),
        ("conflict: tom.becker won", "conflict", "Amira Haddad tried to take over", "bad", "tom.becker won"),
        ("fail", "failed", "Amira Haddad tried to take over", "bad", ""),
        ("FAILURE: timeout", "failed", "Amira Haddad tried to take over", "bad", "timeout"),
        ("failed", "failed", "Amira Haddad tried to take over", "bad", ""),
        ("something else: x", "unknown", "Amira Haddad took over", "human", "something else: x"),
    ],
)
def test_the_outcome_decides_the_tense(result, outcome, words, tone, note):
    shown = row(action_type="hand_off.take_over", actor="amira.haddad", result=result)
    assert (shown.outcome, shown.sentence, shown.tone, shown.note) == (outcome, words, tone, note)
    assert shown.is_pending is (outcome == "pending")


def test_what_was_undone_is_no_failure():
    taken_back = "failed: taken back by tom.becker before it was sent"
    payload = '{"channel": "whatsapp"}'
    shown = row(action_type="reply.send", actor="amira.haddad", action_payload_redacted=payload, result=taken_back)
    assert shown.sentence == "Amira Haddad began to answer the customer over WhatsApp, then undid it"
    assert (shown.outcome, shown.tone, shown.note) == ("undone", "", "taken back by tom.becker before it was sent")


def test_a_colleague_is_named_as_the_actor_is():
    taken = {"action_type": "hand_off.take_from_colleague", "actor": "tom.becker"}
    for payload in ({"from": "amira.haddad"}, {"held by": "amira.haddad"}):
        shown = row(**taken, action_payload_redacted=json.dumps(payload))
        assert shown.sentence == "tom.becker took it from Amira Haddad"
    for payload in ({"from": ["amira.haddad"]}, {"from": {"amira.haddad": 1}}, "amira.haddad", None):
        assert row(**taken, action_payload_redacted=json.dumps(payload)).sentence


@pytest.mark.parametrize(
    ("action", "payload", "words"),
    [
        ("route", {"team": "desk", "intent": "reschedule", "confidence": 0.56}, "to desk: reschedule, 56 %"),
        ("route", {"team": "x", "intent": "bill_too_high", "confidence": "0.9"}, "to x: bill too high, 90 %"),
        ("route", {"intent": "reschedule"}, "Routed: reschedule"),
        ("route", {"team": "x", "confidence": True, "intent": {"a": 1}, "priority": 3, "flags": {"a": 1}}, "to x"),
        ("route", {"team": "x", "confidence": 56, "intent": "", "priority": None, "flags": []}, "to x"),
        ("escalate", {"team": "human", "flags": [], "priority": "high"}, "Escalated to human: high priority"),
        (
            "escalate",
            {"team": "human", "flags": ["chargeback", "legal_threat"], "priority": "high priority"},
            "Escalated to human: high priority, chargeback, legal threat",
        ),
        ("escalate", {"reason": "angry", "risk_flags": "chargeback"}, "Escalated: angry, chargeback"),
        ("auto_reply", {"template": "order_status", "excerpt": "x"}, "Sent an automatic reply: order status"),
        (
            "auto_reply",
            {"type": "next_steps", "intent": "reschedule", "confidence": 0.995},
            "Sent an automatic reply: next steps, reschedule, 99.5 %",
        ),
        ("auto_reply", {"template_id": 12}, "Sent an automatic reply: 12"),
        ("auto_reply", {"intent": "reschedule"}, "Sent an automatic reply: reschedule"),
        ("tag", {"tag": "vip", "reason": "third order"}, "Tagged vip: third order"),
        ("rp_assign", {"team": "human", "priority": "low"}, "Assigned to human: low priority"),
        ("rp_tag", {"tag": "vip"}, "Set a tag: vip"),
        ("shopify_lookup", {"order": "***4821", "found": False}, "Looked up an order: ***4821, not found"),
        ("shopify_lookup", {"order": "***4821", "found": "no"}, "Looked up an order: ***4821"),
    ],
)
def test_what_the_middleware_did_says_why(action, payload, words):
    shown = row(action_type=action, action_payload_redacted=json.dumps(payload)).sentence
    assert shown == (f"Routed {words}" if words.startswith("to ") else words)


def test_what_was_tried_says_why_too():
    payload = json.dumps({"team": "front-desk", "intent": "reschedule", "confidence": 0.56})
    shown = row(action_type="route", action_payload_redacted=payload, result="fail (timeout)")
    assert (shown.sentence, shown.note) == ("Tried to route to front-desk: reschedule, 56 %", "timeout")


@pytest.mark.parametrize("name", ["team", "intent", "priority", "flags", "reason", "type", "tag", "confidence"])
@pytest.mark.parametrize("value", ["+447700900123", "order_10482133", "ring_44_7700_900123", ["+44 7700 900123"]])
@pytest.mark.parametrize("action", ["route", "escalate", "auto_reply", "tag", "rp_assign", "shopify_lookup"])
def test_no_reason_tells_what_is_masked(action, name, value):
    shown = row(action_type=action, action_payload_redacted=json.dumps({name: value})).sentence
    assert "7700900123" not in shown.replace(" ", "")
    assert "10482133" not in shown


def test_who_is_the_middleware_where_nobody_is_named():
    for actor in (None, ""):
        shown = row(action_type="route", actor=actor)
        assert (shown.who, shown.sentence) == ("Middleware", "Routed")


@pytest.mark.parametrize("action", list(Action))
def test_every_action_has_its_own_words(action):
    said = {sentence(action, "Jo", outcome, {}) for outcome in ("success", "pending", "conflict")}
    by_nobody = "An answer became overdue"
    assert all(
        words.startswith(("Jo ", by_nobody)) and "_" not in words and "[" not in words and "{" not in words
        for words in said
    )


def test_what_a_careless_writer_left_is_redacted_again():
    shown = row(
        action_type="auto_reply",
        action_payload_redacted=json.dumps({"type": "x", "to": "+447700900123", "text": "mail jo@doe.example"}),
        idempotency_key="act:rp_reply:ci#pi#r1#447700900123:msg1",
        result="failed: no answer from jo@doe.example",
        actor="+447700900123",
    )
    everything = repr(shown)
    assert "7700900123" not in everything
    assert "jo@doe.example" not in everything
    assert shown.key.endswith(":msg1")


def test_an_order_number_in_a_key_keeps_its_last_four_digits_only():
    assert row(idempotency_key="act:shopify_lookup:c1:104821").key == "act:shopify_lookup:c1:***4821"
    assert row(idempotency_key="evt:rp:c1:104821").key == "evt:rp:c1:104821"


@pytest.mark.parametrize(
    "attributes",
    [
        {"action_type": 7},
        {"action_type": None},
        {"result": ["x"]},
        {"result": None},
        {"action_payload_redacted": b"\x00\xff"},
        {"action_payload_redacted": '{"cut off": "te'},
        {"action_payload_redacted": '"\\ud800"'},
        {"action_payload_redacted": "[" * 5000},
        {"actor": {"name": "x"}},
        {"idempotency_key": 3},
        {"ts_action_id": "no time at all"},
        {"novelty": {"deep": [1]}},
    ],
)
def test_a_drifted_entry_is_a_row_all_the_same(attributes):
    shown = row(**attributes)
    assert shown.sentence
    repr(shown).encode()


def test_a_row_without_a_time_says_so():
    assert row(ts_action_id="nothing").drift == ("its time cannot be read",)


@pytest.mark.parametrize(
    "key", ["2026-03-02T09:00:00+00:00Z#x", "1772442000#x", "1772442000000#x", "2026-03-02T10:00:00+01:00"]
)
def test_the_time_is_read_in_every_spelling(key):
    assert row(ts_action_id=key).at.isoformat() == "2026-03-02T09:00:00+00:00"


def test_an_entry_made_once_an_hour_tells_its_minute():
    shown = row(
        action_type="transcript.opened",
        ts_action_id="2026-03-02T09:00:00.000Z#transcript.opened.x",
        action_payload_redacted='{"at": "2026-03-02T09:47:11.000Z"}',
    )
    assert shown.at.isoformat() == "2026-03-02T09:47:11+00:00"
    of_another_day = row(
        action_type="transcript.opened",
        ts_action_id="2026-03-02T09:00:00.000Z#transcript.opened.x",
        action_payload_redacted='{"at": "2026-03-01T09:47:11.000Z"}',
    )
    assert of_another_day.at.isoformat() == "2026-03-02T09:00:00+00:00"


def test_an_event_is_a_line_of_its_own_and_our_own_record_is_not():
    foreign = IdempotencyRecord.from_raw_data(
        to_dynamodb({"event_id": "evt:rp:c1:m1", "received_at": "2026-03-02T09:00:00Z", "status": "processed"})
    )
    ours = IdempotencyRecord.from_raw_data(to_dynamodb({"event_id": "act:hand_off:c1:a1", "mode": "console"}))
    assert (row_of_record(foreign).sentence, row_of_record(foreign).outcome) == (
        "A message that came in",
        "processed",
    )
    tag = IdempotencyRecord.from_raw_data(to_dynamodb({"event_id": "act:rp_tag:c1:vip:m1", "conversation_id": "c1"}))
    assert (row_of_record(tag).sentence, row_of_record(tag).note) == ("A tag set", "Tag: vip")
    assert row_of_record(ours) is None


@pytest.mark.slow
@hypothesis_settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            ["action_type", "result", "actor", "actor_role", "action_payload_redacted", "idempotency_key", "new"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(max_size=30),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=8,
        ),
    )
)
def test_any_entry_is_a_row(attributes):
    assert row(**attributes).sentence
