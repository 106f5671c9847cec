"""Placeholders of saved replies: their names, and replacing them with values."""

import re
from collections.abc import Mapping

# The explanation of each placeholder in the form.
PLACEHOLDERS = {
    "first_name": "the customer's first name, left out where it is not known",
    "agent": "your name, as colleagues see it",
    "company": "the company's name",
}
_KNOWN = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_IN_BRACES = re.compile(r"\{+[^{}\n]*\}+")
# Dropped after an empty placeholder at the start of a line: "{first_name}, thank you" becomes "Thank you".
_LEADING = " \t,.!:;"


def unknown_in(text: str) -> str:
    """Return the first text in braces that is not a placeholder, with its braces; "" for none."""
    return next((each for each in _IN_BRACES.findall(text) if not _KNOWN.fullmatch(each)), "")


def placeholders_in(text: str) -> list[str]:
    """Return the placeholders in a text, with their braces, each once."""
    return list(dict.fromkeys(found[0] for found in _KNOWN.finditer(text)))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace placeholders with their values, in one pass: a value is never searched for placeholders.

    A placeholder without a value is removed with the blanks before it, and at the start of a line also with the blanks
    and punctuation after it.
    """
    first, *others = _KNOWN.split(text)
    filled = first
    for name, following in zip(others[::2], others[1::2], strict=True):
        if value := values.get(name, ""):
            filled += value + following
            continue
        filled = filled.rstrip(" \t")
        rest = following
        if not filled or filled.endswith("\n"):
            rest = following.lstrip(_LEADING)
            rest = rest[:1].upper() + rest[1:]
        filled += rest
    return filled
