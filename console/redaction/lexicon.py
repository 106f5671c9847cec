"""Lists of words (words.py) as patterns, and a cheap test whether a text holds any of them."""

import re
from collections.abc import Mapping
from typing import Any

from console.redaction import words
from console.redaction.masks import holds_any

# From here on scripts join words, or are written without spaces, so a word is looked for inside others too.
_JOINED = "\u0590"
_has_joined = re.compile(r"[\u0590-\u0fff\u3040-\u9fff\uac00-\ud7af]").search
# The first two to five letters of each word. The rest says little more, and would have to be cut off for every ending.
_beginnings = re.compile(r"\b[^\W\d]{2,5}").findall
# Twice as fast.
_beginnings_in_ascii = re.compile(r"\b[a-z_]{2,5}", re.ASCII).findall
_LETTER = r"[^\W\d_]"
_END = "end"


def lowered(text: str) -> str:
    """Return text in lower case and of the same length."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    # A few capitals are one character and two in lower case.
    return "".join(char.lower() if len(char.lower()) == 1 else char for char in text)


def beginnings(text: str) -> list[str]:
    """Return the beginnings of the words of a text in lower case."""
    found: list[str] = _beginnings_in_ascii(text) if text.isascii() else _beginnings(text)
    return found


_APART = rf"(?!{_LETTER})"


def pattern_of(words: str, ending: str = _APART) -> str:
    """Return a pattern that matches one of the words, and a longer one first.

    `ending` is what follows a separate word. Words share their beginnings in the pattern, and it begins with letters,
    because `re` searches for a set of letters fast.
    """
    tree: dict[str, Any] = {}
    for word in words.split():
        stem, node = word.removesuffix("*"), tree
        for char in stem:
            node = node.setdefault(char, {})
        is_separate = stem[-1].isalpha() and stem[-1] < _JOINED
        node[_END] = f"{_LETTER}{{0,12}}+" if word != stem else ending if is_separate else ""
    return "|".join(
        _char(first) + (r"(?<![^\W_].)" if first.isalpha() and first < _JOINED else "") + _rest(node)
        for first, node in tree.items()
    )


def pieces_of(words: str) -> str:
    """Return a pattern that matches one of the words, or the beginning of a longer one, wherever it stands."""
    tree: dict[str, Any] = {}
    for word in words.split():
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node.clear()
        node[_END] = ""
    return "|".join(re.escape(first) + _rest(node) for first, node in tree.items())


def _rest(node: dict[str, Any]) -> str:
    branches = [_char(char) + _rest(child) for char, child in node.items() if char != _END]
    branches += [node[_END]] if _END in node else []
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _char(char: str) -> str:
    return {"_": r"[ _\-]", "'": "['’]"}.get(char) or re.escape(char)


def key_words(words: str) -> frozenset[str]:
    """Return the words as the words of a key are joined, by underscores."""
    return frozenset(word.removesuffix("*") for word in words.split())


_FILLERS = frozenset((words.FILLER + words.NUMBER_SIGN).split())


def _rarest(pieces: list[str]) -> str:
    """Return the word of several by which a text is looked at more closely: a long one that is not about numbers."""
    return max(pieces, key=lambda piece: (piece not in _FILLERS, len(piece)))


class Lexicon:
    """Words of one meaning: their pattern, how one word of each begins, and those that stand inside other text."""

    def __init__(self, *lists: str) -> None:
        entries = " ".join(lists).split()
        self.pattern = pattern_of(" ".join(entries))
        separate = [beginnings(_rarest(word.split("_"))) for word in entries if word[0] < _JOINED]
        self.starts = frozenset(found[0] for found in separate if found)
        joined = (word.removesuffix("*").replace("_", " ") for word in entries if word[0] >= _JOINED)
        self.pieces = tuple(dict.fromkeys(joined))

    def holds_piece(self, text: str) -> bool:
        """Return whether a word of a script that joins words stands in a text."""
        return holds_any(text, self.pieces)


class Lexicons:
    """Lexicons by name; tells which of them a text may hold words of."""

    def __init__(self, lexicons: Mapping[str, Lexicon]) -> None:
        self._by_start: dict[str, list[str]] = {}
        self._by_piece: dict[str, list[str]] = {}
        for name, lexicon in lexicons.items():
            for start in lexicon.starts:
                self._by_start.setdefault(start, []).append(name)
            for piece in lexicon.pieces:
                self._by_piece.setdefault(piece, []).append(name)
        self._has_piece = re.compile("|".join(map(re.escape, self._by_piece))).search

    def names_in(self, text: str) -> set[str]:
        """Return the names of the lexicons that a text in lower case may hold words of."""
        found = self._by_start.keys() & beginnings(text)
        names = {name for start in found for name in self._by_start[start]}
        if not text.isascii() and _has_joined(text) and self._has_piece(text):
            names.update(name for piece, under in self._by_piece.items() if piece in text for name in under)
        return names


# What is said in words alone: names, numbers, addresses.
_SPOKEN = Lexicon(
    *(
        words.NAME,
        words.CALLER,
        words.NAME_IF_CAPITALISED,
        words.SIGN_OFF,
        words.WEAK_SIGN_OFF,
        words.NUMBER_WORDS,
        words.AT,
        words.DOT,
    )
)
_has_several_words = re.compile(r"[ \n(\[]").search
_has_at = re.compile(r"[_\-]at[_\-]|[(\[{<] ?(?:at|a) ?[)\]}>]", re.IGNORECASE).search


def may_be_said(text: str) -> bool:
    """Return whether text of ASCII letters and signs may hold personal data that is said in words."""
    if _has_several_words(text) and not _SPOKEN.starts.isdisjoint(beginnings(text.lower())):
        return True
    return _has_at(text) is not None
