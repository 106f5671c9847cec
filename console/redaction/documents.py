"""Redaction of JSON text, whole, cut off or inside other text: a walk over its tokens.

The text is not parsed and written again but rewritten in place, so that spacing, escapes, numbers and double keys stay
as they were, and a document that ends in the middle is walked like a whole one.
"""

import json
import re
from dataclasses import dataclass

from console.redaction.fields import mask_value
from console.redaction.keys import KeyKinds, Kind, key_kinds
from console.redaction.masks import FULL_MASK
from console.redaction.text import is_suspicious, redact_text

# Where JSON may begin inside other text.
_OPENING = re.compile(r'[{\[](?=\s{0,16}["{\[])|\A\s*\[(?=\s{0,16}(?:-?[0-9]|(?:true|false|null|NaN|-?Infinity)\b))')
_TOKEN = re.compile(
    r"""
    # 1 a key with 2 a value that no rule could mask unless its key is sensitive
      "([^"\\]*+)"\s*+:\s*+("(?!wamid)[^"\\0-9@%&=:\u0080-\U0010ffff]*+"|-?[0-9]{1,6}+(?![0-9.eE])|true|false|null)(?=[,}\]])
    # 3 a string, 4 its closing quote, 5 a colon behind
    | "((?:[^"\\]++|\\.)*+)(?:(")(\s*+:)?|\\?\Z)
    # 6 a bracket
    | ([{}\[\]])
    # 7 a number or a literal
    | ([^\s"{}\[\],]++)(?=\s*+(?:[,}\]]|\Z))
    # 8 what is no JSON
    | ([^\s,])
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+\-]?[0-9]+)?")
_LITERALS = frozenset({"true", "false", "null", "NaN", "Infinity", "-Infinity"})
_CUT_LITERAL = re.compile(r"t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-|-?[0-9]+(?:\.|\.?[0-9]*[eE][+\-]?)")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_PLAIN_KEY, _PLAIN_VALUE, _STRING, _CLOSING_QUOTE, _COLON, _MARK, _BARE, _OTHER = range(1, 9)
# An array has no keys; a key in it is malformed and scanned like one of an unknown object.
_NO_KEYS = KeyKinds("", Kind.OTHER)
# Brackets in brackets; what is deeper is read as plain text.
_MAX_DEPTH = 200
# Documents in strings in documents.
_MAX_NESTING = 12
# Each failed walk costs a reading of the text.
_MAX_FAILURES = 4
_MAX_ROUNDS = 4
# The last word of a string that was cut may be the beginning of a phone number or an address, not so a date's.
_CUT_WORD = re.compile(
    r"(?<![^\s*])(?!(?:19|20)[0-9]{2}-)[+(]?[0-9](?:[ .\-/()]{0,3}[0-9]){4,5}[ .\-/()]{0,3}\Z"
    r"|(?<!\S)[^\s*]*(?:@|%40)[^\s*]*\Z"
)


class _NotJsonError(Exception):
    """The text stopped looking like JSON."""


@dataclass(slots=True)
class _Frame:
    """An open object or array, and the key and kind of the value that comes next in it."""

    kinds: KeyKinds
    is_object: bool
    key: str = ""
    kind: Kind = Kind.OTHER


def redact_document(text: str, nesting: int = 0) -> str:
    """Mask personal data in text that is JSON, holds JSON, or is plain. A second call changes nothing."""
    if "{" not in text and "[" not in text:
        return redact_text(text)
    if nesting > _MAX_NESTING:
        return FULL_MASK
    for _ in range(_MAX_ROUNDS):
        redacted, is_clean = _redact_once(text, nesting)
        # What looked like JSON and was none can become JSON when a quote in it is masked.
        if is_clean or redacted == text:
            return redacted
        text = redacted
    return FULL_MASK


def _redact_once(text: str, nesting: int) -> tuple[str, bool]:
    """Redact once; also whether all that looked like JSON was JSON."""
    pieces: list[str] = []
    end = position = failures = 0
    while failures < _MAX_FAILURES and (opening := _OPENING.search(text, position)):
        walk = _Walk(text, opening.end() - 1, nesting)
        try:
            walk.run()
        except _NotJsonError:
            position = opening.end()
            failures += 1
            continue
        pieces += (redact_text(text[end : opening.end() - 1]), *walk.pieces)
        end = position = walk.end
    pieces.append(redact_text(text[end:]))
    return "".join(pieces), not failures


def redact_scalar_text(value: str, kind: Kind, nesting: int = 0) -> str:
    """Mask a string whose key has this kind."""
    if kind.is_sensitive:
        return mask_value(kind, value)
    if kind is Kind.SAFE and _PLAIN_NUMBER.fullmatch(value):
        return value
    return redact_document(value, nesting)


def redact_number_text(value: str, kind: Kind) -> str:
    """Mask a number, given as text, whose key has this kind; a number that may stay is returned as it is."""
    if kind.is_sensitive:
        return mask_value(kind, value)
    if kind is Kind.SAFE or (kind is Kind.ID and value.lstrip("-").isdigit()):
        return value
    return redact_text(value)


class _Walk:
    """One JSON document in text, from an opening bracket to its closing one or to the end of the text."""

    def __init__(self, text: str, start: int, nesting: int) -> None:
        self.text = text
        self.end = start
        self.pieces: list[str] = []
        self._copied = start
        self._nesting = nesting
        self._frames: list[_Frame] = []

    def run(self) -> None:
        """Walk; raises _NotJsonError where the text is no JSON."""
        frames = self._frames
        frame = _opened(False, None)
        for token in _TOKEN.finditer(self.text, self.end):
            group = token.lastindex
            if group == _PLAIN_VALUE:
                # By far the most frequent token: a known harmless key and a value without digits.
                kind = frame.kinds.get(token[_PLAIN_KEY])
                if kind is None or kind.is_sensitive:
                    self._member(token, frame)
            elif group == _MARK:
                self._mark(token[_MARK])
                if not frames:
                    self.end = token.end()
                    break
                frame = frames[-1]
            elif group == _COLON:
                self._key(token, _STRING, frame)
            elif group == _BARE:
                self._bare(token, frame.kind)
            elif group == _OTHER:
                raise _NotJsonError
            else:
                self._string(token, frame)
        else:
            self.end = len(self.text)
        self.pieces.append(self.text[self._copied : self.end])

    def _put(self, token: re.Match[str], group: int, replacement: str) -> None:
        start, end = token.span(group)
        self.pieces += (self.text[self._copied : start], replacement)
        self._copied = end

    def _mark(self, mark: str) -> None:
        frames = self._frames
        if mark in "{[":
            if len(frames) >= _MAX_DEPTH:
                raise _NotJsonError
            frames.append(_opened(mark == "{", frames[-1] if frames else None))
        elif frames.pop().is_object != (mark == "}"):
            raise _NotJsonError

    def _member(self, token: re.Match[str], frame: _Frame) -> None:
        self._key(token, _PLAIN_KEY, frame)
        written = token[_PLAIN_VALUE]
        if not frame.kind.is_sensitive or written in _LITERALS:
            return
        value = written.strip('"')
        redacted = mask_value(frame.kind, value)
        if redacted != value:
            self._put(token, _PLAIN_VALUE, f'"{self._escaped(redacted)}"')

    def _key(self, token: re.Match[str], group: int, frame: _Frame) -> None:
        frame.key = key = _unescaped(token[group])
        kind = frame.kinds.get(key)
        if kind is not None:
            frame.kind = kind
            return
        frame.kind = frame.kinds.classify(key)
        redacted = redact_text(key)
        if redacted != key:
            self._put(token, group, self._escaped(redacted))

    def _string(self, token: re.Match[str], frame: _Frame) -> None:
        raw = token[_STRING]
        is_cut = token[_CLOSING_QUOTE] is None
        kind = frame.kind
        if kind is not Kind.OTHER and frame.is_object and self._is_key_position(token.start()):
            kind = Kind.OTHER
        if not kind.is_sensitive and not is_suspicious(raw):
            return
        value = _unescaped(raw)
        redacted = redact_scalar_text(value, kind, self._nesting + 1)
        if is_cut:
            redacted = _CUT_WORD.sub(FULL_MASK, redacted)
        if redacted != value:
            self._put(token, _STRING, self._escaped(redacted))

    def _is_key_position(self, start: int) -> bool:
        """Whether a string that has no colon behind is a key that was cut off before it."""
        before = start - 1
        while self.text[before].isspace():
            before -= 1
        return self.text[before] in ",{"

    def _bare(self, token: re.Match[str], kind: Kind) -> None:
        value = token[_BARE]
        if value in _LITERALS:
            return
        if _NUMBER.fullmatch(value):
            redacted = redact_number_text(value, kind)
            if redacted != value:
                self._put(token, _BARE, f'"{redacted}"')
        elif token.end() != len(self.text) or not _CUT_LITERAL.fullmatch(value):
            raise _NotJsonError
        elif len(value) > len("false"):
            self._put(token, _BARE, FULL_MASK)

    def _escaped(self, value: str) -> str:
        return json.dumps(value, ensure_ascii=self.text.isascii())[1:-1]


def _opened(is_object: bool, above: _Frame | None) -> _Frame:
    """The frame of an object or array that stands in the frame above."""
    key, kind = (above.key, above.kind) if above else ("", Kind.OTHER)
    if is_object:
        return _Frame(key_kinds(key, kind if kind.is_inherited else Kind.OTHER), True)
    return _Frame(_NO_KEYS, False, key, kind)


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    try:
        return str(json.loads(f'"{raw}"', strict=False))
    except ValueError:
        # Not valid JSON, or cut inside an escape: the rules decode it themselves.
        return raw
