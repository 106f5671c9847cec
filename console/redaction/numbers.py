"""Whatever run of digits no harmless shape has explained."""

import re

from console.redaction.masks import (
    FULL_MASK,
    MAX_PHONE_DIGITS,
    MIN_PHONE_DIGITS,
    NOT_DIGITS,
    Claim,
    digits_of,
    mask_phone_digits,
)
from console.redaction.shapes import EPOCH, phone_word_near

_LONG = 7
# 07924 129923: one number where a word before it says which, and its groups are neither a date, a time nor a field.
NUMBER_IN_GROUPS = r"(?=(?:[0-9][ ]?){7})[0-9]{2,5}(?:[ ][0-9]{2,6}){1,5}(?![0-9A-Za-z]|[\-/.:=][0-9A-Za-z])"
# At least five characters, since five digits are the shortest phone number.
_NUMBER = re.compile(r"[0-9+](?=[0-9 .\-/()+]{4})[0-9]*+(?:[ .\-/()+]{1,3}+[0-9]++)*")
# 00123 is no country code, but a number with leading zeros.
_has_country_code = re.compile(r"\+|00[1-9][0-9]{0,2}[ .\-/(]").match
# What a line break has cut from a number. One group with a number on the next line too is a row of a table.
_REST = re.compile(
    r"[ ]{0,2}\r?\n[ ]{0,2}"
    r"(?P<rest>[0-9]++(?:(?:[ .\-/()]{1,3}+[0-9]++)+(?![ .\-/()]{1,3}+[0-9])|(?![ ]{0,2}\r?\n[ ]{0,2}[0-9])))"
    r"(?![0-9A-Za-z])"
)
# So many digits before the line break are no whole number with its country code, and so many with those behind it are.
_CUT, _WHOLE = range(3, 10), range(10, MAX_PHONE_DIGITS + 1)
_GROUP = re.compile(r"\+?[0-9]+")
_EXTENSION = re.compile(r"(?:x|ext\.?) ?[0-9]", re.IGNORECASE)
_LETTERS_AFTER = re.compile(r"[A-Za-z0-9]+(?:-[0-9]{1,3}(?![0-9A-Za-z]))?")
# What a number may stand at without a space, and be no part of a word.
_names_a_number = re.compile(
    r"(?:phone|(?<![a-z])(?:tel|mob|cell|fax|sms|nr|no)|mobile?|whats ?app)\Z", re.IGNORECASE
).search
# A national number in groups, which a word before it without a space is no part of: call07700 900 123
_is_national = re.compile(r"0[1-9][0-9]{2,3}(?:[ .\-/()]{1,3}[0-9]{2,6}){1,3}(?![0-9A-Za-z])").match
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def lone_number(digits: str) -> str:
    """Mask text that is nothing but ASCII digits, as long_numbers would among no words."""
    if len(digits) < _LONG or EPOCH.fullmatch(digits):
        return digits
    return mask_phone_digits(digits)


def long_numbers(text: str) -> list[Claim]:
    """Mask runs of seven digits or more, written in groups or not, and shorter ones that are phone numbers."""
    claims: list[Claim] = []
    end = 0
    while found := _NUMBER.search(text, end):
        start, stop = found.span()
        in_word, after_word = _is_in_word(text, start), text[stop : stop + 1] in _LETTERS
        claim: Claim | None = None
        if in_word or after_word:
            claim, stop = _claim_at_word(text, start, stop, end, in_word)
        elif stop - start >= MIN_PHONE_DIGITS:
            stop = _end_behind_line_break(text, start, stop)
            claim = _number_claim(text, start, stop, end)
        if claim:
            claims.append(claim)
        # A match can shrink to nothing ("+ 12345x"); the search goes on behind its first character all the same.
        end = claim[1] if claim else max(stop, start + 1)
    return claims


def _claim_at_word(text: str, start: int, stop: int, floor: int, in_word: bool) -> tuple[Claim | None, int]:
    """The claim on a number that touches a letter, and where the number ends."""
    first = _GROUP.match(text, start)
    # "B12 0700 122 121": digits in a word are a group of their own.
    if first and (in_word or first.end() == stop):
        return _word_claim(text, start, first.end(), floor), first.end()
    is_short = len(digits_of(text[start:stop])) < _WHOLE.start
    if text[stop : stop + 1] in _LETTERS and is_short and not phone_word_near(text, start, stop):
        stop = _without_last_group(text, start, stop)
    return (_number_claim(text, start, stop, floor) if stop - start >= MIN_PHONE_DIGITS else None), stop


def _is_in_word(text: str, start: int) -> bool:
    """Whether a number begins in a word; with a plus it does not."""
    if text[start - 1 : start] not in _LETTERS or text[start] == "+":
        return False
    return not _is_national(text, start) and _names_a_number(text, max(0, start - 9), start) is None


def _number_claim(text: str, start: int, stop: int, floor: int) -> Claim | None:
    digits = digits_of(text[start:stop])
    if len(digits) > MAX_PHONE_DIGITS:
        return start, stop, FULL_MASK
    if len(digits) < _LONG and not (
        len(digits) >= MIN_PHONE_DIGITS and (text[start] == "+" or phone_word_near(text, start, stop))
    ):
        return None
    if start > floor and text[start - 1] == "(" and text.count("(", start, stop) < text.count(")", start, stop):
        start -= 1
    return start, stop, mask_phone_digits(digits)


def _end_behind_line_break(text: str, start: int, stop: int) -> int:
    """Where a number with a country code ends that may go on in the next line: +44 7700⏎900 999."""
    if text[stop : stop + 1] not in {" ", "\r", "\n"} or not _has_country_code(text, start):
        return stop
    before = len(digits_of(text[start:stop]))
    found = _REST.match(text, stop) if before in _CUT else None
    if found is None:
        return stop
    behind = len(digits_of(found["rest"]))
    return found.end() if behind > 2 and before + behind in _WHOLE else stop


def _word_claim(text: str, start: int, stop: int, floor: int) -> Claim | None:
    """Mask digits that stand in a word (SP029692510000920746) together with the word."""
    if stop - start < _LONG:
        return None
    while start > floor and (text[start - 1] in _LETTERS or text[start - 1].isdigit()):
        start -= 1
    rest = _LETTERS_AFTER.match(text, stop)
    return start, rest.end() if rest else stop, FULL_MASK


def _without_last_group(text: str, start: int, stop: int) -> int:
    """The end of "1435" in "1435 163rd Avenue": the last group belongs to a word, unless that is an extension."""
    if _EXTENSION.match(text, stop):
        return stop
    while stop > start and text[stop - 1].isdigit():
        stop -= 1
    while stop > start and not text[stop - 1].isdigit():
        stop -= 1
    return stop


def count_digits(text: str) -> int:
    """How many ASCII digits text has. The functions of bytes are several times faster than a pattern."""
    return len(text.encode("utf-8", "replace").translate(None, NOT_DIGITS))
