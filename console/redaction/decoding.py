"""Decode before matching.

Rules match a decoded copy of the text, in which `%40`, `&#64;`, `\\u0040`, full-width and Arabic digits, no-break
spaces and dashes look like what they mean. A map leads each decoded position back to the original text, where the
mask is put, so that everything around it keeps its bytes.
"""

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right

_ROUNDS = 4
_INVISIBLE = r"\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_ENCODED = re.compile(
    # The set of first characters comes first, because `re` searches for a set fast.
    rf"""[%&\\{_INVISIBLE}](?:
      (?<=%)(?P<utf8>(?:25){{0,8}}[C-Fc-f][0-9A-Fa-f](?:%(?:25){{0,8}}[89ABab][0-9A-Fa-f]){{1,3}})
    | (?<=%)(?:25){{0,8}}(?P<url>[0-9A-Fa-f]{{2}})
    | (?<=&)(?:amp;){{0,8}}(?P<html>\#[0-9]{{1,7}};?|\#[xX][0-9A-Fa-f]{{1,6}};?|[A-Za-z]{{2,8}};)
    # Before any other letter it is no escape, and parts what stands around it.
    | (?<=\\)\\{{0,31}}+(?![A-Za-z](?<![unrtx]))
      (?:u(?P<unicode>[0-9A-Fa-f]{{4}})|x(?P<hex>[0-9A-Fa-f]{{2}})|(?P<short>[nrt]))?
    | (?<=[{_INVISIBLE}])(?P<invisible>[{_INVISIBLE}]*)
    )""",
    re.VERBOSE,
)
_URL_BYTE = re.compile(r"%(?:25){0,8}([0-9A-Fa-f]{2})")


def may_be_encoded(text: str) -> bool:
    """Whether text can mean something else than its characters say."""
    return not text.isascii() or "%" in text or "\\" in text or "&" in text


class _Folds(dict[int, int]):
    """Code point → the ASCII one that it stands for; filled as text is met."""

    def __missing__(self, code: int) -> int:
        folded = self[code] = self._fold(chr(code)) if code > 127 else code
        return folded

    @staticmethod
    def _fold(char: str) -> int:
        if char.isdecimal():
            return ord("0") + unicodedata.decimal(char)
        category = unicodedata.category(char)
        if category == "Zs":
            return ord(" ")
        if category == "Pd" or char == "\u2212":
            return ord("-")
        if char in "\u00b7\u2022\u2024\u3002":
            return ord(".")
        compatible = unicodedata.normalize("NFKC", char)
        return ord(compatible) if len(compatible) == 1 else ord(char)


_FOLDS = _Folds()


class Decoded:
    """A decoded text and the way back from its positions to those of the original."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rounds: list[tuple[list[int], list[int]]] = []
        for _ in range(_ROUNDS):
            if not self._decode_once():
                break

    def original_start(self, position: int) -> int:
        """Where in the original the decoded character at position begins."""
        for decoded_at, original_at in reversed(self._rounds):
            piece = bisect_right(decoded_at, position) - 1
            position = original_at[piece] + position - decoded_at[piece]
        return position

    def original_end(self, position: int) -> int:
        """Where in the original the decoded text before position ends; characters dropped after it stay outside."""
        for decoded_at, original_at in reversed(self._rounds):
            piece = bisect_left(decoded_at, position)
            if piece == len(decoded_at) or decoded_at[piece] != position:
                piece -= 1
            position = original_at[piece] + position - decoded_at[piece]
        return position

    def _decode_once(self) -> bool:
        source = self.text if self.text.isascii() else self.text.translate(_FOLDS)
        pieces: list[str] = []
        decoded_at, original_at = [0], [0]
        end, length = 0, 0
        for match in _ENCODED.finditer(source):
            before, char = source[end : match.start()], _decoded_char(match)
            length += len(before)
            # One entry where the escape starts, one where plain text goes on.
            decoded_at += (length, length + len(char))
            original_at += (match.start(), match.end())
            pieces += (before, char)
            length += len(char)
            end = match.end()
        self.text = source
        if not pieces:
            return False
        self.text = "".join(pieces) + source[end:]
        self._rounds.append((decoded_at, original_at))
        return True


def _decoded_char(match: re.Match[str]) -> str:
    found = match.lastgroup
    if found is None or found == "invisible":
        return ""
    value = match.group(found)
    if found == "utf8":
        return bytes.fromhex("".join(_URL_BYTE.findall(match.group()))).decode("utf-8", "replace")[:1]
    if found == "html":
        char = html.unescape("&" + value.rstrip(";") + ";")
        return char if len(char) == 1 and char != "\ufffd" else match.group()
    if found == "short":
        return " " if value == "t" else "\n"
    return chr(int(value, 16))
