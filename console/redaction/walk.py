"""A walk over the tokens of JSON text that is cut off, inside other text, or unusually written.

The text is rewritten in place, so that spacing, escapes, numbers and duplicate keys stay as they were, and a document
that is cut off is walked like a whole one.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from console.redaction.keys import CONTACT, KeyKind, KeyKinds, key_kinds, looks_like_name, mask_value
from console.redaction.masks import FULL_MASK
from console.redaction.shapes import (
    FREQUENT_SHAPE,
    NOTHING_SUSPICIOUS_UNQUOTED,
    WHOLE_NUMBER,
    is_plain_text,
    is_whole_number,
)
from console.redaction.text import kind_of_key, redact_text

# The groups of TOKEN, by what matched. A member is a key with its value in one token, as most are.
KEY = 1
MEMBER_PLAIN = 2  # a value that no rule could mask unless its key is sensitive
MEMBER_STRING = 3
MEMBER_MARK = 4
MEMBER_BARE = 5
STRING, CLOSING_QUOTE, COLON = 6, 7, 8  # a string: complete if it has a closing quote, a key if a colon follows
MARK = 9
BARE = 10  # a number or a literal
OTHER = 11  # not JSON

TOKEN = re.compile(
    rf"""
    "([^"\\]*+)"\s*+:\s*+(?:
        (   "(?:{NOTHING_SUSPICIOUS_UNQUOTED}|{FREQUENT_SHAPE})"
          | {WHOLE_NUMBER}
          | true | false | null
        )(?=\s*+[,}}\]])
      | "((?:[^"\\]++|\\.)*)"(?!\s*+:)
      | ([{{\[])
      | ([^\s"{{}}\[\],]++)(?=\s*+(?:[,}}\]]|\Z))
    )
    | "((?:[^"\\]++|\\.)*)(?:(")(\s*+:)?|\\?\Z)
    | ([{{}}\[\]])
    | ([^\s"{{}}\[\],]++)(?=\s*+(?:[,}}\]]|\Z))
    | ([^\s,])
    """,
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?")
LITERALS = frozenset({"true", "false", "null", "NaN", "Infinity", "-Infinity"})
CUT_LITERAL = re.compile(r"t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-|-?[0-9]++(?:\.|(?:\.[0-9]*+)?[eE][+\-]?)")


# Python 3.11 is slow to reach the members of an Enum by name.
_OTHER, _NAME, _PERSONAL = KeyKind.OTHER, KeyKind.NAME, KeyKind.PERSONAL
# An array has no keys; a key in it is malformed and scanned like one of an unknown object.
_NO_KEYS = KeyKinds("", KeyKind.OTHER)
# Nested brackets; deeper text is redacted as plain text.
_MAX_DEPTH = 200
# The last word of a truncated string may be the beginning of a phone number or an address, unless it is a date.
_CUT_WORD = re.compile(
    r"(?<![^\s*])(?!(?:19|20)[0-9]{2}-)[+(]?[0-9](?:[ .\-/()]{0,3}[0-9]){4,5}[ .\-/()]{0,3}\Z"
    # What looks like an epoch may be the beginning of a longer number.
    r"|(?<![^\s*])1[4-9][0-9]{8,17}\Z"
    # Match only a word at the end of the text: a customer may send a hundred thousand @.
    r"|(?<!\S)(?=[^\s*]*+\Z)[^\s*]*(?:@|%40)[^\s*]*+\Z"
)


_decode = json.JSONDecoder(strict=False).raw_decode
_encode, _encode_to_ascii = json.JSONEncoder(ensure_ascii=False).encode, json.JSONEncoder().encode


def redact_number(written: str, kind: KeyKind) -> str:
    """Mask a number, given as text, whose key has this kind; return a number that may stay as it is."""
    if kind.is_sensitive:
        return mask_value(kind, written)
    if kind is KeyKind.SAFE or (kind is KeyKind.ID and written.lstrip("-").isdigit()) or is_whole_number(written):
        return written
    return redact_text(written)


class NotJsonError(Exception):
    """The text stopped looking like JSON."""


@dataclass(slots=True)
class _Frame:
    """An open object or array, and the key and kind of its next value."""

    kinds: KeyKinds
    is_object: bool
    key: str = ""
    kind: KeyKind = KeyKind.OTHER
    has_contact: bool = False
    # The pieces with a value of `name`, and the mask of each, in case a phone or an email follows.
    names: list[tuple[int, str]] | None = None


class Walk:
    """One JSON document in text, from an opening bracket to its closing one or to the end of the text."""

    def __init__(self, text: str, start: int, redact_string: Callable[[str, KeyKind], str]) -> None:
        self.text = text
        self.end = start
        self.pieces: list[str] = []
        self._copied = start
        self._redact_string = redact_string
        self._frames: list[_Frame] = []
        self._frame = _Frame(_NO_KEYS, False)
        self._escape = _escape_to_ascii if text.isascii() else _escape

    def run(self) -> None:
        """Walk the document. Raises `NotJsonError` if the text is not JSON."""
        harmless = self._frame.kinds.harmless
        for token in TOKEN.finditer(self.text, self.end):
            group = token.lastindex
            if group == MEMBER_PLAIN and token[KEY] in harmless:
                continue  # by far the most frequent
            if group == MEMBER_STRING:
                self._string(token, group, self._key(token, KEY))
            elif group == MARK:
                if self._bracket(token[MARK]):
                    self.end = token.end()
                    break
            elif group == MEMBER_MARK:
                self._key(token, KEY)
                self._bracket(token[MEMBER_MARK])
            else:
                self._rare(token, group)
            harmless = self._frame.kinds.harmless
        else:
            self.end = len(self.text)
        self.pieces.append(self.text[self._copied : self.end])

    def _rare(self, token: re.Match[str], group: int | None) -> None:
        """Handle elements of arrays, members with a sensitive or new key, and unusual or truncated text."""
        if group == MEMBER_PLAIN:
            self._plain_member(token, self._key(token, KEY))
        elif group == MEMBER_BARE:
            self._bare(token, group, self._key(token, KEY))
        elif group == COLON:
            self._key(token, STRING)
        elif group == BARE:
            self._bare(token, group, self._frame.kind)
        elif group == OTHER:
            raise NotJsonError
        else:
            kind = self._frame.kind
            if kind is not _OTHER and self._frame.is_object and self._is_key_position(token.start()):
                kind = _OTHER
            self._string(token, STRING, kind, is_cut=token[CLOSING_QUOTE] is None)

    def _put(self, token: re.Match[str], group: int, replacement: str) -> None:
        start, end = token.span(group)
        self.pieces += (self.text[self._copied : start], replacement)
        self._copied = end

    def _bracket(self, mark: str) -> bool:
        """Open or close an object or array; return whether the document ends here."""
        if mark in "{[":
            if len(self._frames) >= _MAX_DEPTH:
                raise NotJsonError
            self._frames.append(self._frame)
            self._frame = _opened(mark == "{", self._frame)
            return False
        if self._frame.is_object != (mark == "}"):
            raise NotJsonError
        self._frame = self._frames.pop()
        return not self._frames

    def _key(self, token: re.Match[str], group: int) -> KeyKind:
        """Set the current key, masked if necessary; return the kind of its value."""
        frame = self._frame
        frame.key = key = _unescaped(token[group])
        kind = frame.kinds.get(key)
        if kind is None:
            kind, redacted = kind_of_key(frame.kinds, key)
            if redacted != key:
                self._put(token, group, self._escape(redacted))
        if kind in CONTACT and not frame.has_contact:
            frame.has_contact = True
            for place, mask in frame.names or ():
                self.pieces[place] = mask
        elif kind is _NAME and key == "name" and frame.has_contact:
            kind = _PERSONAL
        frame.kind = kind
        return kind

    def _plain_member(self, token: re.Match[str], kind: KeyKind) -> None:
        written = token[MEMBER_PLAIN]
        if written in LITERALS or not (kind.is_sensitive or kind is _NAME):
            return
        value = written.strip('"')
        if kind is _NAME and not looks_like_name(value):
            self._maybe_name(token, MEMBER_PLAIN, written, f'"{mask_value(_PERSONAL, value)}"')
            return
        redacted = mask_value(_PERSONAL if kind is _NAME else kind, value)
        if redacted != value:
            self._put(token, MEMBER_PLAIN, f'"{redacted}"')

    def _maybe_name(self, token: re.Match[str], group: int, shown: str, mask: str) -> None:
        """Write the value of `name` as a separate piece, which a phone or an email after it can replace with a mask."""
        if self._frame.key == "name":
            self._put(token, group, shown)
            if self._frame.names is None:
                self._frame.names = []
            self._frame.names.append((len(self.pieces) - 1, mask))

    def _string(self, token: re.Match[str], group: int, kind: KeyKind, is_cut: bool = False) -> None:
        raw = token[group]
        value = _unescaped(raw)
        if kind is _NAME and looks_like_name(value):
            kind = _PERSONAL
        if kind.is_sensitive:
            redacted = mask_value(kind, value)
        else:
            redacted = value if is_plain_text(value) else self._redact_string(value, kind)
        if is_cut:
            redacted = _CUT_WORD.sub(FULL_MASK, redacted)
        # A mask needs no escaping.
        shown = raw if redacted == value else redacted if kind.is_sensitive else self._escape(redacted)
        if kind is _NAME and self._frame.key == "name":
            self._maybe_name(token, group, shown, self._escape(mask_value(_PERSONAL, value)))
        elif redacted != value:
            self._put(token, group, shown)

    def _is_key_position(self, start: int) -> bool:
        """Return whether a string without a colon after it is a key that was cut off before the colon."""
        before = start - 1
        while self.text[before].isspace():
            before -= 1
        return self.text[before] in ",{"

    def _bare(self, token: re.Match[str], group: int, kind: KeyKind) -> None:
        value = token[group]
        if value in LITERALS or (value == FULL_MASK and token.end() == len(self.text)):
            return
        if NUMBER.fullmatch(value):
            redacted = redact_number(value, kind)
            shown = value if redacted == value else f'"{redacted}"'
            if kind is _NAME and self._frame.key == "name":
                self._maybe_name(token, group, shown, f'"{FULL_MASK}"')
            elif redacted != value:
                self._put(token, group, shown)
        elif token.end() != len(self.text) or not CUT_LITERAL.fullmatch(value):
            raise NotJsonError
        elif len(value) > len("false"):
            self._put(token, group, FULL_MASK)


def _opened(is_object: bool, above: _Frame) -> _Frame:
    """Return the frame of an object or array inside the frame above."""
    if is_object and above.is_object:
        return _Frame(above.kinds.kinds_inside(above.key, above.kind), True)
    key, kind = above.kinds.under(above.key), above.kind
    if is_object:
        return _Frame(key_kinds(key, kind), True)
    return _Frame(_NO_KEYS, False, key, kind)


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        return str(_decode(f'"{raw}"')[0])
    except ValueError:
        # Not valid JSON, or cut inside an escape: the text rules decode it themselves.
        return raw


def _escape(value: str) -> str:
    """Return the text escaped for the inside of a JSON string."""
    return _encode(value)[1:-1]


def _escape_to_ascii(value: str) -> str:
    return _encode_to_ascii(value)[1:-1]
