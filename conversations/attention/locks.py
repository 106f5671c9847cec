"""Since when the platform has locked a conversation (`processing_reply`), which its item does not tell.

The lock sets the status alone, so `updated_at` says nothing about its age. The age counts from when the console first
saw the lock, noted in an item of its own table: `pk = LOCK#{digest of the key}`, `sk = SEEN`. The note also has the
item's `updated_at`: whatever ends a lock changes that. A change that leaves the lock in place is seen by the indexer,
which moves the note along. A note with another `updated_at` is of another lock, or of a change not seen yet.
"""

import hashlib
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from console import clock
from console.store.calls import ConditionFailed, table_name
from console.store.connection import call
from console.store.models import plain
from conversations.attention.causes import OLDEST
from conversations.handoff.locked import LOCKED_SINCE, is_locked
from conversations.handoff.stored import Raw, has_people, text
from conversations.workers.streams.records import StreamChange

KEPT = timedelta(days=7)
_CHANGED = "updated_at"
# Stands for an `updated_at` that is absent.
_NOTHING: dict[str, Any] = {"NULL": True}


def with_lock(stored: Raw) -> Raw:
    """Return an item with `LOCKED_SINCE`, if it is locked and that is known. One GetItem if it is locked."""
    note = _read(stored) if is_locked(stored) else {}
    return stored | {LOCKED_SINCE: note["since"]} if note and note["changed"] == _changed(stored) else stored


def note_lock(change: StreamChange) -> Raw:
    """Note the lock that a change of an item sets or leaves in place; return the new image as `with_lock` does.

    Raises the store's errors; safe to repeat.
    """
    new, old = change.new or {}, change.old or {}
    if not is_locked(new):
        return new
    if not is_locked(old):
        with suppress(ConditionFailed):
            _write(new, change.at, "attribute_not_exists(pk) OR since < :since")
        return new | {LOCKED_SINCE: text(clock.to_iso(change.at))}
    if _changed(old) != _changed(new):
        with suppress(ConditionFailed):
            call(
                "UpdateItem",
                TableName=table_name("CONSOLE"),
                Key=_key(new),
                UpdateExpression="SET changed = :new",
                ConditionExpression="changed = :old",
                ExpressionAttributeValues={":old": _changed(old), ":new": _changed(new)},
            )
    return with_lock(new)


def see_lock(stored: Raw, now: datetime) -> Raw:
    """Return a just-read item as `with_lock` does; a lock that the console has not seen before is seen now.

    A lock of an item that nobody has written to for long is history, unless people have the item. Raises the store's
    errors.
    """
    found = with_lock(stored)
    if not is_locked(stored) or LOCKED_SINCE in found:
        return found
    changed = clock.parse_instant(plain(_changed(stored)))
    if not has_people(stored) and (changed is None or now - changed > OLDEST):
        return found
    _write(stored, now)
    return stored | {LOCKED_SINCE: text(clock.to_iso(now))}


def _write(stored: Raw, since: datetime, condition: str = "") -> None:
    item = {
        **_key(stored),
        "since": text(clock.to_iso(since)),
        "changed": _changed(stored),
        "expires_at": {"N": str(clock.to_epoch(since + KEPT))},
    }
    conditional = {
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {":since": item["since"]},
    }
    call("PutItem", TableName=table_name("CONSOLE"), Item=item, **(conditional if condition else {}))


def _read(stored: Raw) -> Raw:
    answer = call("GetItem", TableName=table_name("CONSOLE"), Key=_key(stored), ConsistentRead=True)
    return dict(answer.get("Item") or {})


def _changed(stored: Raw) -> dict[str, Any]:
    return stored.get(_CHANGED) or _NOTHING


def _key(stored: Raw) -> Raw:
    named = "\n".join((stored["primary_channel"]["S"], stored["conversation_id"]["S"]))
    digest = hashlib.sha256(named.encode(errors="replace")).hexdigest()[:32]
    return {"pk": text(f"LOCK#{digest}"), "sk": text("SEEN")}
