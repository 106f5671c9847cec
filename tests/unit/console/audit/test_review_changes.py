"""Before and after of settings, from a payload of unknown shape."""

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from console.audit.review.entry import MAX_CHANGES, changes_of


def told(payload) -> list[tuple[str, str, str | None, str | None]]:
    return [(each.key, each.word, each.before, each.after) for each in changes_of(payload)]


@pytest.mark.parametrize(("before", "after"), [("from", "to"), ("before", "after"), ("old", "new")])
def test_two_maps_are_told_by_key(before, after):
    payload = {
        before: {"role": "agent", "scope": ["a", "b"], "same": 1, "gone": True},
        after: {"role": "admin", "scope": ["*"], "same": 1, "fresh": None},
        "changed": "role, scope",
    }
    assert told(payload) == [
        ("role", "changed", "agent", "admin"),
        ("scope", "changed", "a, b", "*"),
        ("gone", "removed", "true", None),
        ("fresh", "set", None, "null"),
    ]


def test_nested_settings_have_dotted_keys():
    payload = {"before": {"whatsapp": {"on": False, "number": "1"}}, "after": {"whatsapp": {"on": True, "number": "1"}}}
    assert told(payload) == [("whatsapp.on", "changed", "false", "true")]


def test_one_map_alone_is_all_set_or_all_removed():
    assert told({"from": None, "to": {"a": 1}}) == [("a", "set", None, "1")]
    assert told({"old": {"a": ""}}) == [("a", "removed", "empty text", None)]


def test_kinds_differ_even_where_python_finds_them_equal():
    assert told({"from": {"a": 1, "b": 0}, "to": {"a": True, "b": 0}}) == [("a", "changed", "1", "true")]


def test_lists_of_maps_are_told_as_they_are_written():
    assert told({"from": {"a": []}, "to": {"a": [{"b": 1}]}}) == [("a", "changed", "an empty list", '[{"b": 1}]')]


@pytest.mark.parametrize("payload", [None, "text", [], {}, {"from": "waiting", "to": "amira.haddad"}, {"from": {}}])
def test_a_payload_without_two_maps_has_none(payload):
    assert told(payload) == []


def test_no_more_is_shown_than_anybody_reads():
    assert len(changes_of({"to": {str(number): number for number in range(1000)}})) == MAX_CHANGES


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=12,
)


@given(values, values)
@hypothesis_settings(max_examples=150, deadline=None)
def test_any_payload_is_told_and_equal_ones_have_no_change(before, after):
    for change in changes_of({"from": before, "to": after}):
        assert change.word in ("changed", "set", "removed")
        assert (change.before is None, change.after is None) == (change.word == "set", change.word == "removed")
        assert change.tone
    assert changes_of({"from": before, "to": before}) == ()
