"""Masking of the names of known people in any text."""

import dataclasses
import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeVar

from console.redaction.masks import FULL_MASK, word_set
from console.redaction.text import Decoded, may_be_encoded

T = TypeVar("T")

# Names that are also words, and names of two letters, are masked only with a capital: "Will will call".
_WORDS = word_set(
    "will mark rose grace hope bill drew chase summer april june faith dawn jack rich frank grant dean dale glen cliff "
    "lance chip pierce lily daisy ruby pearl crystal amber hazel olive violet autumn melody harmony angel christian "
    "sunny young king white black green brown long short wood price park field stone rice page bell cook baker hunter "
    "carter mason taylor parker porter love best good sharp strong small little power bush banks case rosa luna sole "
    "luce blanca cruz reyes flores santos stern sommer klein gross lang kurz weiss schwarz braun koch wolf fuchs vogel "
    "may art sue pat ray max van von sol day sun don rob guy mar paz luz rey eve dot ivy joy rod fox jay dan jan win "
    "tin mai per pia mia las los der den the and not ein"
)
_CAPITALS_UP_TO = 2
# Values of name fields that name nobody.
_NOBODY = word_set(
    "customer client user guest unknown none null test there friend sir madam miss mister name first last whatsapp "
    "anonymous undefined contact recipient patient caller admin administrator n/a"
)
_SHORTEST_PART, _LONGEST = 4, 80
_MAX_PARTS = 6
_PARTS = re.compile(r"[^\W\d_]+")
_MARKS = r"[\u0300-\u036f]*+"
_BETWEEN = r"[\s.'’ʼ`_\-]{0,3}+"
# Letters that Unicode does not decompose to the plain one.
_PLAIN = str.maketrans("øłđħıŧØŁĐĦŦ", "oldhitOLDHT")
# Scripts written without spaces, where a name has no word boundaries.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MAX_DEPTH = 64


def without_names(value: T, names: tuple[str, ...]) -> T:
    """Return an already redacted value of the same shape, with these names masked in every text in it.

    The value is a text, or any mapping, list, tuple or dataclass of texts; mapping keys are masked too. Names match as
    whole words, whatever their case, accents and encoding, separate or joined; names of one letter never match, and
    names that are also words match only with a capital. Masks stay; a second call changes nothing.
    """
    pattern = _pattern(names)
    return value if pattern is None else _walk(value, pattern, 0)


def _walk(value: Any, pattern: re.Pattern[str], depth: int) -> Any:
    if isinstance(value, str):
        return _masked(value, pattern) if type(value) is str else value
    if depth > _MAX_DEPTH:
        return FULL_MASK
    if isinstance(value, Mapping):
        return {_walk(key, pattern, depth): _walk(each, pattern, depth + 1) for key, each in value.items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(_walk(each, pattern, depth + 1) for each in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        given = {each.name: getattr(value, each.name) for each in dataclasses.fields(value) if each.init}
        return dataclasses.replace(value, **{name: _walk(each, pattern, depth + 1) for name, each in given.items()})
    return value


def _masked(text: str, pattern: re.Pattern[str]) -> str:
    decoded = Decoded(text) if may_be_encoded(text) else None
    plain = decoded.text if decoded else text
    if not plain.isascii():
        plain = "".join(map(_fold, plain))
    pieces: list[str] = []
    done = 0
    for found in pattern.finditer(plain):
        start, end = found.span()
        if decoded:
            start, end = decoded.original_start(start), decoded.original_end(end)
        if start >= done:
            pieces += (text[done:start], FULL_MASK)
            done = end
    return "".join((*pieces, text[done:])) if pieces else text


@lru_cache(maxsize=65536)
def _fold(char: str) -> str:
    """Return a letter without its accents, in its own case; always one character."""
    letters = unicodedata.normalize("NFD", char.translate(_PLAIN))
    # Hangul decomposes into letters, not accents.
    return letters[0] if all(map(unicodedata.combining, letters[1:])) else char


# A small cache: names are personal data, and a page is about one person or some dozens.
@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    whole = [parts for name in names if (parts := _parts_of(name))]
    forms: set[tuple[str, ...]] = set()
    for parts in whole:
        forms.add(parts)
        forms.update((part,) for part in parts if len(part) >= _SHORTEST_PART)
    # anna.schmidt, schmidtanna
    forms |= {first + second for first in whole for second in whole if first is not second}
    # Longest first: Anna Schmidt before Anna.
    written = [
        _written(form) for form in sorted(forms, key=lambda form: -sum(map(len, form))) if len("".join(form)) > 1
    ]
    return re.compile("|".join(written)) if written else None


def _parts_of(name: str) -> tuple[str, ...]:
    if name.strip().lower() in _NOBODY:
        return ()
    composed = unicodedata.normalize("NFC", name[:_LONGEST])
    folded = "".join(_fold(char) for char in composed if not unicodedata.combining(char))
    return tuple(_PARTS.findall(folded)[:_MAX_PARTS])


def _written(parts: tuple[str, ...]) -> str:
    """Return the pattern that matches a name in folded text."""
    letters = "".join(parts)
    is_word = len(parts) == 1 and (len(letters) <= _CAPITALS_UP_TO or letters.lower() in _WORDS)
    pattern = _BETWEEN.join(
        "".join(
            (char.upper() if is_word and not place else f"[{char.lower()}{char.upper()}]" if _is_cased(char) else char)
            + _MARKS
            for place, char in enumerate(part)
        )
        for part in parts
    )
    if _UNSPACED.search(letters):
        return pattern
    return rf"(?<![^\W_])(?<!\*\*\*){pattern}(?![^\W_])"


def _is_cased(char: str) -> bool:
    return len(char.lower()) == len(char.upper()) == 1 and char.lower() != char.upper()
