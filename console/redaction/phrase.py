"""A rule for a value that stands behind words: the words of a language, what may stand between, and the value.

It finds one of the words in lower case (words.py) and matches the value behind it in the text as it is written.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from console.redaction import words
from console.redaction.lexicon import Lexicon, lowered, pattern_of
from console.redaction.masks import FULL_MASK, MARKS, Claim, Rule

LETTER = r"[^\W\d_]"
# Letters of every script with their marks.
MARKED = rf"[\w'’.\-{MARKS}]"
# Between a word and its value: signs, and words such as "number is".
_NO_MORE = r"(?![^\W_])"
BETWEEN = (
    rf"(?:[\s:#=№°º.,/\-*_(\"'’>~]|</?[a-z]{{1,10}}>"
    rf"|{pattern_of(words.NUMBER_SIGN)}|{pattern_of(words.FILLER, _NO_MORE)})"
)
_GAP = re.compile(rf"{BETWEEN}{{0,10}}").match


# Returns the span of a value that begins at a place, if one does.
Value = Callable[[str, int], tuple[int, int] | None]


class Phrase(NamedTuple):
    """Words, and the rule that masks the values that stand with them."""

    lexicon: Lexicon
    rule: Rule


def value_after(value: Value, *lists: str, gap: str | None = None) -> Phrase:
    """Return the phrase of a value that stands behind one of the words."""
    lexicon = Lexicon(*lists)
    find = re.compile(lexicon.pattern).finditer
    skip = re.compile(gap).match if gap else _GAP

    def rule(text: str) -> list[Claim]:
        lower = lowered(text)
        claims: list[Claim] = []
        done = 0
        for word in find(lower):
            if word.start() < done:
                continue
            between = skip(lower, word.end())
            # "aba" is no word in the digest aba115c7.
            is_apart = between is not None and (between.end() > word.end() or not word[0][-1].isascii())
            span = value(text, between.end()) if between and is_apart else None
            if span and span[0] >= done:
                claims.append((*span, FULL_MASK))
                done = span[1]
        return claims

    return Phrase(lexicon, rule)


def matching(pattern: str, flags: int = 0) -> Value:
    """Return a function that gives the span of the pattern's group `value` at a place, or of all it matches."""
    match = re.compile(pattern, flags).match

    def value(text: str, start: int) -> tuple[int, int] | None:
        found = match(text, start)
        return found.span("value" if "value" in found.re.groupindex else 0) if found else None

    return value
