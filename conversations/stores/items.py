"""Items by other writers: a bad attribute costs a flag, never the page."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from console import clock
from console.redaction import excerpt, redact_value
from console.redaction.credentials import mask_credentials
from console.store.models import ForeignModel
from console.trees import Node, text_of, tree_of, well_formed
from conversations.messages.content import characters_in
from conversations.records import Speaker

_SPEAKERS = {"user": Speaker.CUSTOMER, "assistant": Speaker.AI, "system": Speaker.SYSTEM}
_NAMES = {Speaker.CUSTOMER: "User", Speaker.AI: "Assistant", Speaker.SYSTEM: "System"}
UNKNOWN_SENDER = "Unknown sender"


def drift_in(item: ForeignModel, required: Iterable[str], times: Iterable[str]) -> dict[str, str]:
    """Return how an item deviates from its schema, by attribute: wrong types, absent values and unreadable times."""
    found = dict(item.drift)
    for name in required:
        stored = item.raw.get(name)
        if stored is None or "NULL" in stored:
            found[name] = "missing" if stored is None else "NULL"
        elif stored == {"S": ""}:
            found[name] = "empty text"
    for name in times:
        if item.plain(name) is not None and clock.parse_instant(item.plain(name)) is None:
            found.setdefault(name, "no time that can be read")
    return found


def described(drift: Mapping[str, str]) -> tuple[str, ...]:
    """Return drift in words, one text for each attribute."""
    return tuple(f"{name}: {what}" for name, what in sorted(drift.items()))


def speaker_of(
    role: Any, attribute: str, known: Iterable[str] = ("user", "assistant")
) -> tuple[Speaker, str, tuple[str, ...]]:
    """Return the speaker of a stored role, their name, and a flaw if the role is not among the `known`."""
    if role in (None, ""):
        return Speaker.UNKNOWN, UNKNOWN_SENDER, ()
    word = role.strip().lower() if isinstance(role, str) else ""
    flaws = () if word in known else (f"{attribute}: not a value that the schema knows",)
    if word in _SPEAKERS:
        return _SPEAKERS[word], _NAMES[_SPEAKERS[word]], flaws
    name = "" if isinstance(role, dict | list) else excerpt(text_of(role).strip())
    return Speaker.UNKNOWN, name or UNKNOWN_SENDER, flaws


def first_tree(value: Any, most: int | None, *, raw: bool) -> tuple[Node | None, int]:
    """Return a tree as `shown_tree`, or None and its number of characters if these are more than `most`."""
    if most is not None and (size := characters_in(value)) > most:
        return None, size
    return shown_tree(value, raw=raw), 0


def shown_tree(value: Any, *, raw: bool) -> Node | None:
    """Return any value as a tree without credentials, redacted unless `raw`; None if it is empty."""
    if value in (None, "", [], {}):
        return None
    masked = mask_credentials(well_formed(value))
    return tree_of(masked if raw else redact_value(masked))


def fingerprint(item: ForeignModel, *names: str) -> str:
    """Return these attributes exactly as they are stored; absent and NULL are the same."""
    stored = (item.raw.get(name) for name in names)
    return json.dumps([None if value is None or "NULL" in value else value for value in stored], sort_keys=True)
