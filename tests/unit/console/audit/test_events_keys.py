"""Idempotency keys taken apart and said in words, whatever they hold, and without personal data."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.audit.events.keys import FORMATS, UNKNOWN, decode
from console.redaction import redact
from conversations.handoff.protocol import event_key

PLATFORM = "ci-aaa-001#pi-aaa-001#req123#447700900123"
MASKED = "ci-aaa-001#pi-aaa-001#req123#***-***-0123"
HASH = "0f" * 32
ACTION = "a1" * 16


@pytest.mark.parametrize(
    ("key", "parts", "words"),
    [
        (
            "evt:rp:conv123:msg456",
            [("Conversation", "conv123"), ("Message", "msg456")],
            "Message msg456 of conversation conv123 came in",
        ),
        (
            f"evt:rp:{PLATFORM}:{HASH}",
            [("Conversation", MASKED), ("Hash of the text", HASH)],
            f"A message (known by the hash of its text) of conversation {MASKED} came in",
        ),
        (
            f"act:rp_reply:{PLATFORM}:m456",
            [("Conversation", MASKED), ("Message", "m456")],
            f"Reply to message m456 of conversation {MASKED}",
        ),
        (
            f"act:rp_tag:{PLATFORM}:vip:{HASH}",
            [("Conversation", MASKED), ("Tag", "vip"), ("Hash of the text", HASH)],
            f"Tag vip for a message (known by the hash of its text) of conversation {MASKED}",
        ),
        (
            f"act:rp_assign:{PLATFORM}:billing:m1",
            [("Conversation", MASKED), ("Team", "billing"), ("Message", "m1")],
            f"Assignment to billing for message m1 of conversation {MASKED}",
        ),
        (
            f"act:shopify_lookup:{PLATFORM}:1048211",
            [("Conversation", MASKED), ("Order", "***8211")],
            f"Look-up of order ***8211 for conversation {MASKED}",
        ),
        (
            event_key(PLATFORM, ACTION),
            [("Conversation", MASKED), ("Action", ACTION)],
            f"Hand-off action {ACTION} of conversation {MASKED}",
        ),
    ],
)
def test_every_format_is_taken_apart_and_said(key, parts, words):
    decoded = decode(key)
    assert [(part.label, part.shown) for part in decoded.parts] == parts
    assert (decoded.description, decoded.complete, decoded.certain) == (words, True, True)
    assert decoded.shown == ":".join((decoded.format.namespace, *(shown for _, shown in parts)))
    assert decoded.in_brief == re.sub(r" (?:of|for) conversation \S+", "", words)


def test_every_format_of_the_schema_is_known_by_its_own_pattern():
    for each in FORMATS:
        decoded = decode(each.pattern.replace("{conversation}", PLATFORM))
        assert (decoded.format, decoded.conversation, decoded.complete) == (each, PLATFORM, True)


@pytest.mark.parametrize(
    ("key", "texts", "certain"),
    [
        # The platform's ids end with their last #; what is between them and the message is the tag's.
        (f"act:rp_tag:{PLATFORM}:language:ar:m1", [PLATFORM, "language:ar", "m1"], False),
        (f"evt:rp:{PLATFORM}:thread:m1", [PLATFORM, "thread:m1"], False),
        ("evt:rp:ci#pi#req:1#447700900123:m1", ["ci#pi#req:1#447700900123", "m1"], True),
        ("evt:rp:ci#pi#1:m#1", ["ci#pi#1", "m#1"], True),
        # An id without any # may hold colons.
        ("evt:rp:19:abc:m1", ["19:abc", "m1"], False),
        ("act:rp_assign:c1:team:one:m1", ["c1", "team:one", "m1"], False),
    ],
)
def test_ids_with_colons_are_read_from_both_ends_and_said_to_be_guessed(key, texts, certain):
    decoded = decode(key)
    assert ([part.text for part in decoded.parts], decoded.certain) == (texts, certain)


@pytest.mark.parametrize(
    ("key", "conversation", "texts"),
    [
        ("evt:rp:19:abc:m:1", "19:abc", ["19:abc", "m:1"]),
        ("act:rp_tag:19:abc:vip:m1", "19:abc", ["19:abc", "vip", "m1"]),
        ("act:hand_off:a:b:c", "a:b", ["a:b", "c"]),
    ],
)
def test_the_record_s_conversation_settles_it(key, conversation, texts):
    decoded = decode(key, conversation)
    assert ([part.text for part in decoded.parts], decoded.certain) == (texts, True)


def test_a_conversation_that_the_key_does_not_have_decides_nothing():
    assert decode("evt:rp:c1:m1", "c2").conversation == "c1"
    assert decode("evt:rp:c10:m1", "c1").conversation == "c10"


@pytest.mark.parametrize("key", ["", ":", "evt", "evt:rp", "evt:zd:c1:m1", "act:rp_tags:c1:x:m1", "EVT:RP:c1:m1", "c1"])
def test_what_is_of_no_known_kind_is_said_to_be_unknown(key):
    decoded = decode(key)
    assert (decoded.format, decoded.description, decoded.parts, decoded.conversation) == (None, UNKNOWN, (), "")
    assert decoded.shown == key


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("evt:rp:", [("Conversation", "")]),
        ("evt:rp:c1", [("Conversation", "c1")]),
        ("evt:rp:c1:", [("Conversation", "c1"), ("Message", "")]),
        ("act:rp_tag:c1:m1", [("Conversation", "c1"), ("Rest", "m1")]),
    ],
)
def test_a_key_that_lacks_a_part_says_so(key, parts):
    decoded = decode(key)
    assert [(part.label, part.shown) for part in decoded.parts] == parts
    assert not decoded.complete
    assert "with a key that does not match the schema" in decoded.description
    assert decoded.shown == key


@pytest.mark.parametrize("pattern", ["evt:rp:c1:{}", "act:rp_reply:c1:{}", "act:rp_tag:c1:vip:{}"])
@pytest.mark.parametrize(
    ("one", "other"), [("wamid.HBgMNDQ3NzAwOTAw", "wamid.HBgMNDQ3NzAwOTAx"), ("<a1@mail.example>", "<b2@mail.example>")]
)
def test_events_stay_different_where_nothing_is_left_of_the_message_s_id(pattern, one, other, settings):
    key, of_other = pattern.format(one), pattern.format(other)
    shown = decode(key).shown
    assert re.fullmatch(re.escape(pattern.format("***-")) + "[a-p]{16}", shown)
    assert redact(shown) == shown == decode(key).shown != decode(of_other).shown
    assert decode(key).parts[-1].shown in decode(key).description
    # What stands there already, and what is still to be told apart, stays.
    assert decode(pattern.format("***")).shown == pattern.format("***")
    assert decode(pattern.format("m1 447700900123")).shown == pattern.format("m1 ***-***-0123")
    settings.SECRET_KEY = "another key, which nobody has, of some length"
    assert decode(key).shown != shown


# --- Any key --------------------------------------------------------------------------------------------------------

PHONES = st.sampled_from(
    ["447700900123", "+447700900123", "07700 900123", "+44 7700 900-123", "wamid.HBgMNDQ3NzAwOTAw"]
)
PIECES = st.one_of(PHONES, st.sampled_from([":", "#", "", HASH, "ci-aaa-001#pi-aaa-001#req1#"]), st.text())
TEXTS = st.lists(PIECES, max_size=4).map("".join)
NAMESPACES = st.sampled_from([each.namespace for each in FORMATS] + ["evt", "act:rp_", "sms"])
KEYS = st.one_of(
    st.text(), st.builds(lambda name, parts: ":".join((name, *parts)), NAMESPACES, st.lists(TEXTS, max_size=5))
)
SPOKEN = re.compile(r"7\D{0,3}7\D{0,3}0\D{0,3}0\D{0,3}9\D{0,3}0\D{0,3}0\D{0,3}1\D{0,3}2\D{0,3}3")


@given(KEYS, TEXTS)
def test_any_key_is_taken_apart_into_what_it_was_made_of(key, conversation):
    decoded = decode(key, conversation)
    if decoded.format:
        assert ":".join((decoded.format.namespace, *(part.text for part in decoded.parts))) == key
        assert len(decoded.parts) <= len(decoded.format.labels)
    assert decoded.description
    assert decoded.in_brief
    decoded.shown.encode()


@given(NAMESPACES, st.lists(st.one_of(PHONES, st.sampled_from(["c1", "ci#pi#r#447700900123", "m1"])), max_size=4))
def test_no_phone_number_survives_in_what_is_shown(namespace, parts):
    decoded = decode(":".join((namespace, *parts)))
    everything = (
        decoded.description,
        decoded.in_brief,
        decoded.shown,
        repr(decoded),
        *(part.shown for part in decoded.parts),
    )
    for text in everything:
        assert not SPOKEN.search(text)
        assert "HBgMNDQ3" not in text
