"""Placeholders of saved replies: which there are, and putting values in their places."""

import re
from collections.abc import Mapping

# What each stands for, as the form says it.
PLACEHOLDERS = {
    "first_name": "the customer's first name, left out where it is not known",
    "agent": "your name, as colleagues see it",
    "company": "the company's name",
}
_KNOWN = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_IN_BRACES = re.compile(r"\{+[^{}\n]*\}+")
# What would be left over at the beginning of a line: "{first_name}, thank you" is "Thank you" without a name.
_LEADING = " \t,.!:;"


def unknown_in(text: str) -> str:
    """The first thing in braces that is no placeholder, with its braces; "" for none."""
    return next((each for each in _IN_BRACES.findall(text) if not _KNOWN.fullmatch(each)), "")


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put the values in the places of their placeholders, once: what a value says is never a placeholder.

    One without a value goes with the blank before it, and at the beginning of a line with what follows it.
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
