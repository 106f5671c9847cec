"""Text of others inside our sentences keeps its reordering to itself."""

import json

import pytest

from console.trees import isolated, spelled_out
from tests.crawl.hostile.strings import STRINGS, storable

OPENS, CLOSES = "\u2066\u2067\u2068", "\u2069"


@pytest.mark.parametrize("text", ["Amira Haddad", "Zoë Ngô", "名前", "<b>", ""])
def test_what_reorders_nothing_stays_as_it_is(text):
    assert isolated(text) == text


@pytest.mark.parametrize("text", STRINGS, ids=range(len(STRINGS)))
def test_no_string_ends_its_isolate_early_or_leaves_it_open(text):
    shown = isolated(storable(text))
    if shown == storable(text):
        assert not set(shown) & set("\u202a\u202b\u202d\u202e" + OPENS + CLOSES)
        return
    depths = []
    depth = 0
    for each in shown:
        depth += (each in OPENS) - (each == CLOSES)
        depths.append(depth)
    assert depths[-1] == 0
    assert min(depths[:-1]) == 1
    assert not set(shown) & set("\n\r\x1c\x1d\x1e\x85\u2029"), "the end of a paragraph ends every isolate"


def test_raw_json_says_its_controls_and_means_the_same():
    for text in STRINGS:
        shown = spelled_out(json.dumps(text, ensure_ascii=False))
        assert json.loads(shown) == text
        assert not set(shown) & set("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
