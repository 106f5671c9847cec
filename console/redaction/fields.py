"""The mask for the value of a sensitive key, and `key=value` pairs inside plain text."""

import re
from collections.abc import Iterator

from console.redaction.claims import BLANK, Claim
from console.redaction.keys import Kind, key_kinds
from console.redaction.masks import EMAIL_MASK, FULL_MASK, digits_of, is_mask, mask_order, mask_phone

_LONGEST_PHONE = 40
_LONGEST_ORDER = 64
# `order` is also how a list is sorted.
_NOT_ORDERS = frozenset({"asc", "desc", "ascending", "descending"})
_EMPTY = frozenset({"", "null", "none", "true", "false"})

# `=`, `:` or `=>` behind a key, which is looked for backwards: one word, or two when the second is "name", "number" …
_SIGN = re.compile(r"[=:](?<!:(?=//))>?[ ]?")
_SECOND_WORDS = "|".join(word[::-1] for word in ("name", "number", "no", "id", "address", "url", "link"))
_KEY_BACKWARDS = re.compile(rf"[ ]?[\"']?(?P<key>(?:(?i:{_SECOND_WORDS})[ ](?=\w))?[\w.\-]{{1,64}})")
_LONGEST_KEY = 80
# A quote inside ends the value only where something follows that can follow a value.
_DOUBLE_QUOTED = re.compile(r'"(?P<value>[^"\n]{0,400}+(?:"(?![\s,}\])&;:<>]|\Z)[^"\n]{0,400}+){0,4})')
_SINGLE_QUOTED = re.compile(r"'(?P<value>[^'\n]{0,400}+(?:'(?![\s,}\])&;:<>]|\Z)[^'\n]{0,400}+){0,4})")
_BRACKETED = re.compile(r"[\[({](?P<value>[^\[\](){}]{1,400})(?:[\])}]|\Z)")
_PHONE = re.compile(r"(?P<value>[+(]{0,2}[0-9][0-9 .()\-/+]*)(?<![ ])")
_TOKEN = re.compile(r"""(?P<value>[^\s,;&|"'<>{}\[\]()]{1,400})""")
# Up to the end of the line or the next key.
_PHRASE = re.compile(r"(?P<value>[^\s;&|<>\"'{}\[\]](?:[^\s;&|<>\"{}]|[^\S\n](?![^\S\n]{0,2}[\w.\-]{1,40}=)){0,120}+)")
_PLAIN_NUMBER = re.compile(r"""["']?(?P<value>-?[0-9]+(?:\.[0-9]+)?)(?![0-9A-Za-z\-/+(@%]|[ .][0-9(])""")
_BARE = {Kind.PHONE: _PHONE, Kind.EMAIL: _TOKEN, Kind.TRACKING: _TOKEN, Kind.ORDER: _TOKEN, Kind.PERSONAL: _PHRASE}
_FEWEST_DIGITS = {Kind.PHONE: 4, Kind.TRACKING: 1, Kind.ORDER: 3}


def mask_value(kind: Kind, value: str) -> str:
    """The mask of a value whose key is sensitive; masks and empty values stay."""
    plain = value.strip()
    if not plain or is_mask(plain):
        return value
    if kind is Kind.PHONE:
        if "@" in plain:
            return EMAIL_MASK
        return mask_phone(plain) if len(plain) <= _LONGEST_PHONE else FULL_MASK
    if kind is Kind.EMAIL:
        return EMAIL_MASK
    if kind is Kind.ORDER:
        if plain.lower() in _NOT_ORDERS:
            return value
        return mask_order(plain) if len(plain) <= _LONGEST_ORDER else FULL_MASK
    return FULL_MASK


def field_pairs(text: str) -> Iterator[Claim]:
    """Claim the values of sensitive keys, and plain numbers of safe ones, in `key=value` and `key: value`."""
    kinds = key_kinds()
    position = 0
    while sign := _SIGN.search(text, position):
        floor, position = max(position, sign.start() - _LONGEST_KEY), sign.end()
        key = _KEY_BACKWARDS.match(text[floor : sign.start()][::-1])
        kind = kinds.classify(key["key"][::-1]) if key else Kind.OTHER
        if kind is Kind.SAFE:
            number = _PLAIN_NUMBER.match(text, position)
            if number:
                yield Claim(*number.span("value"))
                position = number.end()
        elif kind.is_sensitive:
            claim = _sensitive_claim(kind, sign.group()[0], text, position)
            if claim:
                yield claim
                position = claim.end


def _sensitive_claim(kind: Kind, sign: str, text: str, position: int) -> Claim | None:
    opening = text[position : position + 1]
    quoted = {'"': _DOUBLE_QUOTED, "'": _SINGLE_QUOTED, "[": _BRACKETED, "(": _BRACKETED, "{": _BRACKETED}.get(opening)
    if quoted and not (opening in "({" and kind is not Kind.PERSONAL):
        found = quoted.match(text, position)
        value = found["value"] if found else ""
    else:
        found = _BARE[kind].match(text, position)
        value = found["value"] if found else ""
        if len(digits_of(value)) < _FEWEST_DIGITS.get(kind, 0) or (kind is Kind.EMAIL and sign == ":"):
            return None
    if found is None or value.strip(BLANK + " ").lower() in _EMPTY:
        return None
    start, end = found.span("value")
    return Claim(start, end, mask_value(kind, value.replace(BLANK, "")))
