"""Items of tenants' conversations as records: whatever `messages` is, it is shown, flagged, and masked for auditors."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console import clock
from console.redaction import redact
from conversations.records import Speaker
from conversations.stores.tenant_conversations import reading
from conversations.stores.tenant_conversations.reading import (
    StoredTenantConversation,
    TenantConversation,
    as_stored,
    message,
    removal_of,
    row_of,
    summary_of,
    window,
)
from tests.support.conversations.stores.tenant_conversations.kit import read

NUMBER, EMAIL = "+447700900123", "jo@doe.example"
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(f"call {NUMBER} or {EMAIL}"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["role", "content", "text", "type", "at"]) | st.text(), inner, max_size=5)
    ),
    max_leaves=25,
)
TEXTS = (
    JSON_VALUES.map(json.dumps)
    | st.text()
    | st.builds(lambda value, cut: json.dumps(value)[:cut], JSON_VALUES, st.integers(0, 60))
)


def words_of(value: Any) -> str:
    """All that a record would show."""
    return repr(value)


@given(TEXTS)
def test_any_text_is_read_and_all_of_it_is_shown_or_counted(text):
    stored = StoredTenantConversation.of(read(messages=text))
    shown = window(stored, raw=True)
    total = len(stored.entries)
    assert [each.number for each in shown.items] == list(range(max(1, total - 99), total + 1))
    assert (shown.earlier, shown.later) == (str(total - 99) if total > 100 else "", "")
    # What is no list of messages is there as its text, with words on why.
    assert bool(stored.text) == bool(stored.notice)
    assert bool(stored.text or stored.entries or not text.strip() or stored.drift) or json.loads(text) == []


@given(TEXTS)
def test_nothing_personal_is_shown_to_who_may_not_see_it(text):
    stored = StoredTenantConversation.of(read(messages=text))
    for shown in (window(stored, raw=False), as_stored(stored, raw=False)):
        assert "7700900123" not in words_of(shown)
        assert EMAIL not in words_of(shown)
    kept, _ = as_stored(stored, raw=False)
    assert redact(kept) == kept


@pytest.mark.slow
@given(JSON_VALUES)
def test_no_message_breaks_the_others(odd):
    stored = StoredTenantConversation.of(
        read(messages=json.dumps([{"role": "user", "content": "before"}, odd, {"role": "user", "content": "after"}]))
    )
    before, _, after = window(stored, raw=True).items
    assert [each.blocks[0].text for each in (before, after)] == ["before", "after"]


@pytest.mark.parametrize(
    ("entry", "speaker", "name", "flaw"),
    [
        ({"role": "user", "content": "x"}, Speaker.CUSTOMER, "User", ""),
        ({"role": " Assistant", "content": "x"}, Speaker.AI, "Assistant", ""),
        ({"role": "system", "content": "x"}, Speaker.SYSTEM, "System", ""),
        ({"role": f"bot {NUMBER}", "content": "x"}, Speaker.UNKNOWN, "bot ***-***-0123", "role: not a value"),
        ({"role": ["user"], "content": "x"}, Speaker.UNKNOWN, "Unknown sender", "role: not a value"),
        ({"role": 7, "content": "x"}, Speaker.UNKNOWN, "7", "role: not a value"),
        ({"content": "x"}, Speaker.UNKNOWN, "Unknown sender", "does not say who"),
        ({"role": "user"}, Speaker.CUSTOMER, "User", "it has no content"),
        ("x", Speaker.UNKNOWN, "Unknown sender", "not a message but a bare value"),
        (None, Speaker.UNKNOWN, "Unknown sender", "not a message but a bare value"),
    ],
)
def test_who_wrote_it_is_told_and_what_is_odd_is_flagged(entry, speaker, name, flaw):
    shown = message(1, entry, raw=True)
    assert (shown.speaker, shown.speaker_name) == (speaker, name)
    assert flaw in " ".join(shown.drift)
    assert bool(shown.drift) == bool(flaw)


def test_structured_content_is_parts_and_other_members_are_kept_beside_it():
    entry = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "look:"},
            {"type": "tool_use", "name": "sprint_status", "input": {"q": 1}},
        ],
        "tool_calls": [{"function": {"name": "board", "arguments": "{}"}}],
        "usage": {"input_tokens": 12},
        "api_key": "sk-canary-Zx81hQ0vLeak77",
    }
    shown = message(1, entry, raw=True)
    assert [(block.kind, block.text, block.label) for block in shown.blocks] == [
        ("text", "look:", ""),
        ("tool_use", "", "sprint_status"),
        ("function_call", "", "board"),
    ]
    assert [node.key for node in shown.extra.more.children] == ["usage", "api_key"]
    assert "Zx81hQ0v" not in words_of(shown.extra.more)
    assert message(1, {"role": "user", "content": "x"}, raw=True).extra is None


def test_content_under_another_name_is_the_content():
    shown = message(1, {"role": "user", "text": "and Saturday?", "at": "noon"}, raw=True)
    assert [block.text for block in shown.blocks] == ["and Saturday?"]
    assert [node.key for node in shown.extra.more.children] == ["at"]


@pytest.mark.parametrize(
    ("messages", "entries", "drift", "text"),
    [
        (..., 0, "missing", ""),
        (None, 0, "NULL", ""),
        ("", 0, "empty text", ""),
        ("[]", 0, "", ""),
        ('[{"role": "us', 0, "not valid JSON", '[{"role": "us'),
        ('"hello"', 0, "not a list", '"hello"'),
        ('{"messages": [1, 2]}', 0, "not a list", '{"messages": [1, 2]}'),
        (json.dumps({"role": "user"}), 0, "not a list", '{"role": "user"}'),
        (7, 0, "number instead of text", "7"),
        (True, 0, "boolean instead of text", "true"),
        ({"a": [1, None]}, 0, "map instead of text", "null"),
        ({"a", "b"}, 2, "text set instead of text", ""),
    ],
)
def test_what_is_no_list_of_messages_is_flagged_and_shown_as_stored(messages, entries, drift, text):
    found = read(messages=messages)
    stored = StoredTenantConversation.of(found)
    assert (len(stored.entries), stored.drift) == (entries, drift)
    assert text in stored.text
    assert bool(stored.text) == bool(text)
    assert (f"messages: {drift}" in summary_of(found, stored, clock.now()).flaws) == bool(drift)


def stored_of(messages: dict[str, Any]) -> StoredTenantConversation:
    """As DynamoDB answers it."""
    return StoredTenantConversation.of(
        TenantConversation.from_raw_data({"pk": {"S": "a"}, "sk": {"S": "b"}, "messages": messages})
    )


def test_binaries_are_shown_as_they_come():
    assert (stored_of({"B": "AP8="}).text, stored_of({"B": "AP8="}).drift) == ('"AP8="', "binary instead of text")


def test_a_list_of_maps_is_read_as_the_messages_it_holds():
    stored = stored_of({"L": [{"M": {"role": {"S": "user"}, "content": {"S": "hello"}}}, {"N": "5"}]})
    assert stored.drift == "list instead of text"
    assert [each.blocks[0].text for each in window(stored, raw=True).items] == ["hello", "5"]


def test_what_is_as_large_as_an_item_can_be_is_cut_after_it_was_masked():
    text = ("x" * (reading.TEXT_SHOWN - 6)) + f" {NUMBER} " + "y" * 340_000
    stored = StoredTenantConversation.of(read(messages=text))
    (masked, _), (plain, left_out) = as_stored(stored, raw=False), as_stored(stored, raw=True)
    assert len(masked) <= len(plain) == reading.TEXT_SHOWN
    assert left_out == len(text) - reading.TEXT_SHOWN
    assert not re.search(r"\d", masked[-6:].replace("***-", ""))


@pytest.mark.parametrize("depth", [30, 5_000, 190_000])
def test_what_is_nested_as_deep_as_can_be_is_shown(depth):
    content = "[" * depth + "]" * depth
    stored = StoredTenantConversation.of(read(messages=f'[{{"role": "user", "content": {content}}}]'))
    assert stored.text or window(stored, raw=False).items
    assert len(as_stored(stored, raw=False)[0]) <= reading.TEXT_SHOWN


@pytest.mark.parametrize(
    ("asked", "first", "last", "earlier", "later"),
    [
        ({}, 21, 120, "21", ""),
        ({"before": 21}, 1, 20, "", "121"),
        ({"before": 2}, 1, 1, "", "102"),
        ({"before": 1}, 21, 120, "21", ""),
        ({"before": 999}, 21, 120, "21", ""),
        ({"at": "3"}, 1, 100, "", "121"),
        ({"at": "60"}, 11, 110, "11", "121"),
        ({"at": "120"}, 21, 120, "21", ""),
        ({"at": "121"}, 21, 120, "21", ""),
        ({"at": "٣"}, 21, 120, "21", ""),
        ({"at": "x"}, 21, 120, "21", ""),
    ],
)
def test_windows(asked, first, last, earlier, later):
    stored = StoredTenantConversation.of(
        read(messages=[{"role": "user", "content": str(number)} for number in range(1, 121)])
    )
    shown = window(stored, raw=True, **asked)
    assert (shown.earlier, shown.later) == (earlier, later)
    assert [shown.items[0].blocks[0].text, shown.items[-1].blocks[0].text] == [str(first), str(last)]
    assert [each.anchor for each in shown.items] == [str(number) for number in range(first, last + 1)]


@pytest.mark.parametrize(
    ("ttl", "words", "expired"),
    [
        (timedelta(days=12, hours=1), "removed in 12 days", False),
        (timedelta(minutes=5, seconds=1), "removed in 5 min", False),
        (timedelta(days=-2, hours=-1), "expired 2 d ago, not removed yet", True),
        (..., "kept: it has no time to live", False),
        (None, "kept: it has no time to live", False),
        ("soon", "kept: its time to live cannot be read", False),
        (True, "kept: its time to live cannot be read", False),
        (0, "kept: its time to live cannot be read", False),
        ({"x": 1}, "kept: its time to live cannot be read", False),
    ],
)
def test_when_it_goes_by_itself_is_said(ttl, words, expired):
    now = clock.now()
    found = read(ttl=clock.to_epoch(now + ttl) + 1 if isinstance(ttl, timedelta) else ttl)
    removal = removal_of(found, now)
    assert (removal.text, bool(removal.tone)) == (words, expired)


def test_a_row_says_what_is_odd_and_shows_no_number():
    row = row_of(read(conversation_id=f"wa-{NUMBER}", updated_at=f"asked {NUMBER}", ttl="soon"), clock.now())
    assert (row.updated_at, row.updated) == (None, "asked ***-***-0123")
    assert row.name == "wa-***-***-0123"
    assert row.flaws == ("ttl: text instead of number", "updated_at: no time that can be read")


def test_unknown_attributes_are_named_and_shown_masked():
    found = read(model="x", contact={"phone": NUMBER})
    summary = summary_of(found, StoredTenantConversation.of(found), clock.now())
    assert "unknown attributes: contact, model" in summary.flaws
    assert "900123" not in words_of(summary).replace("***-***-0123", "")
    assert [node.key for node in summary.unknown.children] == ["model", "contact"]


@pytest.mark.parametrize("raw", [True, False])
def test_when_a_message_was_written_is_told_where_its_metadata_says_so(raw):
    entry = {
        "role": "user",
        "content": "hi",
        "metadata": {"timestamp": "2026-01-31T10:00:00+00:00", "skill": "booking"},
    }
    shown = message(1, entry, raw=raw)
    assert shown.at == clock.parse_instant("2026-01-31T10:00:00Z")
    assert "skill" in words_of(shown.extra)
    assert "timestamp" not in words_of(shown.extra)
    assert not shown.drift
    only_time = message(1, entry | {"metadata": {"timestamp": 1_769_853_600}}, raw=raw)
    assert (only_time.at, only_time.extra) == (clock.parse_instant("2026-01-31T10:00:00Z"), None)


@pytest.mark.parametrize("odd", ["soon", None, {"a": 1}, [], "", True, "9" * 400])
def test_a_time_in_metadata_that_cannot_be_read_is_shown_as_it_is_stored(odd):
    shown = message(1, {"role": "user", "content": "hi", "metadata": {"timestamp": odd}}, raw=True)
    assert shown.at is None
    assert "timestamp" in words_of(shown.extra)
    assert message(1, {"role": "user", "content": "hi", "metadata": odd}, raw=True).at is None
