"""Facts: label and value as the `_facts` component shows them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console import clock
from console.redaction import redact
from console.trees import text_of


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a panel; the fields are those of the `_facts` component. An empty `value` is shown as a dash."""

    label: str
    value: str = ""
    mono: bool = False
    tone: str = ""
    at: datetime | None = None
    relative: str = ""
    list: tuple[str, ...] = ()
    note: str = ""
    copy_text: str = ""


def instant_fact(label: str, value: Any, relative: str = "", now: datetime | None = None) -> Fact:
    """Return a time as a fact; one that cannot be parsed is shown as redacted text.

    `relative` is "ago" or "in". With `now` given, the distance is written out without JavaScript too.
    """
    at = clock.parse_instant(value)
    if at is None:
        return Fact(label, redact(text_of(value))[:80] if value not in (None, "") else "")
    return Fact(label, distance(at, relative, now) if now and relative else "", at=at, relative=relative)


def distance(at: datetime, relative: str, now: datetime) -> str:
    """Describe how far off a time is: "12 min ago", "in 26 days", "past". The browser uses the same words."""
    if relative == "ago":
        return f"{clock.format_span(abs(now - at))} ago"
    return f"in {clock.format_span(at - now)}" if at >= now else "past"
