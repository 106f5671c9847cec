"""Stored messages, read entry by entry: every drift is one flagged message, never an error."""

import json
import re
from decimal import Decimal

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console.permissions import Role, Scope, Staff
from conversations.messages.message import StoredMessages
from conversations.messages.transcript import HandOffHistory, transcript
from conversations.records import Message, Speaker
from tests.dynamodb import to_dynamodb

AGENT = Staff("amira.haddad", "Amira Haddad", Role.AGENT, Scope(everything=True))
AUDITOR = Staff("aiko.mori", "Aiko Mori", Role.AUDITOR, Scope(everything=True))

TEXT = st.text(max_size=40) | st.sampled_from(
    ["<script>alert(1)</script>", "2026-01-01T00:00:00Z", "assistant", "user"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXT
NAMES = TEXT | st.sampled_from(
    sorted(
        {"entry_id", "message_timestamp", "timestamp", "role", "sender", "author", "from", "type", "content", "text"}
        | {"body", "parts", "function_call", "tool_calls", "usage", "image_url", "input", "name", "arguments", "code"}
        | {"value", "api_key", "processing_time_ms", "ai_total_tokens"}
    )
)
JSON_LIKE = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(NAMES, inner, max_size=6), max_leaves=30
)


def stored(messages, **kwargs) -> StoredMessages:
    return StoredMessages.of(to_dynamodb({"messages": messages})["messages"], **kwargs)


def only(entry, *, raw=True) -> Message:
    messages = stored([entry])
    assert len(messages) == 1
    return messages.message(1, raw=raw)


def rendered(messages: StoredMessages, staff=AGENT) -> str:
    shown = transcript(messages, HandOffHistory(), staff)
    return render_to_string("conversations/_transcript.html", {"transcript": shown, "reference": "ref", "staff": staff})


def test_a_message_as_the_schema_says():
    message = only(
        {
            "entry_id": "uuid-1",
            "message_timestamp": "2023-11-01T12:05:00Z",
            "role": "assistant",
            "content": "Hello",
            "ai_prompt_tokens": 150,
            "ai_completion_tokens": 50,
            "ai_total_tokens": 200,
            "processing_time_ms": 850,
        }
    )
    assert (message.speaker, message.speaker_name, message.blocks[0].text) == (Speaker.AI, "AI", "Hello")
    assert message.at.isoformat() == "2023-11-01T12:05:00+00:00"
    assert message.tokens == {"prompt": 150, "completion": 50, "total": 200}
    assert message.processing_ms == 850
    assert message.drift == ()


@pytest.mark.parametrize(
    ("entry", "speaker", "text"),
    [
        ({"timestamp": 1700000000, "role": "user", "text": "a"}, Speaker.CUSTOMER, "a"),
        ({"timestamp": "1700000000123", "role": "Assistant ", "body": "b"}, Speaker.AI, "b"),
        ({"timestamp": Decimal("1700000000.5"), "role": "agent", "content": True}, Speaker.HUMAN, "true"),
        ({"message_timestamp": "2023-11-01T12:05:00+00:00Z", "role": "tool", "content": 12}, Speaker.SYSTEM, "12"),
    ],
)
def test_other_spellings_inside_a_message_are_understood(entry, speaker, text):
    message = only(entry)
    assert (message.speaker, message.blocks[0].text) == (speaker, text)
    assert message.at is not None
    assert message.drift == ()


@pytest.mark.parametrize(
    ("entry", "flaws"),
    [
        ({"role": "+447700900999", "timestamp": 1, "text": "hi"}, ("its sender is not of a known kind",)),
        ({"from": "+447700900999", "ts": 1, "text": "hi"}, ("it does not say who wrote it", "it has no time")),
    ],
)
def test_an_unknown_sender_is_flagged_and_never_shown_in_full(entry, flaws):
    message = only(entry)
    assert (message.speaker, message.drift, message.blocks[0].text) == (Speaker.UNKNOWN, flaws, "hi")
    assert message.speaker_name
    assert "7700900" not in message.speaker_name


@pytest.mark.parametrize("entry", [None, 3, "just text", True, [], {}, ["a"], {"role": None}, {"content": None}])
def test_a_bad_message_is_one_flagged_message_and_the_others_stay(entry):
    messages = stored([{"role": "user", "content": "before"}, entry, {"role": "user", "content": "after"}])
    shown = [messages.message(number, raw=True) for number in (1, 2, 3)]
    assert [message.number for message in shown] == [1, 2, 3]
    assert shown[1].drift
    assert shown[0].blocks[0].text == "before"
    assert shown[2].blocks[0].text == "after"


def test_json_text_is_read_like_a_list():
    entries = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    messages = stored(json.dumps(entries))
    assert [messages.message(n, raw=True).blocks[0].text for n in (1, 2)] == ["hi", "hello"]
    assert messages.drift == "text instead of list"


@pytest.mark.parametrize(
    "value", ["not json", "[" * 5000, '{"messages": 3}', "[1" + "0" * 5000 + "]", {"a": 1}, 7, None, True, {"x", "y"}]
)
def test_messages_of_another_type_are_shown_and_said(value):
    messages = stored(value)
    assert messages.drift
    for number in range(1, len(messages) + 1):
        assert messages.message(number, raw=True).number == number
    rendered(messages)


def test_absent_messages_are_none():
    assert len(StoredMessages.of(None)) == 0
    assert StoredMessages.of(None).drift == "missing"


def test_parts_of_content_become_blocks():
    parts = [
        "plain",
        {"type": "text", "text": {"value": "nested"}},
        {"type": "code", "language": "python", "text": "print(1)"},
        {"type": "image_url", "image_url": {"url": "https://files.example/cv.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "tool_use", "name": "lookup", "input": {"job": "JR1", "api_key": "abcdefghijklmnop"}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found"}]},
        {"type": "novelty", "x": {"y": True}},
    ]
    blocks = only({"role": "assistant", "content": parts}).blocks
    assert [block.kind for block in blocks] == [
        "text", "text", "code", "image", "image", "tool_use", "tool_result", "data",
    ]  # fmt: skip
    assert [blocks[0].text, blocks[1].text, blocks[2].text] == ["plain", "nested", "print(1)"]
    assert blocks[3].text == "https://files.example/cv.png"
    assert blocks[4].text.startswith("embedded (image/png")
    assert blocks[5].label == "lookup"
    assert {child.key: child.text for child in blocks[5].data.children} == {"job": "JR1", "api_key": "***mnop"}
    assert blocks[6].text == "found"
    assert blocks[7].data.kind == "object"


def test_images_are_named_and_never_loaded():
    html = rendered(
        stored([{"role": "user", "content": [{"type": "image_url", "image_url": "https://x.example/a.png"}]}])
    )
    assert "https://x.example/a.png" in html
    assert "<img" not in html
    assert 'href="https://x.example' not in html


def test_calls_beside_the_content_are_shown():
    call = {"id": "1", "type": "function", "function": {"name": "submit", "arguments": '{"cv": 7}'}}
    blocks = only({"role": "assistant", "content": None, "tool_calls": [call]}).blocks
    assert [(block.kind, block.label) for block in blocks] == [("function_call", "submit")]
    assert blocks[0].data.children[0].text == "7"


def test_what_the_platform_begins_with_is_an_instruction_and_what_a_customer_wrote_is_not():
    messages = stored([{"role": role, "content": "x"} for role in ("user", "user", "assistant", "user")])
    assert [messages.message(n, raw=True).is_initial_prompt for n in (1, 2, 3, 4)] == [True, False, False, False]
    assert messages.message(1, raw=True).speaker_name == "Instruction to the AI"
    for first in (
        {"role": "user", "content": "hello?", "message_id": "SM1"},  # it came over a channel
        {"role": "assistant", "content": "Hello"},
        "hello?",
    ):
        assert not stored([first]).message(1, raw=True).is_initial_prompt, first


def test_redaction_reaches_text_trees_and_names_below_the_template():
    entry = {
        "role": "user",
        "content": [
            {"type": "text", "text": "mail me: jo@doe.example or +447700900123"},
            {"type": "code", "text": "call('+447700900123')"},
            {"type": "novelty", "phone": "+447700900123"},
        ],
    }
    everything = repr(only(entry, raw=False))
    assert "jo@doe.example" not in everything
    assert "7700900123" not in everything
    assert "jo@doe.example" in repr(only(entry, raw=True))


def test_anchors_are_stable_when_messages_are_added_and_tell_equal_ids_apart():
    entries = [{"entry_id": "same"}, {"entry_id": "same"}, {"role": "user"}, {"entry_id": 7}, {"entry_id": "7"}]
    before, after = stored(entries), stored([*entries, {"entry_id": "same"}])
    anchors = [after.anchor(number) for number in range(1, 7)]
    assert anchors[:5] == [before.anchor(number) for number in range(1, 6)]
    assert len(set(anchors)) == 6
    assert [after.number_of(anchor) for anchor in anchors] == [1, 2, 3, 4, 5, 6]
    assert after.number_of("nothing") == 0


def test_an_anchor_made_before_a_change_of_key_still_finds_its_message(settings):
    messages = stored([{"entry_id": "a"}, {"entry_id": "b"}])
    anchor = messages.anchor(2)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another-key-that-is-long-enough-to-be-one"
    assert messages.anchor(2) != anchor
    assert messages.number_of(anchor) == 2


@hypothesis_settings(deadline=None)
@given(st.lists(st.text(min_size=1, max_size=8) | st.none(), max_size=60))
def test_no_two_messages_share_an_anchor(identities):
    messages = StoredMessages([{"entry_id": identity} for identity in identities])
    anchors = {messages.anchor(number) for number in range(1, len(identities) + 1)}
    assert len(anchors) == len(identities)


@pytest.mark.slow
@hypothesis_settings(deadline=None)
@given(JSON_LIKE)
def test_any_value_renders_without_an_error_and_text_stays_text(value):
    for messages in (StoredMessages([value]), StoredMessages([{"role": "user", "content": value}])):
        for staff in (AGENT, AUDITOR):
            html = rendered(messages, staff)
            assert "<script" not in html
            html.encode()


@pytest.mark.slow
@hypothesis_settings(deadline=None)
@given(JSON_LIKE)
def test_any_json_text_renders_without_an_error(value):
    text = json.dumps(value, default=str)
    for staff in (AGENT, AUDITOR):
        rendered(StoredMessages.of({"S": text}), staff).encode()


def test_lone_surrogates_of_json_escapes_can_be_sent():
    html = rendered(StoredMessages.of({"S": '[{"role": "user", "content": "a\\ud800b", "entry_id": "\\udfff"}]'}))
    assert "a?b" in html


@given(st.text(min_size=1, max_size=40))
def test_an_anchor_holds_no_digits_that_could_pass_for_a_phone_number(entry_id):
    stored = StoredMessages.of({"L": [{"M": {"entry_id": {"S": entry_id}, "content": {"S": "x"}}}]})
    assert re.fullmatch(r"[a-p]{16}", stored.anchor(1))


@pytest.mark.parametrize(
    ("tokens", "took", "cost"),
    [
        (
            {"prompt": 1180, "cached": 96, "completion": 0, "total": 1180},
            *(850, "850 ms · 1180 prompt (96 cached) + 0 completion = 1180 tokens"),
        ),
        ({"total": 7}, None, "= 7 tokens"),
        ({}, 0, "0 ms"),
        ({}, None, ""),
    ],
)
def test_what_a_message_took_is_said_in_one_line(tokens, took, cost):
    message = Message(1, "a", Speaker.AI, "AI", None, (), tokens=tokens, processing_ms=took)
    assert message.cost == cost
