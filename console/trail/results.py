"""What an entry's `result` says, however its writer spells it: its first word is the outcome, the rest the reason.

The schema asks for "success/fail + reason" and says nothing of what parts the two, or of text.
"""

import json
import re
from typing import Any

from console.redaction import redact, redact_value
from console.trail.actions import FIRST_WORD, RESULT_WORDS, Action, Result, outcome
from console.trail.models import AuditEntry
from console.trees import tail, text_of, well_formed

# For pages and exports: a failure in that the console refused what was asked.
REFUSED = "refused"
_OUTCOMES = ("status", "result", "outcome")
_REASONS = ("reason", "error", "message")
# A dash parts where a blank follows it, or stands at the word itself; elsewhere it is a sign: "fail: -5 left".
_BETWEEN = re.compile(r"(?:\s*(?:[:;,.=|/\]>]+|[-–—]+(?=\s))|[-–—_]+)?\s*")
_IN_BRACKETS = re.compile(r"\(([^()]*)\)")


def outcome_of(entry: AuditEntry) -> str:
    """One of pending, success, conflict, failed or unknown.

    A denial is a failure whatever is stored: older ones say success.
    """
    if entry.plain("action_type") == Action.ACCESS_DENIED:
        return Result.FAILED
    return outcome(_head(_opened(entry.plain("result"))))


def reason_of(stored: Any) -> str:
    """Why, redacted: what a result says beside its outcome, and all of it where no outcome can be read."""
    opened = _opened(stored)
    if isinstance(opened, dict):
        shown: Any = redact_value(well_formed(opened))
        known = outcome(_head(opened)) != "unknown" and isinstance(shown, dict)
        return redact(_reason_in(shown) if known else _as_text(shown))
    return redact(_rest(_as_text(opened)))


def _opened(stored: Any) -> Any:
    """A map that was stored as JSON is the map."""
    if isinstance(stored, str) and stored.lstrip().startswith("{"):
        try:
            return json.loads(stored)
        except (ValueError, RecursionError):
            return stored
    return stored


def _head(stored: Any) -> str:
    """What begins with the outcome: the text itself, or the first of a map's values that is named for it."""
    if not isinstance(stored, dict):
        return _as_text(stored)
    values = (value for name, value in stored.items() if str(name).lower() in _OUTCOMES)
    return next((value for value in values if isinstance(value, str)), "")


def _reason_in(payload: dict[str, Any]) -> str:
    """The reason in a redacted map whose outcome is known: what is named so first, then all else with its name."""
    heads: list[str] = []
    reasons: list[str] = []
    others: list[str] = []
    for name, value in payload.items():
        words = tail(value) if isinstance(value, dict | list) else text_of(value)
        if value in (None, ""):
            continue
        if name.lower() in _OUTCOMES and not heads and isinstance(value, str):
            heads.append(_rest(value))
        elif name.lower() in _REASONS:
            reasons.append(words)
        else:
            others.append(f"{name}: {words}")
    return ", ".join(part for part in (*heads, *reasons, *others) if part)


def _rest(text: str) -> str:
    """What follows the outcome; all of the text where its first word is no outcome, or one that only begins like it."""
    found = FIRST_WORD.match(text)
    if found is None or found[1].lower() not in RESULT_WORDS:
        return text.strip()
    between = _BETWEEN.match(text, found.end())
    rest = text[between.end() if between else found.end() :].strip()
    in_brackets = _IN_BRACKETS.fullmatch(rest)
    return in_brackets[1].strip() if in_brackets else rest


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=text_of)
    return text_of(value)
