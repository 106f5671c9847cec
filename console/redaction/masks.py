"""Masks, the functions that mask one value, and the type of a rule's result.

A mask masks to itself, so that text can be redacted any number of times.
"""

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Callable, Sequence

# Replaces text that an earlier rule has claimed; no rule matches it.
BLANK = "\0"
# Accents and vowel signs that stand on letters, inside a character class.
MARKS = r"\u0300-\u036f\u0610-\u065f\u0900-\u0dff"

# Start, end, and the mask to put there; None keeps the text. A plain tuple, because thousands are made.
Claim = tuple[int, int, str | None]
Rule = Callable[[str], Sequence[Claim]]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def holds_any(text: str, pieces: Sequence[str]) -> bool:
    """Return whether text contains one of the pieces. A loop, because any() over them takes twice as long."""
    for piece in pieces:  # noqa: SIM110
        if piece in text:
            return True
    return False


def blank(text: str, claims: Sequence[Claim]) -> str:
    """Return text of the same length in which claimed spans can no longer match; claims are in order."""
    if len(claims) == 1:
        start, end, _ = claims[0]
        return f"{text[:start]}{BLANK * (end - start)}{text[end:]}"
    pieces: list[str] = []
    done = 0
    for start, end, _ in claims:
        start = max(start, done)
        pieces += (text[done:start], BLANK * (end - start))
        done = max(end, done)
    pieces.append(text[done:])
    return "".join(pieces)


FULL_MASK = "***"
EMAIL_MASK = "***@***"
PHONE_PREFIX = "***-***-"

KEPT_TAIL = 4
MIN_PHONE_DIGITS = 5
MAX_PHONE_DIGITS = 15
_PSEUDONYM_HEX = 16
ELLIPSIS = "…"

# Longest first: the short mask is a prefix of every other one.
MASK = re.compile(r"\*\*\*+(?:-\*\*\*-[0-9]{4}(?![0-9])|@\*\*\*|[0-9A-Za-z]{1,4}(?![0-9A-Za-z@]))?")
_PHONE_SHAPE = re.compile(r"(?:[a-z]{2,9}:)?[+(]?[0-9][0-9 .()+\-/]{3,40}", re.IGNORECASE)
NOT_DIGITS = bytes(set(range(256)) - set(b"0123456789"))
_NOT_ALPHANUMERIC = re.compile(r"[^0-9A-Za-z]+")


def is_mask(text: str) -> bool:
    """Return whether text is exactly one mask."""
    return text[:3] == FULL_MASK and MASK.fullmatch(text) is not None


def existing_masks(text: str) -> list[Claim]:
    """Claim existing masks, to keep them."""
    return [(*found.span(), None) for found in MASK.finditer(text)]


def digits_of(text: str) -> str:
    """Return the decimal digits of text, in any script, as ASCII digits."""
    if text.isascii():
        return text.encode().translate(None, NOT_DIGITS).decode()
    return "".join(str(unicodedata.decimal(char)) for char in text if char.isdecimal())


def mask_phone(value: str) -> str:
    """Return `***-***-1234` with the last four digits; `***` unless value has 5 to 15 digits."""
    if is_mask(value):
        return value
    return mask_phone_digits(digits_of(value))


def mask_phone_digits(digits: str) -> str:
    """Return the mask of a phone number given as digits only; `***` unless there are 5 to 15."""
    if not MIN_PHONE_DIGITS <= len(digits) <= MAX_PHONE_DIGITS:
        return FULL_MASK
    return PHONE_PREFIX + digits[-KEPT_TAIL:]


def mask_order(value: str) -> str:
    """Return `***` and the last four letters or digits of an order number."""
    if value.isalnum() and value.isascii():
        return FULL_MASK + value[-KEPT_TAIL:]
    if is_mask(value):
        return value
    return FULL_MASK + _NOT_ALPHANUMERIC.sub("", value)[-KEPT_TAIL:]


def mask_identifier(value: object) -> str:
    """Mask a recipient as a phone number or an email address, and anything else as `***`. None and "" give ""."""
    if value is None or value == "":
        return ""
    text = value.strip() if isinstance(value, str) else str(value) if type(value) is int else ""
    if is_mask(text):
        return text
    if "@" in text:
        return EMAIL_MASK
    # Longer than any phone number, so that no beginning of a text is taken for one.
    folded = text[:64]
    if not folded.isascii():
        folded = "".join(str(unicodedata.decimal(char)) if char.isdecimal() else char for char in folded)
    return mask_phone(text) if _PHONE_SHAPE.fullmatch(folded.replace("\u00a0", " ")) else FULL_MASK


def pseudonym(value: str, key: bytes) -> str:
    """Return the first 16 hex digits of HMAC-SHA-256(key, value): equal values match, and the value cannot be guessed.

    Raises ValueError on an empty key, because the plain digest of a phone number can be brute-forced.
    """
    if not key:
        raise ValueError("a pseudonym needs a key")
    return hmac.new(key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:_PSEUDONYM_HEX]


def cut(redacted: str, length: int) -> str:
    """Return at most `length` characters of redacted text, ellipsis included; a mask is kept whole or left out."""
    if len(redacted) <= length:
        return redacted
    if length < 1:
        return ""
    end = length - len(ELLIPSIS)
    # No mask is longer than this, so one that crosses the cut cannot begin earlier.
    longest = len("***-***-0000")
    for found in MASK.finditer(redacted, max(0, end - longest)):
        if found.start() >= end:
            break
        if found.end() > end:
            end = found.start()
            break
    return redacted[:end].rstrip() + ELLIPSIS
