"""Redaction of one piece of plain text: the rules and their order."""

import re
from functools import lru_cache

from console.redaction.claims import Claim, Rule, blank, holds_any
from console.redaction.contexts import hash_numbers, numbers_behind_words
from console.redaction.credentials import BEGINNINGS, credentials
from console.redaction.decoding import Decoded, may_be_encoded
from console.redaction.fields import field_pairs
from console.redaction.identifiers import (
    conversation_ids,
    courier_numbers,
    emails,
    existing_masks,
    is_conversation_id,
    tracking_links,
    whatsapp_ids,
)
from console.redaction.masks import FULL_MASK, count_digits, is_mask, mask_phone
from console.redaction.numbers import lone_number, long_numbers
from console.redaction.shapes import (
    NAMED_SIGNS,
    epochs,
    harmless_shapes,
    is_plain_text,
    named_identifiers,
    phone_word_near,
    revisions,
)

# The rules in their order: each claims what it explains, and what one has claimed the next cannot see. With each rule
# stand the signs without any of which it finds nothing; a rule without signs is always asked.
WORD_RULES: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    (existing_masks, ("***",)),
    (credentials, (*BEGINNINGS, "=")),
    (whatsapp_ids, ("wamid.", "HBg")),
    (field_pairs, ("=", ":")),
    (courier_numbers, ("1LS",)),
    (tracking_links, ("://",)),
    (revisions, ("@",)),
    (emails, ("@",)),
)
NUMBER_RULES: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    # The phone number in a conversation id can look like an epoch: before the harmless shapes.
    (conversation_ids, ("#",)),
    (named_identifiers, NAMED_SIGNS),
    (harmless_shapes, ()),
    # A date is no order number, but what looks like an epoch can be one.
    (numbers_behind_words, ()),
    (epochs, ()),
    (hash_numbers, ("#",)),
    (long_numbers, ()),
)
_SIGNS = tuple(dict.fromkeys(sign for _, signs in (*WORD_RULES, *NUMBER_RULES) for sign in signs))

# The shortest number that is masked has four digits.
_FEWEST_DIGITS = 4
# A mask, the sign of a field behind it, and words between them or none.
_has_key_at_mask = re.compile(r"\*(?!\*)[ ]?(?:[\w.\-]{1,64}+(?:[ ]\w{1,8}+)?)?[\"']?[ ]?[=:]").search
_ROUNDS = 4


def redact_text(text: str) -> str:
    """Mask personal data in plain text. A second call changes nothing."""
    return text if is_plain_text(text) else redact_suspicious(text)


def redact_suspicious(text: str) -> str:
    """Mask personal data in text that is known to be no harmless shape, and not to be without anything suspicious."""
    if text.isdigit() and text.isascii():
        return lone_number(text)
    known = is_conversation_id(text) if text.startswith("ci-") else None
    if known:
        return text[: known.start("phone")] + mask_phone(known["phone"])
    for _ in range(_ROUNDS):
        # What one round has masked can bring the words around it nearer to a number, so ask again until it rests.
        redacted, is_final = _read(text)
        if is_final or redacted == text:
            return redacted
        text = redacted
    return FULL_MASK


def _read(text: str) -> tuple[str, bool]:
    """Redact once; also whether reading the redacted text again can find nothing more."""
    decoded = Decoded(text) if may_be_encoded(text) else None
    # A tab parts what a space does; a space in its place leaves every position as it was.
    rest = (decoded.text if decoded else text).replace("\t", " ")
    word_rules, number_rules = _rules_for(frozenset([sign for sign in _SIGNS if sign in rest]))
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
    # Enough digits stayed for a number that a word has moved nearer to, or what is between masks is still encoded.
    if has_numbers or (decoded and decoded.text != text):
        return redacted, False
    return redacted, _is_final(redacted, claims, len(masked) < len(claims))


@lru_cache(maxsize=512)
def _rules_for(signs: frozenset[str]) -> tuple[list[Rule], list[Rule]]:
    """The rules that can find something in text that has these signs and no others."""
    return (
        [rule for rule, needed in WORD_RULES if not needed or signs.intersection(needed)],
        [rule for rule, needed in NUMBER_RULES if not needed or signs.intersection(needed)],
    )


def _with_masks(original: str, claims: list[Claim], decoded: Decoded | None) -> str:
    """The original text with the masks in place; of claims in each other the outermost counts."""
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
    """Whether reading the redacted text again can find nothing more, as far as words go.

    It could where two masks have met, where a credential has come to end at a mask, where a field's value or key ends
    elsewhere once there are masks, or where a phone word has moved nearer to what was kept.
    """
    if "****" in redacted:
        return False
    may_be_credential = "=" in redacted or holds_any(redacted, BEGINNINGS)
    may_be_field = ("=" in redacted or ":" in redacted) and any(start == end for start, end, _ in claims)
    if ("=" in redacted or ":" in redacted) and _has_key_at_mask(redacted):
        return False
    if may_be_credential or may_be_field:
        rest = blank(redacted, existing_masks(redacted))
        if credentials(rest):
            return False
        if may_be_field and any(mask is not None for _, _, mask in field_pairs(rest)):
            return False
    return not (keeps_something and phone_word_near(redacted, 0, len(redacted)))


def _outermost_first(claim: Claim) -> tuple[int, int]:
    return claim[0], -claim[1]
