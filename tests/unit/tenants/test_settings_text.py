"""Settings as JSON text: known keys typed, all else as it is written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import Invalid
from tenants.settings_text import KNOWN, changed, default_text, differences, members_of, read

EXAMPLE = """{
  "ai_provider": "bedrock",
  "ai_model": "claude-sonnet-4-5-20250929",
  "system_prompt_override": "",
  "max_tokens_per_message": 4096,
  "enabled_channels": ["dashboard"],
  "enabled_skills": ["sprint_status"],
  "custom_skills": [],
  "messages_per_day": 1000,
  "max_conversation_history": 20
}"""
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
NAMES = st.sampled_from([setting.name for setting in KNOWN]) | st.text(max_size=8)
OBJECTS = st.dictionaries(NAMES, JSON_VALUES, max_size=12)


def test_the_schemas_example_is_read_whole():
    settings = read(EXAMPLE)
    assert settings.known == json.loads(EXAMPLE)
    assert (settings.others, settings.odd, settings.problem) == ({}, (), "")


def test_a_new_tenants_settings_are_of_their_types():
    assert set(read(default_text()).known) == {each.name for each in KNOWN if each.default is not None}


@pytest.mark.slow
@given(OBJECTS, st.sampled_from([None, 1, 4]), st.booleans())
def test_what_nobody_changes_stays_as_it_is_written(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    settings = read(text)
    assert settings.problem == ""
    assert {name: json.loads(written) for name, written in settings.others.items()} | dict(settings.known) == value
    assert changed(settings, settings.known, settings.others) == text


@pytest.mark.slow
@given(OBJECTS, st.integers(1, 10), st.text(max_size=20))
def test_a_changed_key_changes_alone(value, number, words):
    text = json.dumps(value)
    settings = read(text)
    known = dict(settings.known) | {"messages_per_day": number, "system_prompt_override": words}
    others = {name: each for name, each in settings.others.items() if name not in known}
    after = json.loads(changed(settings, known, others))
    assert after == value | {"messages_per_day": number, "system_prompt_override": words}
    before_members, after_members = members_of(text), members_of(changed(settings, known, others))
    for name in set(value) - {"messages_per_day", "system_prompt_override"}:
        assert after_members[name] == before_members[name]


@pytest.mark.parametrize(
    "written", ["1e999", "12345678901234567890.12345678901234567890", '"\\u00e4\\/"', "[1,  2]", "-0.0"]
)
def test_what_python_would_write_otherwise_stays(written):
    text = f'{{"theirs": {written}, "messages_per_day": 5}}'
    settings = read(text)
    assert settings.others == {"theirs": written}
    assert f'"theirs": {written}' in changed(settings, {"messages_per_day": 6}, settings.others)


@pytest.mark.parametrize(
    "text", [None, "", " ", "[]", "null", "{", '{"a": 1} x', "{'a': 1}", '{"a" 1}', '{"a": 1,}', "[" * 5000]
)
def test_a_text_that_is_no_object_is_said_and_can_be_replaced(text):
    settings = read(text)
    assert settings.problem
    assert json.loads(changed(settings, {"messages_per_day": 5}, {})) == {"messages_per_day": 5}


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading(text):
    settings = read(text)
    try:
        is_object = isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False
    assert bool(settings.problem) != is_object


def test_a_known_key_of_another_type_is_kept_as_the_others_are():
    settings = read('{"messages_per_day": "1000", "ai_model": null, "enabled_channels": [1], "ai_provider": true}')
    assert settings.known == {}
    assert (
        set(settings.odd) == set(settings.others) == {"messages_per_day", "ai_model", "enabled_channels", "ai_provider"}
    )


def test_other_keys_can_be_changed_and_removed_but_not_added():
    settings = read('{"theirs": 1, "gone": 2}')
    assert json.loads(changed(settings, {}, {"theirs": ' {"a": [true]} '})) == {"theirs": {"a": [True]}}
    with pytest.raises(Invalid, match="has no setting 'new'"):
        changed(settings, {}, {"theirs": "1", "new": "2"})
    for typed in ("", "yes", "1 2", "{'a': 1}"):
        with pytest.raises(Invalid, match="theirs: "):
            changed(settings, {}, {"theirs": typed})


def test_a_key_that_comes_twice_is_read_as_the_platform_reads_it():
    settings = read('{"messages_per_day": 1, "messages_per_day": 2}')
    assert settings.known == {"messages_per_day": 2}


def test_differences_are_told_by_what_is_written():
    one, other = read('{"a": 1, "b": 2, "c": 3}'), read('{"a": 1, "b": 2.0, "d": 4}')
    assert differences(one, other) == {"b": ("2", "2.0"), "c": ("3", ""), "d": ("", "4")}


def test_settings_have_a_largest_size():
    with pytest.raises(Invalid, match="longer than"):
        changed(read("{}"), {"system_prompt_override": "x" * 100_001}, {})
