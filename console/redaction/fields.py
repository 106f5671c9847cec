"""Rules that match by the word before a value: `key=value` pairs, and order and tracking numbers in plain text."""

import re

from console.redaction import words
from console.redaction.credentials import AMPERSAND, PHRASE
from console.redaction.keys import KeyKind, KeyKinds, looks_like_name, mask_value, words_of
from console.redaction.lexicon import Lexicon, lowered, pattern_of, pieces_of
from console.redaction.masks import (
    BLANK,
    FULL_MASK,
    Claim,
    digits_of,
    mask_order,
    word_set,
)
from console.redaction.phrase import BETWEEN
from console.redaction.shapes import NUMBER_IN_GROUPS

# Not shared with the JSON walk, which does not redact keys that its own KeyKinds has.
_KINDS = KeyKinds("", KeyKind.OTHER)
# Python 3.11 is slow to reach the members of an Enum by name.
_EMAIL, _PERSONAL, _NAME, _SAFE = KeyKind.EMAIL, KeyKind.PERSONAL, KeyKind.NAME, KeyKind.SAFE
# Characters that end a value, whatever comes before them.
_ENDS = frozenset({"", " ", "\n", "\r", "\t", ",", ";", "&", ")", "]", "}"})
_EMPTY = frozenset({"", "null", "none", "true", "false"})

# `=`, `:`, `==` or `=>` after a key. The key is matched backwards: one word, or two when the second is "name" …
_SIGN = re.compile(r"[=:]++(?<!:(?=//))>?[ ]?")
_SECOND_WORDS = ("name", "number", "no", "id", "address", "url", "link")
_ENDINGS = "|".join(word[::-1] for word in _SECOND_WORDS)
_KEY_BACKWARDS = re.compile(rf"[ ]?[\"']?(?P<key>(?:(?i:{_ENDINGS})[ ](?=\w))?[\w.\-]{{1,64}})")
_LONGEST_KEY = 80
# An inner quote ends the value only before a character that can follow a value.
_DOUBLE_QUOTED = re.compile(r'"(?P<value>[^"\n]{0,400}+(?:"(?![\s,}\])&;:<>]|\Z)[^"\n]{0,400}+){0,4})')
_SINGLE_QUOTED = re.compile(r"'(?P<value>[^'\n]{0,400}+(?:'(?![\s,}\])&;:<>]|\Z)[^'\n]{0,400}+){0,4})")
_BRACKETED = re.compile(r"[\[({](?P<value>[^\[\](){}]{1,400})(?:[\])}]|\Z)")
_PHONE = re.compile(r"(?P<value>[+(]{0,2}[0-9][0-9 .()\-/+]*)(?<![ ])")
_ONE = r"""[^\s,;&|"'<>{}\[\]()]"""
_TOKEN = re.compile(rf"(?P<value>{_ONE}{{1,400}})")
_PARAMETER = re.compile(rf"(?P<value>(?:{_ONE}|{AMPERSAND}){{1,400}})")
# One number or a list: each further one has four digits and is neither a date nor another field.
_NEXT = (
    r"(?:,[ ]?|[ ](?:and|und|et|y|e|en|&)[ ])#?(?!(?:19|20)[0-9]{2}[\-/.])"
    r"(?=[A-Za-z\-/]{0,8}[0-9\-/]{4})[0-9A-Za-z\-/]{4,40}(?![=:])"
)
_NUMBERS = re.compile(rf"(?P<value>(?:{NUMBER_IN_GROUPS}|{_ONE}{{1,400}})(?:{_NEXT}){{0,20}})")
_PHRASE = re.compile(rf"(?P<value>{PHRASE})")
# Two words or more and no sentence, so that "Customer: Thanks" stays. A value in a link ends with its parameter.
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


def field_pairs(text: str) -> list[Claim]:
    """Claim the values of sensitive keys, and plain numbers of safe ones, in `key=value` and `key: value`.

    An empty claim marks a position where masks in the text could move the end of a value, or make one.
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
    """Return the kind of the key at the end of a text."""
    word = text.rpartition(" ")[2].rpartition("\n")[2]
    known = _KINDS.get(word)
    if known is not None and word.lower() not in _SECOND_WORDS:
        return known
    key = _KEY_BACKWARDS.match(text[::-1])
    return _kind(key["key"][::-1]) if key else KeyKind.OTHER


def _kind(key: str) -> KeyKind:
    """Return the kind of a key of one word or two, the first of which may be unrelated: `order 8315x address: …`."""
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
        found = (_PARAMETER if kind is _PERSONAL and in_link else _BARE[kind]).match(text, position)
        value = found["value"] if found else ""
        if len(digits_of(value)) < _FEWEST_DIGITS.get(kind, 0) or (kind is _EMAIL and sign == ":"):
            return None
    if found is None or value.strip(BLANK + " ").lower() in _EMPTY:
        return None
    return *found.span("value"), mask_value(kind, value.replace(BLANK, ""))


# --- Order and tracking numbers ---------------------------------------------------------------------------------------

_PREFIX = r"(?:[a-z]{1,6}[\-/]){0,3}(?:[a-z]{1,6})?"
# Between a word and its number, or nothing: order48213, 订单48213
_BETWEEN = rf"(?:{BETWEEN}{{1,12}}|(?=[0-9]{{5}}))"
# 8315, WC-20155, WEB-UK-482133, INV/9104/62605, GB-36954-A, 030-3177705-9234649; 07924 129923 unless behind a slash
_ORDER_ID = (
    rf"(?:(?<!/){NUMBER_IN_GROUPS}|{_PREFIX}[0-9][a-z0-9]{{0,40}}"
    r"(?:[\-/](?:[a-z]?[0-9][a-z0-9]{0,40}|[a-z]{1,2}(?![a-z]))){0,6})"
)
# A comma or a word between two numbers.
_AND = r"(?:,|[ ](?:and|und|et|y|e|en|i|og|och|or|oder|ou|&)(?![a-z])){1,2}[ ]?\#?"
_list_of_orders = re.compile(rf"{_ORDER_ID}(?:{_AND}{_ORDER_ID})*").match
_orders = re.compile(_ORDER_ID).finditer
# At least four: three would be the status in "POST /orders 201", and a shorter number would be shown in full.
_has_order_digits = re.compile(r"(?:[^0-9]*+[0-9]){4}").match
# "#86125", "#JR08091" or "#PO-784300" alone; not TS#171…, &#64; or a colour such as #a1b2c3 or #AB12345F.
_HASH_NUMBER = re.compile(r"#(?<![\w&#].)(?P<id>(?:[A-Z]{1,4}-?)?[0-9]{5,})(?![0-9A-Za-z\-])")

# 1500 units, 1200 €
is_amount = re.compile(rf"[0-9]{{1,6}}(?:[.,][0-9]{{2}})?[ ]?(?:[€$£¥₹%]|{pattern_of(words.UNIT)})").match
LABELS = Lexicon(words.HARMLESS_LABEL, words.VERSION_LABEL)
# EAN 4006381333931, VAT no. GB123456789
_labelled = re.compile(
    rf"(?:{pattern_of(words.HARMLESS_LABEL)})(?:[ :#.=\-]|(?:no|nr|number|id|is|code)(?![a-z])){{0,5}}"
    r"(?P<number>[a-z]{0,3}[ \-]?(?!0[0-9]{9,10}(?![0-9]))[0-9][0-9a-z.\-]{0,24})"
    rf"|(?:{pattern_of(words.VERSION_LABEL)})[ :=]{{1,3}}(?P<version>[0-9]{{1,8}}(?:[.\-][0-9a-z]{{1,8}}){{1,5}})"
).finditer
# 48213 is my order number
_ORDER_BEFORE = re.compile(
    rf"(?<![\w.,/\-])(?P<id>#?(?:[a-z]{{1,6}}-){{0,2}}[a-z]{{0,3}}[0-9]{{4,20}}(?:-[0-9]{{1,12}}){{0,3}})"
    rf"(?=[^0-9]*[^\W\d_])"
    rf"(?:[\s,.()\-:\"'–—]|{pattern_of(words.NUMBER_SIGN + words.FILLER + words.BEFORE_WORD)}){{1,12}}\Z"
)
_JOINING = word_set((words.NUMBER_SIGN + words.FILLER + words.BEFORE_WORD).replace("_", " "))
_WINDOW = 48

_and_another = re.compile(rf"{_AND}(?=[a-z0-9])").match
# In one piece, or in groups of digits and capitals: D 100 113 459 830 10
_tracking_id = re.compile(
    r"[A-Za-z0-9]{1,64}(?:-[A-Za-z0-9]{1,40}){0,6}"
    r"(?:[ ](?:[0-9]{1,40}[A-Z]{0,3}|[A-Z]{1,3}[0-9]{0,40})(?![A-Za-z0-9])){0,16}"
).match
# The beginnings of all these words; checking only beginnings of words is far faster.
_BEGINNINGS = pieces_of(" ".join(re.split(r"[_*.]", word)[0][:5] for word in (words.ORDER + words.TRACKING).split()))
_NO_LETTERS = r"[\x00-`{-\x7f]*+"
# Text up to the next word with one of these beginnings.
_up_to_a_word = re.compile(rf"{_NO_LETTERS}(?:(?!{_BEGINNINGS})(?:[a-z]++|[^\x00-\x7f]){_NO_LETTERS})*").match
# One of the words, and the filler between it and the number.
_word = re.compile(
    rf"(?P<orders>(?:{pattern_of(words.ORDER)}){_BETWEEN}(?={_PREFIX}[0-9]))"
    rf"|(?P<parcels>(?:{pattern_of(words.TRACKING)}){_BETWEEN}(?=[a-z0-9]))"
    rf"|(?P<behind>{pattern_of(words.ORDER)})"
).match
# Five digits, or four within eight or more capitals and digits.
_is_tracking_id = re.compile(r"(?:[^0-9]*+[0-9]){5}|(?=[A-Z0-9]{8})(?:[A-Z]*[0-9]){4}").match
# LaserShip's numbers have too few digits in a row to match as a long number: 1LSCXVE005BUEFX
_COURIER_NUMBER = re.compile(r"1(?<![0-9A-Za-z].)LS[0-9A-Z]{9,12}(?![0-9A-Za-z])")
_URL = re.compile(r"https?://[^\s\"'<>()\[\]{}|\\^`\0]+")
_TRACKING_URL = re.compile(
    r"track|trk|parcel|shipment|consignment|waybill|awb|sendung|suivi|seguimiento|dhl\.|fedex\.|ups\.com|usps\.|dpd\."
    r"|aramex|purolator|royalmail|evri|hermes|gls-|canadapost|auspost|piececode",
    re.IGNORECASE,
)
_URL_WITH_ID = re.compile(r"https?://[^/?#]*[/?#][^0-9]*[0-9]|https?://[^?]*\?[^=]*=")


def numbers_after_words(text: str) -> list[Claim]:
    """Mask tracking numbers after "tracking", "parcel" …, and order numbers, one or a list, after "order" …"""
    lower = lowered(text)
    claims: list[Claim] = []
    position = orders_end = parcels_end = 0
    while (before := _up_to_a_word(lower, position)) and (start := before.end()) < len(lower):
        position = start + 1
        word = _word(lower, start)
        if word is None:
            continue
        if word.lastgroup == "parcels":
            if start >= parcels_end:
                parcels_end = _tracking_numbers(text, lower, word.end(), claims)
        elif start >= orders_end:
            if word.lastgroup == "orders":
                orders_end = _order_numbers(text, lower, word.end(), claims)
            _order_number_before(text, lower, start, orders_end, claims)
    return _apart(claims) if len(claims) > 1 else claims


def labelled_numbers(text: str) -> list[Claim]:
    """Claim, to be kept, numbers of articles, companies, queues and versions, as the word before them says."""
    return [(*found.span(found.lastgroup or 0), None) for found in _labelled(lowered(text))]


def hash_numbers(text: str) -> list[Claim]:
    """Mask `#86125`, the way shops write an order."""
    return [(*found.span("id"), mask_order(found["id"])) for found in _HASH_NUMBER.finditer(text)]


def courier_numbers(text: str) -> list[Claim]:
    """Mask courier numbers that can be recognised by their format alone."""
    return [(*found.span(), FULL_MASK) for found in _COURIER_NUMBER.finditer(text)]


def tracking_links(text: str) -> list[Claim]:
    """Mask links to a courier's page for one parcel."""
    claims: list[Claim] = []
    for found in _URL.finditer(text):
        link = found.group().rstrip(".,;:!?")
        if _TRACKING_URL.search(link) and _URL_WITH_ID.match(link):
            claims.append((found.start(), found.start() + len(link), FULL_MASK))
    return claims


def _order_numbers(text: str, lower: str, start: int, claims: list[Claim]) -> int:
    """Claim the order numbers of a list that begins at `start`; return the end of the list."""
    found = _list_of_orders(lower, start)
    if found is None:
        return start
    for order in _orders(lower, start, found.end()):
        first, last = order.span()
        number = text[first:last]
        if _has_order_digits(number) and not is_amount(lower, first):
            claims.append((first, last, mask_order(number)))
    return found.end()


def _order_number_before(text: str, lower: str, start: int, floor: int, claims: list[Claim]) -> None:
    """Claim the order number before a word that starts at `start`: 48213 is my order number."""
    first = max(0, start - _WINDOW)
    last_word = lower[first:start].rstrip(" ,.():\"'").rpartition(" ")[2].lstrip("(\"'")
    if last_word.isascii() and last_word not in _JOINING:
        return
    found = _ORDER_BEFORE.search(lower[first:start])
    if found:
        span = (first + found.start("id"), first + found.end("id"))
        claims.append((*span, mask_order(text[slice(*span)])))


def _tracking_numbers(text: str, lower: str, start: int, claims: list[Claim]) -> int:
    """Claim the tracking numbers that begin at `start`; return the end of the last one."""
    end = start
    while (found := _tracking_id(text, start)) and _is_tracking_id(found.group()):
        end = found.end()
        claims.append((start, end, FULL_MASK))
        another = _and_another(lower, end)
        if another is None:
            break
        start = another.end()
    return end


def _apart(claims: list[Claim]) -> list[Claim]:
    """Return the claims in order, without those that begin inside another one."""
    apart: list[Claim] = []
    end = 0
    for claim in sorted(claims):
        if claim[0] >= end:
            apart.append(claim)
            end = claim[1]
    return apart
