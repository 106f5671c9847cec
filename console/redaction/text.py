"""Redaction of one piece of plain text: it is decoded, then matched by the rules in order.

Rules match a decoded copy of the text, in which `%40`, `&#64;`, `\\u0040`, full-width and Arabic digits, no-break
spaces and dashes are replaced by what they mean. A map leads each decoded position back to the original text, where
the mask is put, so that everything around it keeps its bytes.
"""

import html
import re
import unicodedata
from bisect import bisect_left, bisect_right
from functools import lru_cache

from console.redaction.credentials import credential_claims, may_hold_credential
from console.redaction.fields import (
    LABELS,
    courier_numbers,
    field_pairs,
    hash_numbers,
    labelled_numbers,
    numbers_after_words,
    tracking_links,
)
from console.redaction.identifiers import conversation_ids, emails, is_conversation_id, whatsapp_ids
from console.redaction.keys import KeyKind, KeyKinds
from console.redaction.lexicon import Lexicons, lowered
from console.redaction.masks import (
    BLANK,
    FULL_MASK,
    Claim,
    Rule,
    blank,
    existing_masks,
    is_mask,
    mask_phone,
)
from console.redaction.phrases import PHRASES
from console.redaction.said_places import STREET_SIGNS, streets_in_one, three_words
from console.redaction.shapes import (
    NAMED_SIGNS,
    count_digits,
    epochs,
    harmless_shapes,
    is_plain_text,
    lone_number,
    long_numbers,
    named_identifiers,
    phone_word_near,
    revisions,
)
from console.redaction.spelled import (
    AT_SIGNS,
    JOINED_DIGITS,
    NUMBERS,
    SAID_AT,
    encoded_texts,
    joined_digits,
    look_alikes,
    odd_phones,
    said_emails,
    spelled_numbers,
)

_DECODINGS = 4
# With the sign of a keycap.
_INVISIBLE = r"\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\u20e3\ufe00-\ufe0f\ufeff"
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
    """Return whether text may contain escapes or non-ASCII characters that need decoding."""
    return not text.isascii() or "%" in text or "\\" in text or "&" in text


class _Folds(dict[int, int]):
    """A map of each code point to its ASCII equivalent, filled as text is met."""

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
        if char in "\u24d0\u24b6":  # an a in a circle
            return ord("@")
        compatible = unicodedata.normalize("NFKC", char)
        return ord(compatible) if len(compatible) == 1 else ord(char)


_FOLDS = _Folds()


class Decoded:
    """A decoded text, with a map from its positions to those of the original."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._rounds: list[tuple[list[int], list[int]]] = []
        for _ in range(_DECODINGS):
            if not self._decode_once():
                break

    def original_start(self, position: int) -> int:
        """Return where the decoded character at position begins in the original."""
        for decoded_at, original_at in reversed(self._rounds):
            piece = bisect_right(decoded_at, position) - 1
            position = original_at[piece] + position - decoded_at[piece]
        return position

    def original_end(self, position: int) -> int:
        """Return where the decoded text before position ends in the original, without characters dropped after it."""
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
            # One entry at the start of the escape, one where plain text continues.
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


# --- The rules --------------------------------------------------------------------------------------------------------

# Lists of words that rules need, each under a name that no text contains.
_LEXICONS = Lexicons(
    {
        **{f"\0{name}": phrase.lexicon for name, phrase in PHRASES.items()},
        "\0at": SAID_AT,
        "\0numbers": NUMBERS,
        "\0labels": LABELS,
        "\0digits": JOINED_DIGITS,
    }
)
# In order: each rule claims what it recognises, and later rules cannot see what is claimed. Each rule has its signs,
# which are pieces of text or lists of words: without any of them in the text it cannot match. A rule without signs
# always runs.
WORD_RULES: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    (existing_masks, ("***",)),
    (credential_claims, ("\0credential", "=")),
    (whatsapp_ids, ("wamid.", "HBg")),
    (field_pairs, ("=", ":")),
    (courier_numbers, ("1LS",)),
    (tracking_links, ("://",)),
    (revisions, ("@",)),
    (emails, ("@",)),
    (said_emails, (*AT_SIGNS, "\0at")),
    *((phrase.rule, (f"\0{name}",)) for name, phrase in PHRASES.items()),
    (streets_in_one, STREET_SIGNS),
    (three_words, ("///",)),
    (spelled_numbers, ("\0numbers",)),
    (joined_digits, ("\0digits",)),
    (encoded_texts, ()),
)
NUMBER_RULES: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    # The phone number in a conversation id can look like an epoch: before the harmless shapes.
    (conversation_ids, ("#",)),
    (named_identifiers, NAMED_SIGNS),
    (labelled_numbers, ("\0labels",)),
    (harmless_shapes, ()),
    # A date is not an order number, but an order number can look like an epoch.
    (numbers_after_words, ()),
    (epochs, ()),
    (hash_numbers, ("#",)),
    (odd_phones, ()),
    (look_alikes, ()),
    (long_numbers, ()),
)
_SIGNS = tuple(
    sign
    for sign in dict.fromkeys(sign for _, signs in (*WORD_RULES, *NUMBER_RULES) for sign in signs)
    if not sign.startswith(BLANK)
)


def _signs_in(text: str) -> frozenset[str]:
    """Return the signs of rules that are in a text."""
    signs = _LEXICONS.names_in(lowered(text))
    signs.update(sign for sign in _SIGNS if sign in text)
    if may_hold_credential(text):
        signs.add("\0credential")
    return frozenset(signs)


# The shortest number that is masked has four digits.
_FEWEST_DIGITS = 4
# A mask followed by the sign of a field, with or without words between them.
_has_key_at_mask = re.compile(r"\*(?!\*)[ ]?(?:[\w.\-]{1,64}+(?:[ ]\w{1,8}+)?)?[\"']?[ ]?[=:]").search
_ROUNDS = 4


def redact_text(text: str) -> str:
    """Mask personal data in plain text. A second call changes nothing."""
    return text if is_plain_text(text) else redact_suspicious(text)


def kind_of_key(kinds: KeyKinds, key: str) -> tuple[KeyKind, str]:
    """Return the kind of an unknown key, and the redacted key; a key that needs no masking is cached."""
    kind, redacted = kinds.classify(key), redact_text(key)
    if redacted == key:
        kinds.remember(key, kind)
    elif not kind.is_sensitive:
        # The words that classified the value are masked, so classify what is left.
        kind = kinds.classify(redacted)
    return kind, redacted


def redact_suspicious(text: str) -> str:
    """Mask personal data in text that may contain some, as `is_plain_text` found."""
    if text.isdigit() and text.isascii():
        return lone_number(text)
    known = is_conversation_id(text) if text.startswith("ci-") else None
    if known:
        return text[: known.start("phone")] + mask_phone(known["phone"])
    for _ in range(_ROUNDS):
        # A mask can bring a word closer to a number, so repeat until nothing changes.
        redacted, is_final = _redact_once(text)
        if is_final or redacted == text:
            return redacted
        text = redacted
    return FULL_MASK


def _redact_once(text: str) -> tuple[str, bool]:
    """Redact once; also return whether another round can find nothing more."""
    decoded = Decoded(text) if may_be_encoded(text) else None
    # A tab separates as a space does, and a space in its place keeps all positions.
    rest = (decoded.text if decoded else text).replace("\t", " ")
    word_rules, number_rules = _rules_for(_signs_in(rest))
    claims: list[Claim] = []
    for rule in word_rules:
        if found := rule(rest):
            claims += found
            rest = blank(rest, found)
    has_numbers = count_digits(rest) >= _FEWEST_DIGITS
    for rule in number_rules if has_numbers else ():
        if found := rule(rest):
            claims += found
            rest = blank(rest, found)
            has_numbers = count_digits(rest) >= _FEWEST_DIGITS
            if not has_numbers:
                break
    masked = [claim for claim in claims if claim[2] is not None]
    if not masked:
        return text, True
    redacted = _with_masks(text, masked, decoded)
    if is_mask(redacted):
        return redacted, True
    # Enough digits are left for a number that a word has moved closer to, or text between masks is still encoded.
    if has_numbers or (decoded and decoded.text != text):
        return redacted, False
    return redacted, _is_final(redacted, claims, len(masked) < len(claims))


@lru_cache(maxsize=512)
def _rules_for(signs: frozenset[str]) -> tuple[list[Rule], list[Rule]]:
    """Return the rules that can match in text with exactly these signs."""
    return (
        [rule for rule, needed in WORD_RULES if not needed or signs.intersection(needed)],
        [rule for rule, needed in NUMBER_RULES if not needed or signs.intersection(needed)],
    )


def _with_masks(original: str, claims: list[Claim], decoded: Decoded | None) -> str:
    """Return the original text with the masks in place; of nested claims the outermost applies."""
    if len(claims) > 1:
        claims.sort(key=_outermost_first)
    pieces: list[str] = []
    end = done = 0
    for start, stop, mask in claims:
        if start < done:
            continue
        done = stop
        if decoded:
            start, stop = decoded.original_start(start), decoded.original_end(stop)
        pieces += (original[end:start], mask or "")
        end = stop
    pieces.append(original[end:])
    return "".join(pieces)


def _is_final(redacted: str, claims: list[Claim], keeps_something: bool) -> bool:
    """Return whether words can cause no further match in the redacted text.

    They can where two masks have met, where a credential now ends at a mask, where masks move the end of a field's key
    or value, or where a phone word is now closer to a number that was kept.
    """
    if "****" in redacted:
        return False
    may_be_credential = "=" in redacted or may_hold_credential(redacted)
    may_be_field = ("=" in redacted or ":" in redacted) and any(start == end for start, end, _ in claims)
    if ("=" in redacted or ":" in redacted) and _has_key_at_mask(redacted):
        return False
    if may_be_credential or may_be_field:
        rest = blank(redacted, existing_masks(redacted))
        if credential_claims(rest):
            return False
        if may_be_field and any(mask is not None for _, _, mask in field_pairs(rest)):
            return False
    return not (keeps_something and phone_word_near(redacted, 0, len(redacted)))


def _outermost_first(claim: Claim) -> tuple[int, int]:
    return claim[0], -claim[1]
