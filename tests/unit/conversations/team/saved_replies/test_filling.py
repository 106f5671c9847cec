"""Placeholders: each is filled in once, and nothing else of a text or a value is ever taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations.team.saved_replies.filling import PLACEHOLDERS, fill, unknown_in

PIECES = st.one_of(
    st.sampled_from([f"{{{name}}}" for name in PLACEHOLDERS]),
    st.sampled_from(
        ["{0.__class__}", "{", "}", "{{", "}}", "%s", "$agent", "{name}", "\n", " ", ", ", "\\1", "\\g<0>"]
    ),
    st.text(max_size=8),
)
VALUES = st.fixed_dictionaries(
    {name: st.one_of(st.just("Ann"), st.sampled_from(["{agent}", "{company}", "\\1", "{0}"])) for name in PLACEHOLDERS}
)


@pytest.mark.parametrize(
    ("text", "without_name"),
    [
        ("Hello {first_name}, it is on its way.", "Hello, it is on its way."),
        ("Hello {first_name}!", "Hello!"),
        ("{first_name}, thank you.", "Thank you."),
        ("Good morning\n{first_name}! we are open.", "Good morning\nWe are open."),
        ("Thank you, {first_name}", "Thank you,"),
        ("{first_name}", ""),
        ("Hi {first_name} {agent} here", "Hi Bo here"),
        ("{first_name} {agent} here", "Bo here"),
    ],
)
def test_a_name_that_is_not_known_leaves_no_gap(text, without_name):
    assert fill(text, {"first_name": "", "agent": "Bo", "company": "Acme"}) == without_name


def test_every_placeholder_is_filled_in():
    text = "Hello {first_name}, this is {agent} of {company}. {agent}"
    values = {"first_name": "Ann", "agent": "Bo", "company": "Acme"}
    assert fill(text, values) == "Hello Ann, this is Bo of Acme. Bo"


@given(st.lists(PIECES, max_size=12).map("".join), VALUES)
def test_filling_replaces_the_placeholders_and_evaluates_nothing(text, values):
    expected, rest = "", text
    while rest:
        name = next((each for each in PLACEHOLDERS if rest.startswith(f"{{{each}}}")), "")
        expected += values[name] if name else rest[0]
        rest = rest[len(name) + 2 :] if name else rest[1:]
    assert fill(text, values) == expected


@given(st.lists(PIECES, max_size=12).map("".join))
def test_without_any_value_no_placeholder_of_the_text_is_left(text):
    filled = fill(text, {})
    kept = [each for each in "".join(text.split()) if each in "{}"]
    placeholders = sum(text.count(f"{{{name}}}") for name in PLACEHOLDERS)
    assert filled.count("{") == kept.count("{") - placeholders
    assert filled.count("}") == kept.count("}") - placeholders


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Hello {name}", "{name}"),
        ("{0.__class__}", "{0.__class__}"),
        ("{{first_name}}", "{{first_name}}"),
        ("{ first_name }", "{ first_name }"),
        ("{}", "{}"),
        ("{First_name}", "{First_name}"),
        ("Hello {first_name}, {agent} of {company}", ""),
        ("a smile :} and a brace {", ""),
    ],
)
def test_what_is_in_braces_and_no_placeholder_is_found(text, unknown):
    assert unknown_in(text) == unknown
