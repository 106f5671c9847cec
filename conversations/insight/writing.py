"""Keeping the facts of conversations: written anew from the item and its trail, as they are then.

Cost of a change that changes a fact: the item read once more, its trail where people had it, the fact read and written
(one write unit, two where it is new). Changes that change no fact cost nothing. Everything may be done twice, late, and
by several at once.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from cachetools import LRUCache

from console.errors import NotFound, TableMissing, Throttled
from console.schema.tables import table_name
from console.store.connection import call
from console.store.errors import ConditionFailed
from console.store.presence import table_ready
from console.trail.models import ConversationState
from conversations.handoff.effects import LAST_ACTION, Raw, text_in
from conversations.handoff.protocol import read_raw
from conversations.insight.conversation_facts import expires_in, facts_of_item, places_of, pseudonym_in
from conversations.insight.episodes import READ, episodes_of, is_same
from conversations.insight.facts import (
    FactDay,
    FactKind,
    InsightFact,
    StoredFact,
    mark_changed,
    read_fact,
    write_fact,
)
from conversations.insight.hand_offs import HandOffPeriod, read_periods
from conversations.insight.identity import forget_link, save_link

TRIES = 5
TOO_BUSY = "These facts change too fast to be written."
# What this process has seen of items: a sweep that comes by again asks nothing about what has not changed.
_seen: LRUCache[str, int] = LRUCache(100_000)


def is_kept() -> bool:
    """Whether this environment keeps facts: their table is there."""
    return table_ready("INSIGHT")


def note_change(new: Raw, old: Raw | None) -> bool:
    """Write the facts that a change of an item changes; whether any changed. Raises the store's errors."""
    if not is_kept() or (old is not None and is_same(new, old)):
        return False
    if old is not None and text_in(new, "company_id") != text_in(old, "company_id"):
        _remove_at(places_of(old, episodes_of(old)))
    return note(new)


def note_seen(stored: Raw, *, again: bool = False) -> bool:
    """As `note`, of an item that a sweep comes by: nothing where this process has seen it so, unless `again`."""
    if not is_kept():
        return False
    name, state = f"{table_name('INSIGHT')}#{stored['conversation_id']}{stored['primary_channel']}", _state_of(stored)
    if not again and _seen.get(name) == state:
        return False
    changed = note(stored)
    _seen[name] = state
    return changed


def _state_of(stored: Raw) -> int:
    messages = stored.get("messages", {}).get("L") or ()
    return hash(repr([stored.get(name) for name in READ if name not in ("messages", "ai_config")]) + str(len(messages)))


def note(image: Raw) -> bool:
    """Write the facts of a conversation as it is now; `image` says which, and may be old. Whether any changed.

    Raises the store's errors.
    """
    for _ in range(TRIES):
        found = episodes_of(image)
        places = places_of(image, found)
        seen = [read_fact(day, fact_id) for day, fact_id in places]
        stored = read_raw({name: image[name] for name in ("primary_channel", "conversation_id")}, READ)
        if stored is None:
            return False
        found = episodes_of(stored)
        if places_of(stored, found) != places:
            # What is to be written is elsewhere: read what is there first.
            image = stored
            continue
        periods = _periods(stored, seen)
        state = _middleware_state(stored) if periods else {}
        facts = facts_of_item(stored, found, periods, state, [each.data for each in seen])
        written = _write(stored, facts, seen)
        if written is not None:
            return written
        image = stored
    raise Throttled(TOO_BUSY)


def remove(image: Raw) -> None:
    """The conversation is gone: its facts stay, the way back to it does not. Raises the store's errors."""
    if is_kept():
        forget_link(pseudonym_in(image))


def _write(stored: Raw, facts: Sequence[InsightFact], seen: Sequence[StoredFact]) -> bool | None:
    """Write what changed, the first fact last: it tells of the others. None where another was faster."""
    first = seen[0].data or {}
    if seen[0].data is None or first.get("expires") != expires_in(stored):
        save_link(pseudonym_in(stored), _key_parts(stored), expires_in(stored))
    changed = False
    for fact, before in reversed(list(zip(facts, seen, strict=True))):
        if before.data == fact.data:
            # Whoever wrote it may have died before it was summed up.
            mark_changed(fact.day)
            continue
        if not write_fact(fact, before):
            return None
        changed = True
    kept = [[fact.day.day, fact.id] for fact in facts]
    gone = [(day, id_) for day, id_ in first.get("later", []) if [day, id_] not in kept]
    _remove_at([(FactDay(FactKind.CONVERSATIONS, text_in(stored, "company_id"), day), id_) for day, id_ in gone])
    return changed or bool(gone)


def _remove_at(places: Sequence[tuple[FactDay, str]]) -> None:
    """Remove facts of episodes that there are no more."""
    for day, fact_id in places:
        before = read_fact(day, fact_id)
        if not before.revision:
            continue
        mark_changed(day)
        with suppress(ConditionFailed):
            call(
                "DeleteItem",
                TableName=table_name("INSIGHT"),
                Key={"pk": {"S": f"FACTS#{day.key}"}, "sk": {"S": fact_id}},
                ConditionExpression="revision = :seen",
                ExpressionAttributeValues={":seen": {"N": str(before.revision)}},
            )


def _periods(stored: Raw, seen: Sequence[StoredFact]) -> list[HandOffPeriod]:
    """The hand-offs of a conversation; the trail is read only where people had it."""
    had_people = any(name in stored for name in (LAST_ACTION, "hand_off_requested_at")) or stored.get(
        "hand_off_to_human", {}
    ).get("BOOL")
    if not had_people and not any((each.data or {}).get("asked") for each in seen):
        return []
    return read_periods(stored["conversation_id"]["S"], text_in(stored, LAST_ACTION))


def _middleware_state(stored: Raw) -> dict[str, Any]:
    try:
        state = ConversationState.get(stored["conversation_id"]["S"])
    except (NotFound, TableMissing):
        return {}
    return {name: state.plain(name) for name in ("last_intent", "last_routing_confidence")}


def _key_parts(stored: Raw) -> tuple[str, str]:
    return stored["primary_channel"]["S"], stored["conversation_id"]["S"]
