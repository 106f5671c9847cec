"""Whether a text ends in a question. No I/O."""

import unicodedata

_CLOSING = frozenset({"Pe", "Pf"})


def ends_in_question(text: str) -> bool:
    """Return whether a text ends in a question mark of any script, whatever quotes, brackets or emoji follow it."""
    for letter in reversed(text):
        if "QUESTION" in unicodedata.name(letter, ""):
            return True
        category = unicodedata.category(letter)
        if category[0] not in "CMSZ" and category not in _CLOSING and letter not in "\"'*_":
            # Greek writes its question mark as a semicolon.
            return letter == ";" and any("GREEK" in unicodedata.name(each, "") for each in text)
    return False
