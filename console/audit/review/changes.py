"""Before and after of settings, as an entry's payload tells it: which keys changed, and how."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from console.trees import tail, text_of

# What writers call the two.
PAIRS = (("from", "to"), ("before", "after"), ("old", "new"))
# Nobody reads more in a page; the payload's tree has the rest.
MAX_CHANGES = 100
MAX_DEPTH = 6
MAX_TEXT = 600
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting. `word`: changed, set or removed; `before` and `after` are None where there was or is none."""

    key: str
    word: str
    before: str | None
    after: str | None

    @property
    def tone(self) -> str:
        """The tone of its word."""
        return {"set": "good", "removed": "bad"}.get(self.word, "human")


def changes_of(payload: Any) -> tuple[SettingChange, ...]:
    """The changed settings of a redacted payload that holds them as two maps; nested ones by dotted key.

    Empty for any other payload. Total: never raises, at most `MAX_CHANGES`.
    """
    if not isinstance(payload, dict):
        return ()
    found: list[SettingChange] = []
    for one, other in PAIRS:
        before, after = payload.get(one), payload.get(other)
        if all(each is None or isinstance(each, dict) for each in (before, after)):
            found += _changes(before or {}, after or {}, "", 0)
    return tuple(found[:MAX_CHANGES])


def _changes(before: dict[str, Any], after: dict[str, Any], prefix: str, depth: int) -> Iterator[SettingChange]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
        key = f"{prefix}{text_of(name)}"
        if isinstance(old, dict) and isinstance(new, dict) and depth < MAX_DEPTH:
            yield from _changes(old, new, f"{key}.", depth + 1)
        elif old is _ABSENT or new is _ABSENT or old != new or type(old) is not type(new):
            word = "set" if old is _ABSENT else "removed" if new is _ABSENT else "changed"
            yield SettingChange(key, word, _words(old), _words(new))


def _words(value: Any) -> str | None:
    if value is _ABSENT:
        return None
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        return ", ".join(text_of(each) for each in value[:50])[:MAX_TEXT] or "an empty list"
    if isinstance(value, dict | list):
        try:
            return json.dumps(value, ensure_ascii=False, sort_keys=True, default=text_of)[:MAX_TEXT]
        except (TypeError, ValueError, RecursionError):
            return tail(value)
    return text_of(value)[:MAX_TEXT] or "empty text"
