"""The mask for the value of a sensitive key, and `key=value` pairs inside plain text."""

import re

from console.redaction.credentials import PHRASE
from console.redaction.keys import KeyKind, KeyKinds, looks_like_name, words_of
from console.redaction.masks import (
    BLANK,
    EMAIL_MASK,
    FULL_MASK,
    Claim,
    digits_of,
    is_mask,
    mask_order,
    mask_phone_digits,
)
from console.redaction.shapes import NUMBER_IN_GROUPS

# Not those of JSON, where a key that is known is not looked at again.
_KINDS = KeyKinds("", KeyKind.OTHER)
_LONGEST_PHONE = 40
_LONGEST_ORDER = 64
# Python 3.11 is slow to reach the members of an Enum by name.
_EMAIL, _ORDER, _PERSONAL, _NAME, _SAFE = KeyKind.EMAIL, KeyKind.ORDER, KeyKind.PERSONAL, KeyKind.NAME, KeyKind.SAFE
# `order` is also how a list is sorted.
_NOT_ORDERS = frozenset({"asc", "desc", "ascending", "descending"})
# What ends a value whatever stands before it.
_ENDS = frozenset({"", " ", "\n", "\r", "\t", ",", ";", "&", ")", "]", "}"})
_EMPTY = frozenset({"", "null", "none", "true", "false"})

# `=`, `:`, `==` or `=>` behind a key, which is looked for backwards: one word, or two when the second is "name" …
_SIGN = re.compile(r"[=:]++(?<!:(?=//))>?[ ]?")
_SECOND_WORDS = ("name", "number", "no", "id", "address", "url", "link")
_ENDINGS = "|".join(word[::-1] for word in _SECOND_WORDS)
_KEY_BACKWARDS = re.compile(rf"[ ]?[\"']?(?P<key>(?:(?i:{_ENDINGS})[ ](?=\w))?[\w.\-]{{1,64}})")
_LONGEST_KEY = 80
# A quote inside ends the value only where something follows that can follow a value.
_DOUBLE_QUOTED = re.compile(r'"(?P<value>[^"\n]{0,400}+(?:"(?![\s,}\])&;:<>]|\Z)[^"\n]{0,400}+){0,4})')
_SINGLE_QUOTED = re.compile(r"'(?P<value>[^'\n]{0,400}+(?:'(?![\s,}\])&;:<>]|\Z)[^'\n]{0,400}+){0,4})")
_BRACKETED = re.compile(r"[\[({](?P<value>[^\[\](){}]{1,400})(?:[\])}]|\Z)")
_PHONE = re.compile(r"(?P<value>[+(]{0,2}[0-9][0-9 .()\-/+]*)(?<![ ])")
_ONE = r"""[^\s,;&|"'<>{}\[\]()]"""
_TOKEN = re.compile(rf"(?P<value>{_ONE}{{1,400}})")
# One, or a list of them: the next one has four digits, is no date and no other field.
_NEXT = (
    r"(?:,[ ]?|[ ](?:and|und|et|y|e|en|&)[ ])#?(?!(?:19|20)[0-9]{2}[\-/.])"
    r"(?=[A-Za-z\-/]{0,8}[0-9\-/]{4})[0-9A-Za-z\-/]{4,40}(?![=:])"
)
_NUMBERS = re.compile(rf"(?P<value>(?:{NUMBER_IN_GROUPS}|{_ONE}{{1,400}})(?:{_NEXT}){{0,20}})")
_PHRASE = re.compile(rf"(?P<value>{PHRASE})")
# Two words or more, so that "Customer: Thanks" stays, and no sentence. A value of a link ends with its parameter.
_NAME_IN_TEXT = re.compile(
    r"[\"']?(?P<value>[^\W\d_][\w'’.\-]{0,40}(?:[ ][^\W\d_][\w'’.\-]{0,40}){1,4})"
    r"(?=[\"',;&|()\[\]}<>\n]|[ ]?\Z|[ ][\w.\-]{1,40}=)"
)
_in_link = re.compile(r"[?&#][\w.\-]{1,64}\Z").search
_PLAIN_NUMBER = re.compile(r"""["']?(?P<value>-?[0-9]+(?:\.[0-9]+)?)(?![0-9A-Za-z\-/+(@%]|[ .][0-9(])""")
_QUOTED = {'"': _DOUBLE_QUOTED, "'": _SINGLE_QUOTED, "[": _BRACKETED, "(": _BRACKETED, "{": _BRACKETED}
_BARE = {
    KeyKind.PHONE: _PHONE,
    KeyKind.EMAIL: _TOKEN,
    KeyKind.TRACKING: _NUMBERS,
    KeyKind.ORDER: _NUMBERS,
    KeyKind.PERSONAL: _PHRASE,
}
_FEWEST_DIGITS = {KeyKind.PHONE: 4, KeyKind.TRACKING: 1, KeyKind.ORDER: 4}


def mask_value(kind: KeyKind, value: str) -> str:
    """The mask of a value whose key is sensitive; masks and empty values stay."""
    plain = value.strip()
    # Most are no mask, as their first character tells.
    if not plain or (plain[0] == "*" and is_mask(plain)) or (kind is _ORDER and plain.lower() in _NOT_ORDERS):
        return value
    mask = _MASKS.get(kind)
    return mask(plain) if mask else FULL_MASK


def _phone_mask(plain: str) -> str:
    if "@" in plain:
        return EMAIL_MASK
    return mask_phone_digits(digits_of(plain)) if len(plain) <= _LONGEST_PHONE else FULL_MASK


def _email_mask(_: str) -> str:
    return EMAIL_MASK


def _order_mask(plain: str) -> str:
    return mask_order(plain) if len(plain) <= _LONGEST_ORDER else FULL_MASK


# What of a value survives, by the kind of its key; of one whose kind is not here, nothing.
_MASKS = {KeyKind.PHONE: _phone_mask, KeyKind.EMAIL: _email_mask, KeyKind.ORDER: _order_mask}


def field_pairs(text: str) -> list[Claim]:
    """Claim the values of sensitive keys, and plain numbers of safe ones, in `key=value` and `key: value`.

    Where a value may end elsewhere, or begin to be one, once there are masks in the text, an empty claim says so.
    """
    claims: list[Claim] = []
    position = 0
    while sign := _SIGN.search(text, position):
        start, end = sign.span()
        kind = _kind_before(text[max(position, start - _LONGEST_KEY) : start])
        position = end
        if kind is _SAFE:
            number = _PLAIN_NUMBER.match(text, position)
            if number:
                claims.append((*number.span("value"), None))
                position = number.end()
        elif kind is _NAME:
            name = _NAME_IN_TEXT.match(text, position)
            if name and looks_like_name(name["value"]):
                claims.append((*name.span("value"), FULL_MASK))
                position = name.end()
        elif kind.is_sensitive:
            claim = _sensitive_claim(
                kind, text[start], text, position, _in_link(text[max(0, start - _LONGEST_KEY) : start])
            )
            if claim:
                claims.append(claim)
                position = claim[1]
            if claim is None or kind is _PERSONAL or text[position : position + 1] not in _ENDS:
                claims.append((position, position, None))
    return claims


def _kind_before(text: str) -> KeyKind:
    """The kind of the key at the end of a text."""
    word = text.rpartition(" ")[2].rpartition("\n")[2]
    known = _KINDS.get(word)
    if known is not None and word.lower() not in _SECOND_WORDS:
        return known
    key = _KEY_BACKWARDS.match(text[::-1])
    return _kind(key["key"][::-1]) if key else KeyKind.OTHER


def _kind(key: str) -> KeyKind:
    """The kind of a key of one word or two, of which the first may be something else: `order 8315x address: …`."""
    if " " in key and not words_of(key):
        key = key.rpartition(" ")[2]
    if key[0].isdigit():
        return KeyKind.OTHER
    kind = _KINDS.get(key)
    if kind is None:
        kind = _KINDS.classify(key)
        _KINDS.remember(key, kind)
    return kind


def _sensitive_claim(kind: KeyKind, sign: str, text: str, position: int, in_link: object) -> Claim | None:
    opening = text[position : position + 1]
    quoted = _QUOTED.get(opening)
    if quoted and not (opening in "({" and kind is not _PERSONAL):
        found = quoted.match(text, position)
        value = found["value"] if found else ""
    else:
        found = (_TOKEN if kind is _PERSONAL and in_link else _BARE[kind]).match(text, position)
        value = found["value"] if found else ""
        if len(digits_of(value)) < _FEWEST_DIGITS.get(kind, 0) or (kind is _EMAIL and sign == ":"):
            return None
    if found is None or value.strip(BLANK + " ").lower() in _EMPTY:
        return None
    return *found.span("value"), mask_value(kind, value.replace(BLANK, ""))
