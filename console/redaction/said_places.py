"""Addresses, streets and coordinates, as people write them."""

import re

from console.redaction import words
from console.redaction.keys import PARTICLES
from console.redaction.lexicon import Lexicon, lowered, pattern_of
from console.redaction.masks import FULL_MASK, Claim
from console.redaction.phrase import LETTER, matching

ADDRESS = matching(r"(?=[^\n\0]{0,80}?[0-9])[^\n;!?\0]{4,120}")
POSTCODE = matching(r"(?=[A-Z]{0,3}[0-9])[A-Z0-9]{2,5}(?:[ \-][0-9A-Z]{2,4})?(?![0-9A-Za-z])")
# A number before or behind the name of the street, and what goes on to the number of the town.
_STREET = re.compile(
    rf"(?<![0-9])(?P<before>[0-9]{{1,4}}(?:[ ]?(?:bis|ter|[a-z]))?,?[ ])?(?:{pattern_of(words.STREET_BEFORE)}"
    # via Garibaldi 12, 20121 Milano; not "via email 12"
    r"|(?<!\w)via(?=[ ][^\d\n,;]{2,40},?[ ][0-9]{1,4}[a-z]?,[ ][0-9]{5}(?![0-9])))"
    r"\.?[ ][^\d\n;,\0*]{2,40}"
    r"(?P<behind>,?[ ]?(?:n[°ºo.]{1,2}[ ]?)?(?<![0-9])[0-9]{1,5}[a-z]?"
    r"(?:[/\-][0-9]{1,4})?(?:[ ]?m\.[ ]?[0-9]{1,4})?(?![0-9]))?"
    r"(?:,[^\n;\0*]{0,30}?(?<![0-9])(?:[0-9]{2}-[0-9]{3}|[0-9]{5}-[0-9]{3}|[0-9]{4,5})(?![0-9]))?"
)
_STREET_IN_ONE = re.compile(
    rf"(?:{'|'.join(map(re.escape, words.STREET_ENDING.split()))})[ ]?[0-9]{{1,4}}[ ]?[a-z]?(?![0-9a-z])"
    r"(?:,[ ]?[0-9]{4,5}(?![0-9]))?"
)
_street_name = re.compile(rf"{LETTER}{{2,30}}\Z").search
STREET_SIGNS = ("str", "Str", "gasse", "allee", "laan", "gracht", "plein")
STREETS = Lexicon(words.STREET_BEFORE, "via")


def streets(text: str) -> list[Claim]:
    """Mask a street with a number before or behind its name."""
    lower = lowered(text)
    found = [
        each.span()
        for each in _STREET.finditer(lower)
        if (each["before"] or each["behind"])
        and _is_a_name(text, each.end("before") if each["before"] else each.start())
    ]
    return [(start, end, FULL_MASK) for start, end in found]


def _is_a_name(text: str, start: int) -> bool:
    """Return whether the word behind the one at a place is capitalised, a particle or of a script without capitals."""
    behind = text[start:].split(" ", 2)[1:2]
    return bool(behind) and bool(behind[0]) and (not behind[0][0].islower() or behind[0] in PARTICLES)


def streets_in_one(text: str) -> list[Claim]:
    """Mask Lindenstraße 14."""
    lower = lowered(text)
    claims: list[Claim] = []
    for found in _STREET_IN_ONE.finditer(lower):
        first = max(claims[-1][1] if claims else 0, found.start() - 30)
        name = _street_name(lower[first : found.start()])
        if name:
            claims.append((first + name.start(), found.end(), FULL_MASK))
    return claims


_COORDINATE = r"-?[0-9]{1,3}\.[0-9]{3,12}"
COORDINATES = matching(rf"{_COORDINATE}[ ]?[,;/ ][ ]?(?:[a-z]{{2,9}}[ :=]{{1,2}})?{_COORDINATE}", re.IGNORECASE)
_THREE_WORDS = re.compile(r"///(?<![\w:/]...)(?P<value>[^\W\d_]{2,24}(?:\.[^\W\d_]{2,24}){2})")


def three_words(text: str) -> list[Claim]:
    """Mask what3words: ///filled.count.soap"""
    return [(*each.span("value"), FULL_MASK) for each in _THREE_WORDS.finditer(text)]
