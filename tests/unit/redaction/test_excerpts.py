"""Excerpts: redacted first, cut after."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.redaction import excerpt, redact


def test_an_excerpt_is_redacted_before_it_is_cut():
    text = "x" * 70 + " +447123454821"
    assert excerpt(text) == "x" * 70 + "…"
    assert excerpt("call +447123454821") == "call ***-***-4821"


@pytest.mark.parametrize("length", range(1, 30))
def test_a_mask_is_whole_or_absent(length):
    shown = excerpt("hello +447123454821 and jo@example.com", length)
    assert len(shown) <= length
    rest = shown.replace("***-***-4821", "").replace("***@***", "")
    assert "*" not in rest
    assert "4" not in rest


@given(st.text(), st.integers(min_value=0, max_value=100))
def test_an_excerpt_is_never_longer_than_asked(text, length):
    shown = excerpt(text, length)
    assert len(shown) <= length
    if len(redact(text)) <= length:
        assert shown == redact(text)
