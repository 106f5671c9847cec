"""The names of people, as they stand behind "my name is" or under a letter."""

import re

from console.redaction.keys import PARTICLES
from console.redaction.masks import word_set
from console.redaction.phrase import LETTER, MARKED

_NAME_WORD = re.compile(rf"[ ]?({LETTER}{MARKED}{{0,40}})")
# Written without spaces: up to the word for "am", or a few signs.
_JOINED_NAME = re.compile(
    r"[ ]?([\u3040-\u30ff\u3400-\u9fff]{1,12}?(?=です|と申|といい|と言)|[\u3400-\u9fff]{2,4}"
    r"|[\uac00-\ud7af]{2,8}?(?=입니다|이에요|예요|이고|라고)|[\uac00-\ud7af]{2,6})"
)
_NO_NAMES = word_set("है हैं और")
_MOST_WORDS = 4


def name_at(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of a name: up to four words with capitals, or in a script that has none."""
    joined = _JOINED_NAME.match(text, start)
    if joined:
        return joined.span(1)
    first = end = position = start
    for count in range(_MOST_WORDS):
        found = _NAME_WORD.match(text, position)
        if found is None or found[1] in _NO_NAMES or (count and found.start() == found.start(1)):
            break
        position = found.end()
        if count == 0:
            first = found.start(1)
        if found[1][0].islower():
            if count and found[1] in PARTICLES:
                continue
            break
        end = position
    return (first, _without_dot(text, end)) if end > first else None


def full_name_at(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of a name of two words or more, which ends what is said or goes on as names do."""
    span = name_at(text, start)
    return span if span and " " in text[slice(*span)] and _ends_a_name(text, span[1]) else None


def caller_at(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of a name of two words or more of somebody who is speaking."""
    span = name_at(text, start)
    return span if span and " " in text[slice(*span)] and _speaks(text, span[1]) else None


def signature_at(text: str, start: int) -> tuple[int, int] | None:
    """Return the span of a name that is alone in its line."""
    span = name_at(text, start)
    return span if span and text[span[1] : span[1] + 2].strip(" .\r")[:1] in {"", "\n"} else None


_speaks = re.compile(r",?[ ](?:speaking|here|calling|from|again|writing)\b").match
_ends_a_name = re.compile(r"[ ]?(?:[.,;!?\n]|\Z)|[ ](?:and|from|here|speaking|calling|y|und|et|e|i|en)\b").match


def _without_dot(text: str, end: int) -> int:
    return end - 1 if text[end - 1] == "." else end
