"""Whatever run of digits no harmless shape has explained."""

import re
from collections.abc import Iterator

from console.redaction.claims import Claim
from console.redaction.masks import FULL_MASK, MAX_PHONE_DIGITS, MIN_PHONE_DIGITS, digits_of, mask_phone
from console.redaction.shapes import EPOCH, phone_word_near

_LONG = 7
# At least five characters, since five digits are the shortest phone number.
_NUMBER = re.compile(r"[0-9+](?=[0-9 .\-/()+]{4})[0-9]*+(?:[ .\-/()+]{1,3}+[0-9]++)*+")
_GROUP = re.compile(r"\+?[0-9]+")
_EXTENSION = re.compile(r"(?:x|ext\.?) ?[0-9]", re.IGNORECASE)
_LETTERS_AFTER = re.compile(r"[A-Za-z0-9]+(?:-[0-9]{1,3}(?![0-9A-Za-z]))?")


def lone_number(digits: str) -> str:
    """Mask text that is nothing but ASCII digits, as long_numbers would among no words."""
    if len(digits) < _LONG or EPOCH.fullmatch(digits):
        return digits
    return mask_phone(digits)


def long_numbers(text: str) -> Iterator[Claim]:
    """Mask runs of seven digits or more, written in groups or not, and shorter ones that are phone numbers."""
    end = 0
    while found := _NUMBER.search(text, end):
        start, stop = found.span()
        first = _GROUP.match(text, start)
        # "B12 0700 122 121": digits in a word are a group of their own.
        if first and (_is_letter(text, start - 1) or (first.end() == stop and _is_letter(text, stop))):
            claim, stop = _word_claim(text, start, first.end(), end), first.end()
        else:
            if not (first and first.end() == stop) and _is_letter(text, stop):
                stop = _without_last_group(text, start, stop)
            claim = _number_claim(text, start, stop, end) if stop - start >= MIN_PHONE_DIGITS else None
        if claim:
            yield claim
        # A match can shrink to nothing ("+ 12345x"); the search goes on behind its first character all the same.
        end = claim.end if claim else max(stop, start + 1)


def _number_claim(text: str, start: int, stop: int, floor: int) -> Claim | None:
    digits = len(digits_of(text[start:stop]))
    if digits > MAX_PHONE_DIGITS:
        return Claim(start, stop, FULL_MASK)
    is_phone = digits >= MIN_PHONE_DIGITS and (text[start] == "+" or phone_word_near(text, start, stop))
    if digits < _LONG and not is_phone:
        return None
    if start > floor and text[start - 1] == "(" and text.count("(", start, stop) < text.count(")", start, stop):
        start -= 1
    return Claim(start, stop, mask_phone(text[start:stop]))


def _word_claim(text: str, start: int, stop: int, floor: int) -> Claim | None:
    """Mask digits that stand in a word (SP029692510000920746) together with the word."""
    if stop - start < _LONG:
        return None
    while start > floor and (_is_letter(text, start - 1) or text[start - 1].isdigit()):
        start -= 1
    rest = _LETTERS_AFTER.match(text, stop)
    return Claim(start, rest.end() if rest else stop, FULL_MASK)


def _without_last_group(text: str, start: int, stop: int) -> int:
    """The end of "1435" in "1435 163rd Avenue": the last group belongs to a word, unless that is an extension."""
    if _EXTENSION.match(text, stop):
        return stop
    while stop > start and text[stop - 1].isdigit():
        stop -= 1
    while stop > start and not text[stop - 1].isdigit():
        stop -= 1
    return stop


def _is_letter(text: str, position: int) -> bool:
    return 0 <= position < len(text) and text[position].isascii() and text[position].isalpha()
