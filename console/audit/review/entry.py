"""One entry of a trail in full, and the settings that it changed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from console import clock
from console.audit import scoping
from console.audit.records import TrailRow
from console.audit.rows import reference_of, rows_and_records
from console.errors import NotFound
from console.permissions import Staff
from console.redaction import redact
from console.store.calls import parallel
from console.store.models import query
from console.trail.actions import as_payload, is_live, text_in
from console.trail.models import AuditEntry
from console.trees import flatten_to_line, text_of

# How many earlier entries of the trail are searched for an entry's previous action.
PREVIOUS_READ = 200
# The payload's keys for the two maps; writers differ.
PAIRS = (("from", "to"), ("before", "after"), ("old", "new"))
# The page's payload tree shows the rest.
MAX_CHANGES = 100
MAX_DEPTH = 6
MAX_TEXT = 600
_ABSENT = object()


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One setting. `word` is changed, set or removed; `before` or `after` is None for an absent value."""

    key: str
    word: str
    before: str | None
    after: str | None

    @property
    def tone(self) -> str:
        """The tone of its word."""
        return {"set": "good", "removed": "bad"}.get(self.word, "human")


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One entry. Texts are redacted, except `trail` and `key`, which only go into sealed references.

    `previous` is the sealed reference of the previous action, "" if the entry names none or it no longer exists.
    `has_record`: the idempotency record of its key exists. `names_company`: the entry itself names `company`; otherwise
    `company` is the conversation's, if known.
    """

    row: TrailRow
    trail: str = field(repr=False)
    key: str = field(repr=False)
    has_record: bool
    action_type: str
    actor: str
    company: str
    names_company: bool
    action_id: str
    previous_id: str
    previous: str
    expires_at: datetime | None
    changes: tuple[SettingChange, ...]
    notices: tuple[str, ...]


def load_entry(trail: str, sort_key: str, staff: Staff) -> EntryRecord:
    """Load the entry of that key: one strongly consistent GetItem, then its record and its actor's name in parallel.

    In parallel to the GetItem, one Query for a conversation's companies and its recipient's names; one more for a
    previous action. Raises `Forbidden` for a role that may not read trails of that kind, `NotFound` if the entry is
    absent, expired or out of scope, and the store's errors.
    """
    scoping.check_role(trail, staff)
    found: list[Any] = parallel(partial(_read, trail, sort_key), partial(scoping.known_conversation, trail))
    entry, known = found
    company = text_in(entry, "company_id") if entry else ""
    owners = scoping.check_scope(trail, staff, [company] if company else [], known)
    if entry is None:
        raise NotFound
    [row], records, missing = rows_and_records([entry], known.names)
    previous_id = text_in(entry, "previous_action_id")
    return EntryRecord(
        row=row,
        trail=trail,
        key=text_in(entry, "idempotency_key"),
        has_record=any(True for _ in records),
        action_type=redact(text_in(entry, "action_type")),
        actor=redact(text_in(entry, "actor")),
        company=redact(company or ", ".join(sorted(owners or known.companies))),
        names_company=bool(company),
        action_id=redact(text_in(entry, "action_id") or sort_key.partition("#")[2]),
        previous_id=redact(previous_id),
        previous=_previous(trail, sort_key, previous_id) if previous_id else "",
        expires_at=clock.parse_instant(entry.plain("expires_at")),
        changes=changes_of(as_payload(entry)),
        notices=(missing,) if missing else (),
    )


def _read(trail: str, sort_key: str) -> AuditEntry | None:
    entry = AuditEntry.find(trail, sort_key)
    return entry if entry is not None and is_live(entry, clock.now()) else None


def _previous(trail: str, sort_key: str, action_id: str) -> str:
    """Return the reference of the latest earlier entry with that action id; "" for none. One Query."""
    items, _ = query(
        AuditEntry,
        trail,
        AuditEntry.ts_action_id < sort_key,
        only=AuditEntry.action_id == action_id,
        attributes=("conversation_id", "ts_action_id"),
        limit=PREVIOUS_READ,
        forward=False,
        consistent=True,
    )
    return reference_of(AuditEntry.from_raw_data(items[0])) if items else ""


# --- Before and after of settings -------------------------------------------------------------------------------------


def changes_of(payload: Any) -> tuple[SettingChange, ...]:
    """Return the changed settings of a redacted payload that contains two maps; nested ones by dotted key.

    Empty for any other payload. Never raises; returns at most `MAX_CHANGES`.
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
            return flatten_to_line(value)
    return text_of(value)[:MAX_TEXT] or "empty text"
