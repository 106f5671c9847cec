"""Words that facts may contain: names that services give to things, and why a person was asked for, in a few kinds.

Facts contain no free text. A one-word name without personal data is stored as it is. Text by people or the AI is
reduced to its kind; permitted readers see it in full through the facts behind a number.
"""

import re
from typing import Any

from console.redaction import redact

UNKNOWN, OTHER = "unknown", "other"
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.:/+-]{0,59}", re.ASCII)
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,6}){1,3}(?:[-+.][A-Za-z0-9.]{1,20})?", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.:/+-]{1,128}", re.ASCII)
# Letters, digits, dots and dashes with at least one letter, so never an IP address.
_HOST = re.compile(r"(?=[^a-z]*[a-z])[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?", re.ASCII)
MOST_HOST = 100
# The kind is the first one whose pattern matches.
_REASONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{words})", re.IGNORECASE))
    for kind, words in (
        ("complaint", r"complain|angry|upset|unhappy|frustrat|dissatisf|furious|disappoint"),
        (
            "safety or law",
            r"legal|lawyer|solicitor|safety|unsafe|emergency|medical|urgent|fraud|chargeback|data protection",
        ),
        ("payment", r"refund|payment|invoice|charg|billing|bill\b|price|money|paid|pay\b|salary|wage"),
        ("identity", r"verif|identity|passport|right to work|password|sign[ -]?in|log[ -]?in"),
        ("failure", r"error|fail|time[d -]?out|crash|broken|not working"),
        (
            "asked for a person",
            r"human|person|people|agent|someone|somebody|representative|colleague|advis|operator|speak|talk"
            r"|call(?:\s+(?:me|us|back)\b|back\b)",
        ),
        (
            "the AI cannot answer",
            r"unsure|not sure|cannot|can't|can’t|unable|don't know|do not know|confiden|unclear|outside|beyond",
        ),
    )
)


# Codes of services without an underscore. Any other single word may be a name.
_ONE_WORD_CODES = frozenset(
    (UNKNOWN, "timeout", "throttled", "unavailable", "unreachable", "invalid", "conflict", "locked", "forbidden")
)


def code_of(value: Any) -> str:
    """Return a service's name for something, if it is one and contains no personal data; else `unknown` or `other`."""
    if not isinstance(value, str) or not value.strip():
        return UNKNOWN
    name = value.strip()
    return name if _CODE.fullmatch(name) and redact(name) == name else OTHER


def version_of(value: Any) -> str:
    """Return a version, which unlike `code_of` may begin with a digit."""
    name = value.strip() if isinstance(value, str) else ""
    return name if _VERSION.fullmatch(name) and redact(name) == name else code_of(value)


def is_identifier(value: str) -> bool:
    """Return whether an id may be stored as it is: without blanks or personal data."""
    return _IDENTIFIER.fullmatch(value) is not None and redact(value) == value


def host_name(value: Any) -> str:
    """Return a host name in lower case, if it is one and contains no personal data; else `other`."""
    name = value.lower() if isinstance(value, str) else ""
    return name if len(name) <= MOST_HOST and _HOST.fullmatch(name) and redact(name) == name else OTHER


def reason_kind(reason: Any) -> str:
    """Return the kind of a reason for asking for a person: codes as they are, text by its subject."""
    if not isinstance(reason, str) or not reason.strip():
        return UNKNOWN
    found = next((kind for kind, pattern in _REASONS if pattern.search(reason[:2_000])), "")
    if found:
        return found
    return reason_code(reason).lower()


def reason_code(reason: Any) -> str:
    """Return the code of a reason, as `code_of`; `other` for a word that may be somebody's name."""
    code = code_of(reason)
    return code if "_" in code or code.lower() in _ONE_WORD_CODES else OTHER


def confidence_band(value: Any) -> str:
    """Return the middleware's confidence as a band such as `0.7 to 0.9`; `unknown` if it is not between 0 and 1."""
    try:
        share = float(value)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
    if isinstance(value, bool) or not 0 <= share <= 1:
        return UNKNOWN
    return next(band for least, band in CONFIDENCE if share >= least)


CONFIDENCE = ((0.9, "0.9 and more"), (0.7, "0.7 to 0.9"), (0.5, "0.5 to 0.7"), (0.0, "under 0.5"))
